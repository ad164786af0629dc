// Measured rows as a fit sees them: whose they are, what the host adds to them, which say nothing (rows_fit.h says how it is told).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cost_models/calibration/measured_rows.h"
#include "cost_models/calibration/ratio_tables_fit.h"

namespace stowplan::cost_models {

inline constexpr std::size_t kLeastRows = 50;  // of a family, behind no host

struct Sample {
  const MeasuredRow* row = nullptr;
  std::string_view source;  // the table, as messages call it
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

  // Behind the host: within a quarter of the floor, it says nothing of the device.
  bool hidden() const { return row->us < 1.25 * floor_us; }
  std::string Place() const;
  double size() const { return IsContraction(row->work.op_class) ? row->work.flops : row->work.bytes; }
};

using Samples = std::vector<const Sample*>;

// Rows that are left out, by kind and reason, with the place of the first.
class LeftOut {
 public:
  void Add(const std::string& kind, const std::string& why, const std::string& place, std::int64_t rows = 1);
  std::vector<std::string> Sentences() const;

 private:
  std::map<std::pair<std::string, std::string>, std::pair<std::int64_t, std::string>> reasons_;
};

struct KindsOfRows {
  std::map<std::string, std::string> of;  // a device of the rows, {"T4": "t4"}; else it is a kind's name
  std::string only;                       // the kind that all rows are to be of; empty = any
};

struct RowSamples {
  std::vector<std::unique_ptr<Sample>> samples;  // in the order of the tables; without features and ratio
  LeftOut left_out;
};
// Keeps pointers into the tables and the catalogue. Throws InputError as FitRows().
RowSamples SamplesOf(const std::vector<MeasuredRows>& tables, const KindsOfRows& kinds,
                     const Catalogue& catalogue);

// A fifth of the shapes, the same on every GPU and in every number format, in any order of the rows.
bool IsHeldOut(const MeasuredRow& row);

// Nothing of nothing, as the mean.
std::optional<double> MedianIfAny(const std::vector<double>& values);

}  // namespace stowplan::cost_models
