#include "cost_models/calibration/rows_fit.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <tuple>

#include <fmt/format.h>

#include "cost_models/calibration/ratio_tables_fit.h"
#include "cost_models/ops/portable_math.h"
#include "cost_models/ops/roofline.h"
#include "sim/base/error.h"
#include "sim/base/fnv.h"
#include "sim/base/nearest_name.h"
#include "sim/base/parallel.h"
#include "sim/base/statistics.h"

namespace stowplan::cost_models {
namespace {

constexpr std::uint64_t kHeldOutEvery = 5;
constexpr std::size_t kLeastRows = 50;      // of a family, behind no host
constexpr double kAtFloor = 1.15;           // rows below this many lowest percentiles are at the floor
constexpr double kMostFloors = 2;           // of an op: times the least of its kind
constexpr double kShortest = 0.01;          // quantile
constexpr double kHidden = 1.25;            // rows below this many times the floor
constexpr double kDefaultEventShare = 0.5;  // of the floor, where no element-wise op tells it
constexpr double kMostEventShare = 0.8;
constexpr double kClockMargin = 1.1;     // cards run above the clock of their data sheet
constexpr double kWinograd = 4;          // convolutions may multiply that much less than is counted
constexpr double kBeyondCaches = 256e6;  // [B] of tensors that no cache serves
constexpr double kDisagreement = 2.5;
constexpr RatioFitOptions kCoarse = {.steps = 100, .pull = 20};
constexpr double kAccident = 0.4;                                   // of ln(time)
constexpr RatioFitOptions kOfOthers = {.steps = 100, .pull = 300};  // few GPUs teach little of another

struct Sample {
  const MeasuredRow* row = nullptr;
  std::string_view kind;
  const DeviceSheet* sheet = nullptr;
  std::string_view family;
  std::string_view format;
  bool is_device_time = false;
  double kernel_us = 0;  // RatioTables::kernel_us
  double floor_us = 0;   // 0 of device times, which hold no host
  double event_us = 0;
  double bound_us = 0;
  RatioRow ratio;

  bool hidden() const { return row->us < kHidden * floor_us; }
  double size() const { return IsContraction(row->work.op_class) ? row->work.flops : row->work.bytes; }
};

using Samples = std::vector<const Sample*>;

// Nothing of nothing, as the mean.
std::optional<double> MedianIfAny(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(Median(values));
}

std::optional<double> Mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Rows that are left out, by kind and reason, with the place of the first.
class LeftOut {
 public:
  void Add(const std::string& kind, const std::string& why, const std::string& place, std::int64_t rows = 1) {
    auto& [count, first] = reasons_[{kind, why}];
    if (count == 0) first = place;
    count += rows;
  }
  std::vector<std::string> Sentences() const {
    std::vector<std::string> sentences;
    for (const auto& [key, value] : reasons_) {
      sentences.push_back(fmt::format("{}: left out {} row{} {} (first: {})", key.first, value.first,
                                      value.first == 1 ? "" : "s", key.second, value.second));
    }
    return sentences;
  }

