#include "cost_models/calibration/rows_fit.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include <fmt/format.h>

#include "cost_models/calibration/ratio_tables_fit.h"
#include "cost_models/calibration/row_samples.h"
#include "cost_models/ops/portable_math.h"
#include "cost_models/ops/roofline.h"
#include "sim/base/error.h"
#include "sim/base/parallel.h"
#include "sim/base/statistics.h"

namespace stowplan::cost_models {
namespace {

constexpr RatioFitOptions kCoarse = {.steps = 100, .pull = 20};
constexpr double kAccident = 0.4;                                   // of ln(time)
constexpr RatioFitOptions kOfOthers = {.steps = 100, .pull = 300};  // few GPUs teach little of another

std::optional<double> Mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
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
      : tables_(tables),
        options_(options),
        catalogue_(catalogue),
        rows_(SamplesOf(tables, options.kinds, catalogue)) {}

  RowsFit Run() {
    for (auto& sample : rows_.samples) {
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
    for (std::string& sentence : rows_.left_out.Sentences()) result_.left_out.push_back(std::move(sentence));
    return std::move(result_);
  }

 private:
  void FitFamilies() {
    std::vector<const Group*> fitted;
    for (const auto& [key, kinds] : groups_) {
      for (const auto& [kind, group] : kinds) {
        if (group.above.size() >= kLeastRows) {
          fitted.push_back(&group);
          continue;
        }
        rows_.left_out.Add(kind,
                           fmt::format("of {}: fewer than {} take longer than the host",
                                       group.all.front()->family, kLeastRows),
                           group.all.front()->Place(), static_cast<std::int64_t>(group.all.size()));
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
  RowSamples rows_;
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
