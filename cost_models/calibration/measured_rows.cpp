#include "cost_models/calibration/measured_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "cost_models/ops/op_types.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"

namespace stowplan::cost_models {
namespace {

constexpr std::string_view kFacts[] = {"machine", "driver", "library", "date", "source", "licence", "device"};
constexpr std::string_view kRequired[] = {"machine", "library", "date", "source", "licence"};
constexpr std::string_view kDimensions[] = {"batch",   "rows",        "columns",      "depth",
                                            "tensors", "in_channels", "out_channels", "kernel",
                                            "side",    "stride",      "padding"};
// Of a time; there must be one.
constexpr std::pair<std::string_view, double> kUnits[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}};
constexpr std::pair<std::string_view, double> kFormats[] = {{"f32", 4}, {"f16", 2}, {"bf16", 2}};

// Element-wise ops of frameworks that compute more than sums do, and what graphs call them.
constexpr std::pair<std::string_view, std::string_view> kFunctions[] = {
    {"erf", "Erf"},  {"exp", "Exp"}, {"gelu", "Gelu"},       {"hardswish", "HardSwish"},
    {"log", "Log"},  {"pow", "Pow"}, {"sigmoid", "Sigmoid"}, {"silu", "Swish"},
    {"tanh", "Tanh"}};

std::vector<std::string_view> Split(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = std::min(line.find(','), line.size());
    fields.push_back(line.substr(0, comma));
    if (comma == line.size()) return fields;
    line.remove_prefix(comma + 1);
  }
}

std::optional<double> Number(std::string_view text) {
  double value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

using Dimensions = std::map<std::string_view, double>;

// Empty where a dimension that the op needs is not there or not positive.
using MakeWork = std::optional<OpWork> (*)(const Dimensions&, double bytes);

// False where one of them is no positive number.
bool Take(const Dimensions& from, std::span<const std::string_view> names, std::span<double> values) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = from.find(names[i]);
    if (found == from.end() || found->second <= 0) return false;
    values[i] = found->second;
  }
  return true;
}

OpWork ProductWork(const MatrixProduct& product, double bytes) {
  OpWork work;
  work.op_class = OpClass::kGemm;
  work.product = product;
  work.elements = product.count * product.rows * product.columns;
  work.flops = 2 * work.elements * product.depth;
  work.bytes = bytes * (work.elements + product.count * product.depth * (product.rows + product.columns));
  work.row = product.columns;
  return work;
}

std::optional<OpWork> Linear(const Dimensions& from, double bytes) {
  static constexpr std::string_view kNames[] = {"rows", "columns", "depth"};
  double at[3];
  if (!Take(from, kNames, at)) return std::nullopt;
  return ProductWork({1, at[0], at[1], at[2]}, bytes);
}

std::optional<OpWork> BatchedProduct(const Dimensions& from, double bytes) {
  static constexpr std::string_view kNames[] = {"batch", "rows", "columns", "depth"};
  double at[4];
  if (!Take(from, kNames, at)) return std::nullopt;
  return ProductWork({at[0], at[1], at[2], at[3]}, bytes);
}

std::optional<OpWork> Convolution(const Dimensions& from, double bytes) {
  static constexpr std::string_view kNames[] = {"batch",  "in_channels", "out_channels",
                                                "kernel", "side",        "stride"};
  double at[6];
  if (!Take(from, kNames, at)) return std::nullopt;
  const auto found = from.find("padding");
  const double padding = found != from.end() ? found->second : 0;
  const auto [batch, in, out, kernel, side, stride] = at;
  const double out_side = std::floor((side + 2 * padding - kernel) / stride) + 1;
  if (padding < 0 || out_side < 1) return std::nullopt;
  OpWork work = ProductWork({1, batch * out_side * out_side, out, in * kernel * kernel}, bytes);
  work.op_class = OpClass::kConvolution;
  work.positions = out_side * out_side;
  work.bytes = bytes * (batch * in * side * side + in * kernel * kernel * out + work.elements);
  return work;
}

std::optional<OpWork> Rows(const Dimensions& from, double bytes, OpClass op_class, std::string_view family) {
  static constexpr std::string_view kNames[] = {"rows", "columns"};
  double at[2];
  if (!Take(from, kNames, at)) return std::nullopt;
  const auto tensors = from.find("tensors");
  OpWork work;
  work.op_class = op_class;
  work.elements = at[0] * at[1];
  work.bytes = bytes * work.elements * (tensors != from.end() ? tensors->second : 2);
  work.row = at[1];
  work.family = family;
  return work;
}

struct OpRow {
  std::string_view name;
  MakeWork make;
};
constexpr OpRow kOps[] = {
    {"linear", Linear},
    {"bmm", BatchedProduct},
    {"conv2d", Convolution},
    {"elementwise", [](const Dimensions& from,
                       double bytes) { return Rows(from, bytes, OpClass::kElementwise, "elementwise"); }},
    {"softmax", [](const Dimensions& from,
                   double bytes) { return Rows(from, bytes, OpClass::kNormalisation, "softmax"); }},
    {"layer_norm", [](const Dimensions& from,
                      double bytes) { return Rows(from, bytes, OpClass::kNormalisation, "normalisation"); }},
};

class RowReader {
 public:
  RowReader(std::string_view csv, const std::string& source) : csv_(csv) { table_.source = source; }