 private:
  std::map<std::pair<std::string, std::string>, std::pair<std::int64_t, std::string>> reasons_;
};

bool BeatsTheSheet(const OpWork& work, const DeviceSheet& sheet, double us) {
  if (IsContraction(work.op_class)) {
    const double least = ArithmeticMicros(work, sheet) / kClockMargin;
    return us < (work.op_class == OpClass::kConvolution ? least / kWinograd : least);
  }
  return work.bytes > kBeyondCaches && us < MemoryMicros(work, sheet) / kClockMargin;
}

// Rows of which the host does the same: of element-wise ops those of as many tensors.
std::string HostKey(const MeasuredRow& row) {
  const std::string key = row.op + " " + row.name;
  return row.op == "elementwise" ? fmt::format("{} {:.0f}", key, row.work.bytes / row.work.elements) : key;
}

// The same shapes on every GPU and in every number format, in any order of the rows.
bool IsHeldOut(const MeasuredRow& row) {
  // The high bits: the lowest ones are the last character's.
  return (Fnv1a(row.shape) >> 32) % kHeldOutEvery == 0;
}

// What a group of rows of one kind and op says of the host.
double FloorOf(const std::vector<double>& us) {
  const double least = kAtFloor * QuantileByRank(us, 0.01);
  std::vector<double> at;
  for (const double one : us)
    if (one < least) at.push_back(one);
  return *MedianIfAny(at);  // the lowest percentile is among them
}

// The intercept of time over bytes, least relative squares, of the rows above twice the floor; as a share of the floor.
// Nothing where too few are.
std::optional<double> EventShare(const std::vector<const Sample*>& samples, double floor) {
  double ones = 0, cross = 0, squares = 0, left = 0, right = 0;
  std::size_t rows = 0;
  for (const Sample* sample : samples) {
    const double us = sample->row->us;
    if (us < 2 * floor) continue;
    const double a = 1 / us, b = sample->bound_us / us;
    ones += a * a, cross += a * b, squares += b * b, left += a, right += b;
    ++rows;
  }
  const double determinant = ones * squares - cross * cross;
  if (rows < kLeastRows || determinant <= 0) return std::nullopt;
  const double intercept = (left * squares - right * cross) / determinant;
  return std::clamp(intercept / floor, 0.0, kMostEventShare);
}

// What the host adds to an op [us].
struct Host {
  double floor_us = 0;
  double event_us = 0;
};

// ln(time / bound) without the host.
double DeviceLogRatio(const Sample& sample, double event_us) {
  const double us = std::max(sample.row->us - event_us, 0.05 * sample.row->us);
  return PortableLog(us / sample.bound_us);
}

double ErrorOf(const Sample& sample, const Host& host, double device_us) {
  return std::abs(std::max(host.floor_us, host.event_us + device_us) / sample.row->us - 1);
}

// With the given host, else with that of each sample's own GPU.
std::vector<double> Errors(const RatioTables& tables, const Samples& samples,
                           const std::optional<Host>& host = {}) {
  std::vector<double> errors;
  for (const Sample* sample : samples) {
    const Host of = host.value_or(Host{sample->floor_us, sample->event_us});
    errors.push_back(
        ErrorOf(*sample, of, sample->bound_us * PortableExp(LogRatio(tables, sample->ratio.features))));
  }
  return errors;
}

std::vector<double> Ratios(const RatioTables& tables, const Samples& samples,
                           const std::optional<Host>& host = {}) {
  std::vector<double> ratios;
  for (const Sample* sample : samples) {
    const double measured = host ? DeviceLogRatio(*sample, host->event_us) : sample->ratio.log_ratio;
    ratios.push_back(measured - LogRatio(tables, sample->ratio.features));
  }
  return ratios;
}

// Rows that a coarse fit misses by far hold an accident of the measuring machine: times of one product whose neighbours take
// a seventh. They teach nothing; where they are held out they count.
RatioTables Fit(const Samples& samples, int steps = kRatioSteps) {
  std::vector<RatioRow> rows;
  for (const Sample* sample : samples) rows.push_back(sample->ratio);
  const RatioTables coarse = FitRatioTables(rows, kCoarse);
  std::vector<RatioRow> plain;
  for (RatioRow& row : rows)
    if (std::abs(row.log_ratio - LogRatio(coarse, row.features)) < kAccident) plain.push_back(std::move(row));
  return FitRatioTables(plain.empty() ? rows : plain, {.steps = steps});
}

Samples Where(const Samples& samples, const std::function<bool(const Sample&)>& wanted) {
  Samples found;
  for (const Sample* sample : samples)
    if (wanted(*sample)) found.push_back(sample);
  return found;
}

void Found(const Samples& samples, const std::vector<double>& held_out_ratios, RatioTables* tables) {
  const Sample& first = *samples.front();
  tables->family = first.family;
  tables->dtype = first.format;
  tables->kernel_us = first.kernel_us;
  tables->evidence.samples = static_cast<std::int64_t>(samples.size());
  tables->evidence.range = {first.size(), first.size()};
  for (const Sample* sample : samples) {
    tables->evidence.range->first = std::min(tables->evidence.range->first, sample->size());
    tables->evidence.range->second = std::max(tables->evidence.range->second, sample->size());
  }
  if (held_out_ratios.empty()) return;
  double squares = 0;
  for (const double ratio : held_out_ratios) squares += ratio * ratio;
  tables->evidence.fit_error = std::sqrt(squares / static_cast<double>(held_out_ratios.size()));
  tables->low_ratio = std::min(1.0, PortableExp(QuantileByRank(held_out_ratios, 0.05)));
  tables->high_ratio = std::max(1.0, PortableExp(QuantileByRank(held_out_ratios, 0.95)));
}

// Of one kind, family and number format.
struct Group {
  std::string kind;
  Samples all;    // in the order of the tables
  Samples above;  // the host
};

class RowsFitter {
 public:
  RowsFitter(const std::vector<MeasuredRows>& tables, const RowsFitOptions& options,
             const Catalogue& catalogue)
      : tables_(tables), options_(options), catalogue_(catalogue) {}

