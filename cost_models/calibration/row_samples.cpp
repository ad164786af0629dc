#include "cost_models/calibration/row_samples.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/base/fnv.h"
#include "sim/base/nearest_name.h"
#include "sim/base/statistics.h"

namespace stowplan::cost_models {
namespace {

constexpr double kAtFloor = 1.15;           // rows below this many lowest percentiles are at the floor
constexpr double kMostFloors = 2;           // of an op: times the least of its kind
constexpr double kShortest = 0.01;          // quantile
constexpr double kDefaultEventShare = 0.5;  // of the floor, where no element-wise op tells it
constexpr double kMostEventShare = 0.8;
constexpr double kClockMargin = 1.1;     // cards run above the clock of their data sheet
constexpr double kWinograd = 4;          // convolutions may multiply that much less than is counted
constexpr double kBeyondCaches = 256e6;  // [B] of tensors that no cache serves
constexpr double kDisagreement = 2.5;

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

class RowSampler {
 public:
  RowSampler(const KindsOfRows& kinds, const Catalogue& catalogue) : kinds_(kinds), catalogue_(catalogue) {}

  RowSamples Run(const std::vector<MeasuredRows>& tables) {
    for (const MeasuredRows& table : tables) Take(table);
    DropDisagreeing();
    if (rows_.samples.empty())
      throw InputError(fmt::format("{}: holds no row that can be used; {}", tables.front().source,
                                   fmt::join(rows_.left_out.Sentences(), "; ")));
    TellTheHost();
    TellShortest();
    return std::move(rows_);
  }

 private:
  std::string KindOf(const MeasuredRow& row, const MeasuredRows& table) const {
    const auto given = kinds_.of.find(row.device);
    std::string kind = given != kinds_.of.end() ? given->second : row.device;
    if (kind.empty()) kind = kinds_.only;
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
      rows_.left_out.Add(table.facts.contains("device") ? table.facts.at("device") : table.source,
                         "whose time or dimensions are no positive numbers",
                         fmt::format("{}:{}", table.source, table.first_unreadable), table.unreadable);
    }
    const auto time = table.facts.find("time");
    const bool is_device_time = time != table.facts.end() && time->second == "device";
    for (const MeasuredRow& row : table.rows) {
      const std::string kind = KindOf(row, table);
      const std::string place = fmt::format("{}:{}", table.source, row.line);
      if (!kinds_.only.empty() && kind != kinds_.only) {
        rows_.left_out.Add(kind, "of another GPU than " + kinds_.only, place);
        continue;
      }
      auto sample = std::make_unique<Sample>();
      sample->row = &row;
      sample->source = table.source;
      sample->sheet = catalogue_.FindSheet(kind);
      sample->kind = sample->sheet->kind.name;
      sample->family = ShapeFamilyOf(row.work).name();
      if (sample->family.empty()) {
        rows_.left_out.Add(kind, "of an op that no table prices", place);
        continue;
      }
      sample->format = TableFormatOf(row.work, *sample->sheet);
      sample->is_device_time = is_device_time;
      sample->bound_us = BoundMicros(row.work, *sample->sheet, sample->sheet->kernel_us);
      if (BeatsTheSheet(row.work, *sample->sheet, row.us)) {
        rows_.left_out.Add(
            kind, "faster than the peak of the data sheet; is their time in the unit of its column?", place);
        continue;
      }
      rows_.samples.push_back(std::move(sample));
    }
  }

  void DropDisagreeing() {
    std::map<std::tuple<std::string_view, std::string_view, std::string_view>, std::pair<double, double>>
        ends;
    const auto key_of = [](const Sample& sample) {
      return std::tuple(sample.kind, sample.format, std::string_view(sample.row->shape));
    };
    for (const auto& sample : rows_.samples) {
      const double us = sample->row->us;
      const auto [found, fresh] = ends.try_emplace(key_of(*sample), us, us);
      found->second = {std::min(found->second.first, us), std::max(found->second.second, us)};
    }
    std::erase_if(rows_.samples, [&](const auto& sample) {
      const auto& [low, high] = ends.at(key_of(*sample));
      if (high < kDisagreement * low) return false;
      rows_.left_out.Add(std::string(sample->kind),
                         fmt::format("of shapes whose times disagree by {} times and more", kDisagreement),
                         sample->Place());
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
    for (auto& sample : rows_.samples)
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
    for (auto& sample : rows_.samples) {
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
    for (const auto& sample : rows_.samples)
      if (sample->is_device_time && !IsHeldOut(*sample->row))
        times[key_of(*sample)].push_back(sample->row->us / sample->row->work.steps);
    for (auto& [key, us] : times) us = {QuantileByRank(us, kShortest)};
    for (const auto& sample : rows_.samples) {
      const auto found = times.find(key_of(*sample));
      if (found == times.end()) continue;
      sample->kernel_us = found->second.front();
      sample->bound_us = BoundMicros(sample->row->work, *sample->sheet, sample->kernel_us);
    }
  }

  const KindsOfRows& kinds_;
  const Catalogue& catalogue_;
  RowSamples rows_;
};

}  // namespace

std::optional<double> MedianIfAny(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(Median(values));
}

bool IsHeldOut(const MeasuredRow& row) {
  // The high bits: the lowest ones are the last character's.
  return (Fnv1a(row.shape) >> 32) % 5 == 0;
}

std::string Sample::Place() const {
  return fmt::format("{}:{}", source, row->line);
}

void LeftOut::Add(const std::string& kind, const std::string& why, const std::string& place,
                  std::int64_t rows) {
  auto& [count, first] = reasons_[{kind, why}];
  if (count == 0) first = place;
  count += rows;
}

std::vector<std::string> LeftOut::Sentences() const {
  std::vector<std::string> sentences;
  for (const auto& [key, value] : reasons_) {
    sentences.push_back(fmt::format("{}: left out {} row{} {} (first: {})", key.first, value.first,
                                    value.first == 1 ? "" : "s", key.second, value.second));
  }
  return sentences;
}

RowSamples SamplesOf(const std::vector<MeasuredRows>& tables, const KindsOfRows& kinds,
                     const Catalogue& catalogue) {
  return RowSampler(kinds, catalogue).Run(tables);
}

}  // namespace stowplan::cost_models