  MeasuredRows Read() {
    while (!csv_.empty()) {
      const std::size_t end = std::min(csv_.find('\n'), csv_.size());
      std::string_view line = csv_.substr(0, end);
      csv_.remove_prefix(std::min(end + 1, csv_.size()));
      ++line_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty()) continue;
      if (line.front() == '#') {
        Fact(line.substr(1));
      } else if (columns_.empty()) {
        Header(line);
      } else {
        Row(line);
      }
    }
    if (columns_.empty())
      Fail("has no header, a line that names its columns: op,dtype,rows,columns,depth,us");
    for (const std::string_view key : kRequired) {
      if (!table_.facts.contains(std::string(key)))
        Fail(fmt::format("does not say its {}; in front of the header belongs a line '# {}: …'", key, key));
    }
    return std::move(table_);
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw InputError(fmt::format("{}:{}: {}", table_.source, line_, what));
  }

  void Fact(std::string_view text) {
    const std::size_t colon = text.find(": ");
    if (colon == std::string_view::npos) return;  // a remark
    while (text.starts_with(' ')) text.remove_prefix(1);
    const std::string key(text.substr(0, text.find(": ")));
    if (std::ranges::find(kFacts, key) == std::end(kFacts)) {
      Fail(fmt::format("'{}' is no fact of a table of rows; there are {}", key, fmt::join(kFacts, ", ")));
    }
    table_.facts[key] = text.substr(text.find(": ") + 2);
  }

  void Header(std::string_view line) {
    std::vector<std::string> known = {"op", "name", "dtype", "device"};
    for (const std::string_view name : kDimensions) known.emplace_back(name);
    for (const auto& [name, factor] : kUnits) known.emplace_back(name);
    int times = 0;
    for (const std::string_view field : Split(line)) {
      const std::string name(field);
      if (std::ranges::find(known, name) == known.end()) {
        Fail(fmt::format("'{}' is no column of a table of rows{}; there are {}", name,
                         DidYouMean(name, known), JoinNames(known)));
      }
      if (std::ranges::find(columns_, name) != columns_.end())
        Fail(fmt::format("names the column '{}' twice", name));
      times += std::ranges::any_of(kUnits, [&](const auto& unit) { return unit.first == name; }) ? 1 : 0;
      columns_.push_back(name);
    }
    if (times != 1) Fail("must name one column of time: us, ms or s; two units in a table are not mixed");
    for (const char* name : {"op", "dtype"}) {
      if (std::ranges::find(columns_, name) == columns_.end())
        Fail(fmt::format("lacks the column '{}'", name));
    }
  }

  void Row(std::string_view line) {
    const std::vector<std::string_view> fields = Split(line);
    if (fields.size() != columns_.size()) {
      Fail(fmt::format("has {} fields, but the header names {} columns", fields.size(), columns_.size()));
    }
    MeasuredRow row{.line = line_, .device = {}, .op = {}, .name = {}, .work = {}};
    if (const auto given = table_.facts.find("device"); given != table_.facts.end())
      row.device = given->second;
    std::string_view dtype;
    Dimensions dimensions;
    bool readable = true;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const std::string& column = columns_[i];
      if (column == "op") {
        row.op = fields[i];
      } else if (column == "name") {
        row.name = fields[i];
      } else if (column == "dtype") {
        dtype = fields[i];
      } else if (column == "device") {
        row.device = fields[i];
      } else if (!fields[i].empty()) {
        const std::optional<double> number = Number(fields[i]);
        readable = readable && number.has_value();
        if (number) Put(column, *number, &dimensions, &row.us);
      }
    }
    Add(std::move(row), dtype, dimensions, readable);
  }

  static void Put(const std::string& column, double number, Dimensions* dimensions, double* us) {
    for (const auto& [unit, factor] : kUnits) {
      if (unit == column) {
        *us = number * factor;
        return;
      }
    }
    (*dimensions)[*std::ranges::find(kDimensions, column)] = number;
  }

  void Add(MeasuredRow row, std::string_view dtype, const Dimensions& dimensions, bool readable) {
    const auto op = std::ranges::find(kOps, row.op, &OpRow::name);
    if (op == std::end(kOps)) {
      std::vector<std::string> known;
      for (const OpRow& one : kOps) known.emplace_back(one.name);
      Fail(fmt::format("'{}' is no op of a table of rows{}; there are {}", row.op, DidYouMean(row.op, known),
                       JoinNames(known)));
    }
    const auto format = std::ranges::find(kFormats, dtype, [](const auto& one) { return one.first; });
    if (format == std::end(kFormats))
      Fail(fmt::format("'{}' is no number format; there are f32, f16 and bf16", dtype));
    if (const auto tensors = dimensions.find("tensors"); tensors != dimensions.end()) {
      const double count = tensors->second;
      if (count < 1 || count != std::floor(count)) {
        Fail(fmt::format(
            "tensors is {}, but must be how many tensors the op reads and writes, a whole number of 1 "
            "or more",
            count));
      }
    }
    std::optional<OpWork> work = op->make(dimensions, format->second);
    if (!readable || !work || row.us <= 0) {
      if (table_.unreadable++ == 0) table_.first_unreadable = line_;
      return;
    }
    row.work = *work;
    row.work.dtype = format->first;
    if (const auto function =
            std::ranges::find(kFunctions, row.name, [](const auto& one) { return one.first; });
        row.op == "elementwise" && function != std::end(kFunctions)) {
      row.work.type = function->second;
      row.work.family = FamilyOf(row.work.type, row.work.op_class);
    }
    table_.rows.push_back(std::move(row));
  }

  std::string_view csv_;
  int line_ = 0;
  std::vector<std::string> columns_;
  MeasuredRows table_;
};

}  // namespace

MeasuredRows ParseMeasuredRows(std::string_view csv, const std::string& source) {
  return RowReader(csv, source).Read();
}

}  // namespace stowplan::cost_models