  RowsFit Run() {
    for (const MeasuredRows& table : tables_) Take(table);
    DropDisagreeing();
    if (samples_.empty())
      throw InputError(fmt::format("{}: holds no row that can be used; {}", tables_.front().source,
                                   fmt::join(left_out_.Sentences(), "; ")));
    TellTheHost();
    TellShortest();
    for (auto& sample : samples_) {
      sample->ratio = {ShapeFeatures(sample->row->work, *sample->sheet),
                       DeviceLogRatio(*sample, sample->event_us)};
      Group& group = groups_[{std::string(sample->family), std::string(sample->format)}]
                         .try_emplace(std::string(sample->kind), Group{std::string(sample->kind), {}, {}})
                         .first->second;
      group.all.push_back(sample.get());
      if (!sample->hidden()) group.above.push_back(sample.get());
    }
    FitFamilies();
    result_.parameters.name = options_.name;
    TellProvenance();
    for (std::string& sentence : left_out_.Sentences()) result_.left_out.push_back(std::move(sentence));
    return std::move(result_);
  }

 private:
  std::string KindOf(const MeasuredRow& row, const MeasuredRows& table) const {
    const auto given = options_.kinds.find(row.device);
    std::string kind = given != options_.kinds.end() ? given->second : row.device;
    if (kind.empty()) kind = options_.only;
    const DeviceSheet* sheet = catalogue_.FindSheet(kind);
    const std::string place = fmt::format("{}:{}", table.source, row.line);
    if (sheet == nullptr) {
      throw InputError(
          fmt::format("{}: the device '{}' is no kind of the catalogue{}; `stowplan list devices` shows "
                      "them, and --sheet FILE describes another",
                      place, kind, DidYouMean(kind, catalogue_.DeviceNames())));
    }
    if (!sheet->HasRates() || sheet->multiprocessors == 0) {
      throw InputError(fmt::format(
          "{}: the sheet of '{}' lacks peak_f32, memory_bandwidth or multiprocessors", place, kind));
    }
    return sheet->kind.name;
  }

  void Take(const MeasuredRows& table) {
    if (table.unreadable > 0) {
      left_out_.Add(table.facts.contains("device") ? table.facts.at("device") : table.source,
                    "whose time or dimensions are no positive numbers",
                    fmt::format("{}:{}", table.source, table.first_unreadable), table.unreadable);
    }
    const auto time = table.facts.find("time");
    const bool is_device_time = time != table.facts.end() && time->second == "device";
    for (const MeasuredRow& row : table.rows) {
      const std::string kind = KindOf(row, table);
      const std::string place = fmt::format("{}:{}", table.source, row.line);
      if (!options_.only.empty() && kind != options_.only) {
        left_out_.Add(kind, "of another GPU than " + options_.only, place);
        continue;
      }
      auto sample = std::make_unique<Sample>();
      sample->row = &row;
      sample->sheet = catalogue_.FindSheet(kind);
      sample->kind = sample->sheet->kind.name;
      sample->family = ShapeFamilyOf(row.work).name();
      if (sample->family.empty()) {
        left_out_.Add(kind, "of an op that no table prices", place);
        continue;
      }
      sample->format = TableFormatOf(row.work, *sample->sheet);
      sample->is_device_time = is_device_time;
      sample->bound_us = BoundMicros(row.work, *sample->sheet, sample->sheet->kernel_us);
      if (BeatsTheSheet(row.work, *sample->sheet, row.us)) {
        left_out_.Add(
            kind, "faster than the peak of the data sheet; is their time in the unit of its column?", place);
        continue;
      }
      places_.emplace(&row, place);
      samples_.push_back(std::move(sample));
    }
  }

  void DropDisagreeing() {
    std::map<std::tuple<std::string_view, std::string_view, std::string_view>, std::pair<double, double>>
        ends;
    const auto key_of = [](const Sample& sample) {
      return std::tuple(sample.kind, sample.format, std::string_view(sample.row->shape));
    };
    for (const auto& sample : samples_) {
      const double us = sample->row->us;
      const auto [found, fresh] = ends.try_emplace(key_of(*sample), us, us);
      found->second = {std::min(found->second.first, us), std::max(found->second.second, us)};
    }
    std::erase_if(samples_, [&](const auto& sample) {
      const auto& [low, high] = ends.at(key_of(*sample));
      if (high < kDisagreement * low) return false;
      left_out_.Add(std::string(sample->kind),
                    fmt::format("of shapes whose times disagree by {} times and more", kDisagreement),
                    places_.at(sample->row));
      return true;
    });
  }

  void TellTheHost() {
    std::map<std::pair<std::string_view, std::string>, std::vector<Sample*>> by_op;
    const auto fitted = [](const std::vector<Sample*>& samples) {
      Samples found;
      for (const Sample* sample : samples)
        if (!IsHeldOut(*sample->row)) found.push_back(sample);
      return found.empty() ? Samples(samples.begin(), samples.end()) : found;
    };
    for (auto& sample : samples_)
      if (!sample->is_device_time) by_op[{sample->kind, HostKey(*sample->row)}].push_back(sample.get());
    std::map<std::string_view, double> least;                // floor by kind
    std::map<std::string_view, std::vector<double>> shares;  // by kind, of its element-wise ops
    const auto floor_of = [&](const std::vector<Sample*>& samples) {
      std::vector<double> us;
      for (const Sample* sample : fitted(samples)) us.push_back(sample->row->us);
      return FloorOf(us);
    };
    for (const auto& [key, samples] : by_op) {
      double& floor = least.try_emplace(key.first, INFINITY).first->second;
      floor = std::min(floor, floor_of(samples));
    }
    for (auto& [key, samples] : by_op) {
      const double floor = std::min(floor_of(samples), kMostFloors * least.at(key.first));
      for (Sample* sample : samples) sample->floor_us = floor;
      if (samples.front()->family != "elementwise") continue;
      const auto share = EventShare(fitted(samples), floor);
      if (share) shares[key.first].push_back(*share);
    }
    for (auto& sample : samples_) {
      if (sample->is_device_time) continue;
      const auto found = shares.find(sample->kind);
      sample->event_us =
          sample->floor_us * (found != shares.end() ? *MedianIfAny(found->second) : kDefaultEventShare);
    }
  }

  // Device times tell how short a kernel of their family can be.
  void TellShortest() {
    std::map<std::tuple<std::string_view, std::string_view, std::string_view>, std::vector<double>> times;
    const auto key_of = [](const Sample& sample) {
      return std::tuple(sample.kind, sample.family, sample.format);
    };
    for (const auto& sample : samples_)
      if (sample->is_device_time) times[key_of(*sample)].push_back(sample->row->us / sample->row->work.steps);
    for (auto& [key, us] : times) us = {QuantileByRank(us, kShortest)};
    for (const auto& sample : samples_) {
      if (!sample->is_device_time) continue;
      sample->kernel_us = times.at(key_of(*sample)).front();
      sample->bound_us = BoundMicros(sample->row->work, *sample->sheet, sample->kernel_us);
    }
  }

  void FitFamilies() {
    std::vector<const Group*> fitted;
    for (const auto& [key, kinds] : groups_) {
      for (const auto& [kind, group] : kinds) {
        if (group.above.size() >= kLeastRows) {
          fitted.push_back(&group);
          continue;
        }
        left_out_.Add(kind,
                      fmt::format("of {}: fewer than {} take longer than the host", group.all.front()->family,
                                  kLeastRows),
                      places_.at(group.all.front()->row), static_cast<std::int64_t>(group.all.size()));
      }
    }
    std::vector<std::pair<RowsClass, RatioTables>> fits(fitted.size());
    std::mutex progress;
    ParallelFor(fits.size(), 0, [&](std::size_t i, int) {
      fits[i] = FitKind(*fitted[i]);
      const std::lock_guard lock(progress);
      if (options_.progress)
        options_.progress(fmt::format("{}: {} rows of {} in {}", fitted[i]->kind, fitted[i]->all.size(),
                                      fits[i].first.op, fits[i].first.dtype));
    });
    for (std::size_t i = 0; i < fits.size(); ++i) {
      result_.classes.push_back(std::move(fits[i].first));
      KindOfResult(fitted[i]->kind).tables.push_back(std::move(fits[i].second));
    }
    for (const auto& [key, kinds] : groups_) {
      std::vector<const Group*> compared;  // times of one host each tell of GPUs that nobody measured
      for (const Group* group : fitted)
        if (kinds.contains(group->kind) && &kinds.at(group->kind) == group &&
            !group->all.front()->is_device_time)
          compared.push_back(group);
      if (compared.size() > 1) FitAnyGpu(compared);
    }
  }

  std::pair<RowsClass, RatioTables> FitKind(const Group& group) const {
    RowsClass row;
    row.kind = group.kind;
    row.op = group.all.front()->family;
    row.dtype = group.all.front()->format;
    row.rows = static_cast<std::int64_t>(group.all.size());
    row.hidden = row.rows - static_cast<std::int64_t>(group.above.size());
    row.floor_us = group.all.front()->floor_us;
    row.event_us = group.all.front()->event_us;
    const auto is_held = [](const Sample& sample) { return IsHeldOut(*sample.row); };
    const RatioTables without = Fit(Where(group.above, [&](const Sample& one) { return !is_held(one); }));
    const std::vector<double> errors = Errors(without, Where(group.above, is_held));
    row.held_out = static_cast<std::int64_t>(errors.size());
    row.held_out_error = Mean(errors);
    row.held_out_median = MedianIfAny(errors);
    row.held_out_all = Mean(Errors(without, Where(group.all, is_held)));
    row.largest_error = LargestError(group);
    CompareControls(Where(group.above, is_held), &row);
    RatioTables tables = Fit(group.above);
    Found(group.above, Ratios(without, Where(group.above, is_held)), &tables);
    tables.held_out_error = row.held_out_error.value_or(0);
    return {std::move(row), std::move(tables)};
  }

  void CompareControls(const Samples& samples, RowsClass* row) const {
    std::vector<double> structural, roofline;
    for (const Sample* sample : samples) {
      const DeviceSheet& sheet = *sample->sheet;
      const ClassEfficiency efficiency = DefaultEfficiency(catalogue_, sheet.kind.device_class);
      const Host host = {sample->floor_us, sample->event_us};
      structural.push_back(ErrorOf(
          *sample, host, RooflineMicros(sample->row->work, sheet, efficiency, catalogue_.Tiles(), {})));
      roofline.push_back(ErrorOf(*sample, host, BoundMicros(sample->row->work, sheet, 0)));
    }
    row->structural_error = Mean(structural);
    row->roofline_error = Mean(roofline);
  }

  // Of the fifth with most work, by the others.
  static std::optional<double> LargestError(const Group& group) {
    std::vector<double> sizes;
    for (const Sample* sample : group.above) sizes.push_back(sample->size());
    const double limit = QuantileByRank(sizes, 0.8);
    const RatioTables smaller =
        Fit(Where(group.above, [&](const Sample& one) { return one.size() <= limit; }), kCoarse.steps);
    return Mean(Errors(smaller, Where(group.above, [&](const Sample& one) { return one.size() > limit; })));
  }

  // Medians over the rows, whose ops have least_times of their own.
  static Host HostOf(const Group& group) {
    std::vector<double> least_times, events;
    for (const Sample* sample : group.all) {
      least_times.push_back(sample->floor_us);
      events.push_back(sample->event_us);
    }
    return {*MedianIfAny(least_times), *MedianIfAny(events)};
  }

  // What stands for a GPU that is none of theirs.
  RatioTables FitOthers(const std::vector<const Group*>& groups) const {
    if (IsContraction(groups.front()->all.front()->row->work.op_class)) {
      // Without what tells one machine from another.
      const auto names = FamilyNamed(groups.front()->all.front()->family)->features;
      std::vector<RatioRow> rows;
      for (const Group* group : groups) {
        for (const Sample* sample : group->above) {
          rows.push_back(sample->ratio);
          for (std::size_t i = 0; i < names.size(); ++i)
            if (names[i] == "memory_us" || names[i] == "of_cache") rows.back().features[i] = 0;
        }
      }
      return FitRatioTables(rows, kOfOthers);
    }
    std::vector<RatioRow> rows;
    for (const Group* group : groups) {
      for (const Sample* sample : group->above) {
        std::vector<double> ratios;
        for (const Group* one : groups) ratios.push_back(LogRatio(TablesOf(*one), sample->ratio.features));
        rows.push_back({sample->ratio.features, *MedianIfAny(ratios)});
      }
    }
    return FitRatioTables(rows);
  }

  // Those that FitKind() has made.
  const RatioTables& TablesOf(const Group& group) const {
    const KindParameters* kind = result_.parameters.Find(group.kind);
    return *FindTables(kind->tables, group.all.front()->family, group.all.front()->format);
  }

  void FitAnyGpu(const std::vector<const Group*>& groups) {
    if (options_.progress) options_.progress(fmt::format("any GPU: {}", groups.front()->all.front()->family));
    Samples all;
    std::vector<double> ratios, errors, structural;
    for (const Group* left_out : groups) {
      std::vector<const Group*> others;
      std::vector<double> least_times, events;
      for (const Group* group : groups) {
        if (group == left_out) continue;
        others.push_back(group);
        const Host host = HostOf(*group);
        least_times.push_back(host.floor_us);
        events.push_back(host.event_us);
      }
      const RatioTables tables = FitOthers(others);
      const Host host = {*MedianIfAny(least_times), *MedianIfAny(events)};
      const std::vector<double> more = Ratios(tables, left_out->above, host);
      ratios.insert(ratios.end(), more.begin(), more.end());
      errors.push_back(*Mean(Errors(tables, left_out->above, host)));
      const auto row = std::ranges::find_if(result_.classes, [&](const RowsClass& one) {
        return one.kind == left_out->kind && one.op == left_out->all.front()->family &&
               one.dtype == left_out->all.front()->format;
      });
      row->left_out_error = errors.back();
      if (row->structural_error) structural.push_back(*row->structural_error);
      all.insert(all.end(), left_out->above.begin(), left_out->above.end());
    }
    if (!structural.empty() && *Mean(errors) >= *Mean(structural)) {
      result_.left_out.push_back(fmt::format(
          "any GPU: no table of {} in {}, since those of the other GPUs miss a GPU left out by {:.1f} %, the "
          "structural model by {:.1f} %",
          all.front()->family, all.front()->format, 100 * *Mean(errors), 100 * *Mean(structural)));
      return;
    }
    RatioTables tables = FitOthers(groups);
    Found(all, ratios, &tables);
    tables.held_out_error = *Mean(errors);
    result_.parameters.any_gpu.push_back(std::move(tables));
  }

  KindParameters& KindOfResult(const std::string& kind) {
    auto& kinds = result_.parameters.kinds;
    const auto found = std::ranges::find(kinds, kind, &KindParameters::kind);
    if (found != kinds.end()) return *found;
    kinds.emplace_back();
    kinds.back().kind = kind;
    kinds.back().sheet = SheetFingerprint(*catalogue_.FindSheet(kind));
    return kinds.back();
  }

  void TellProvenance() {
    const auto all = [&](const std::string& key) {
      std::vector<std::string> told;
      for (const MeasuredRows& table : tables_) {
        const auto found = table.facts.find(key);
        if (found != table.facts.end() && std::ranges::find(told, found->second) == told.end())
          told.push_back(found->second);
      }
      return fmt::format("{}", fmt::join(told, "; "));
    };
    Provenance& provenance = result_.parameters.provenance;
    provenance.machine = all("machine");
    provenance.driver = all("driver").empty() ? "not told" : all("driver");
    provenance.library = all("library");
    for (const MeasuredRows& table : tables_)
      provenance.date = std::max(provenance.date, table.facts.at("date"));
    provenance.commit = options_.commit;
    provenance.command = options_.command;
    provenance.source = all("source");
    provenance.licence = all("licence");
    if (result_.parameters.name.empty()) result_.parameters.name = provenance.machine;
  }

  const std::vector<MeasuredRows>& tables_;
  const RowsFitOptions& options_;
  const Catalogue& catalogue_;
  LeftOut left_out_;
  std::vector<std::unique_ptr<Sample>> samples_;
  std::map<const MeasuredRow*, std::string> places_;
  std::map<std::pair<std::string, std::string>, std::map<std::string, Group>>
      groups_;  // by family and format
  RowsFit result_;
};

}  // namespace

RowsFit FitRows(const std::vector<MeasuredRows>& tables, const RowsFitOptions& options,
                const Catalogue& catalogue) {
  STOWPLAN_CHECK(!tables.empty());
  return RowsFitter(tables, options, catalogue).Run();
}

std::string PrintRowsFit(const RowsFit& fit) {
  const auto percent = [](std::optional<double> share) {
    return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
  };
  std::string text =
      fmt::format("{:<16} {:<18} {:<8} {:>6} {:>6} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "kind",
                  "family", "format", "rows", "hidden", "floor us", "event us", "held out", "median",
                  "hidden +", "largest", "GPU out");
  for (const RowsClass& one : fit.classes) {
    text += fmt::format("{:<16} {:<18} {:<8} {:>6} {:>6} {:>8.1f} {:>8.1f} {:>8} {:>8} {:>8} {:>8} {:>8}\n",
                        one.kind, one.op, one.dtype, one.rows, one.hidden, one.floor_us, one.event_us,
                        percent(one.held_out_error), percent(one.held_out_median), percent(one.held_out_all),
                        percent(one.largest_error), percent(one.left_out_error));
  }
  for (const std::string& sentence : fit.left_out) text += sentence + "\n";
  return text;
}

std::string PrintRowsFitCsv(const RowsFit& fit) {
  std::string text =
      "kind,family,format,rows,hidden,floor_us,event_us,held_out,error,median,error_with_hidden,largest,gpu_"
      "left_"
      "out,"
      "structural,roofline\n";
  const auto share = [](std::optional<double> error) { return error ? fmt::format("{:.4f}", *error) : ""; };
  for (const RowsClass& one : fit.classes) {
    text +=
        fmt::format("{},{},{},{},{},{:.1f},{:.1f},{},{},{},{},{},{},{},{}\n", one.kind, one.op, one.dtype,
                    one.rows, one.hidden, one.floor_us, one.event_us, one.held_out, share(one.held_out_error),
                    share(one.held_out_median), share(one.held_out_all), share(one.largest_error),
                    share(one.left_out_error), share(one.structural_error), share(one.roofline_error));
  }
  return text;
}

}  // namespace stowplan::cost_models
