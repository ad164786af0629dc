#include "cost_models/calibration/measured_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>

#include "cost_models/ops/number_formats.h"
#include "cost_models/ops/op_types.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"

namespace stowplan::cost_models {
namespace {

constexpr std::string_view kFacts[] = {"machine", "driver",  "library", "date",
                                       "source",  "licence", "device",  "time"};
constexpr std::string_view kRequired[] = {"machine", "library", "date", "source", "licence"};
constexpr std::string_view kDimensions[] = {
    "batch",        "rows",        "columns",       "depth",     "tensors",       "in_channels",
    "out_channels", "kernel",      "kernel_height", "side",      "height",        "stride",
    "padding",      "groups",      "heads",         "key_heads", "stride_height", "padding_height",
    "queries",      "keys",        "size",          "causal",    "window",        "experts",
    "choices",      "all_experts", "skew",          "steps"};
// Of a time; there must be one.
constexpr std::pair<std::string_view, double> kUnits[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}};
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

class Dimensions {
 public:
  void Set(std::string_view name, double value) { values_[name] = value; }
  bool Has(std::string_view name) const { return values_.contains(name); }
  // 0 where the row says none; so is what must be there and is not positive.
  double Get(std::string_view name, double otherwise = 0) const {
    const auto found = values_.find(name);
    return found != values_.end() ? found->second : otherwise;
  }
  std::string Text() const {
    std::string text;
    for (const auto& [name, value] : values_) text += fmt::format(" {}={}", name, value);
    return text;
  }
  // Whether they all stand in the row and are positive.
  bool Have(std::initializer_list<std::string_view> names) const {
    return std::ranges::all_of(names, [&](std::string_view name) { return Get(name) > 0; });
  }

 private:
  std::map<std::string_view, double> values_;
};

// Empty where a dimension that the op needs is not there or not positive.
using MakeWork = std::optional<OpWork> (*)(const Dimensions&, const NumberFormat&, std::string_view name);

OpWork ProductWork(const MatrixProduct& product, const NumberFormat& format) {
  OpWork work;
  work.op_class = OpClass::kGemm;
  work.product = product;
  work.elements = product.count * product.rows * product.columns;
  work.flops = 2 * work.elements * product.depth;
  work.bytes = format.written_bytes * work.elements +
               product.count * product.depth *
                   (format.operand_bytes * product.rows + format.weight_bytes * product.columns);
  work.row = product.columns;
  return work;
}

std::optional<OpWork> Linear(const Dimensions& from, const NumberFormat& format, std::string_view) {
  if (!from.Have({"rows", "columns", "depth"})) return std::nullopt;
  return ProductWork({1, from.Get("rows"), from.Get("columns"), from.Get("depth")}, format);
}

std::optional<OpWork> BatchedProduct(const Dimensions& from, const NumberFormat& format, std::string_view) {
  if (!from.Have({"batch", "rows", "columns", "depth"})) return std::nullopt;
  return ProductWork({from.Get("batch"), from.Get("rows"), from.Get("columns"), from.Get("depth")}, format);
}

// `name`: empty, or whose gradient it computes: "image" or "filter".
std::optional<OpWork> Convolution(const Dimensions& from, const NumberFormat& format, std::string_view name) {
  if (!from.Have({"batch", "in_channels", "out_channels", "kernel", "side", "stride"})) return std::nullopt;
  const double batch = from.Get("batch"), in = from.Get("in_channels"), out = from.Get("out_channels");
  const double groups = from.Get("groups", 1);
  // Of one axis: how many outputs it has; 0 where the row makes no sense.
  const auto outputs = [&](double length, double window, double step, double padding) {
    return padding < 0 || step < 1 ? 0 : std::floor((length + 2 * padding - window) / step) + 1;
  };
  const double kernel = from.Get("kernel"), kernel_height = from.Get("kernel_height", kernel);
  const double side = from.Get("side"), height = from.Get("height", side);
  const double stride = from.Get("stride"), padding = from.Get("padding");
  const double stride_height = from.Get("stride_height", stride);
  const double across = outputs(side, kernel, stride, padding);
  const double down = outputs(height, kernel_height, stride_height, from.Get("padding_height", padding));
  if (groups < 1 || across < 1 || down < 1) return std::nullopt;
  const double positions = across * down;
  const double taps = kernel * kernel_height;
  MatrixProduct product = {groups, batch * positions, out / groups, in / groups * taps};
  const double image = batch * in * side * height, filter = in / groups * taps * out,
               result = batch * positions * out;
  OpWork work;
  if (name == "image") {
    product = {groups, batch * side * height, in / groups, out / groups * taps / (stride * stride_height)};
  } else if (name == "filter") {
    product = {groups, out / groups, in / groups * taps, batch * positions};
  }
  work = ProductWork(product, format);
  work.op_class = groups > 1 && groups == in ? OpClass::kDepthwise : OpClass::kConvolution;
  work.type = name == "image" ? "Conv2DBackpropInput" : name == "filter" ? "Conv2DBackpropFilter" : "";
  work.flops = 2 * batch * positions * out * in / groups * taps;
  work.positions = positions;
  work.taps = taps;
  work.bytes = format.operand_bytes * (image + filter + result);
  work.elements = name == "image" ? image : name == "filter" ? filter : result;
  work.row = name == "filter" ? in / groups : name == "image" ? in : out;
  return work;
}

std::optional<OpWork> AttentionWork(const Dimensions& from, const NumberFormat& format, std::string_view) {
  if (!from.Have({"batch", "heads", "queries", "keys", "size"})) return std::nullopt;
  AttentionShape shape;
  shape.batch = from.Get("batch");
  shape.heads = from.Get("heads");
  shape.key_heads = from.Get("key_heads", shape.heads);
  shape.queries = from.Get("queries");
  shape.keys = from.Get("keys");
  shape.size = shape.value_size = from.Get("size");
  shape.window = from.Get("window");
  shape.is_causal = from.Get("causal") != 0;
  if (shape.key_heads < 1 || shape.key_heads > shape.heads || shape.window < 0) return std::nullopt;
  OpWork work;
  work.op_class = OpClass::kGemm;
  work.attention = shape;
  work.flops = shape.Flops();
  work.elements = shape.ElementsOfQueries() / 2;
  work.bytes =
      format.operand_bytes * shape.ElementsOfQueries() + format.weight_bytes * shape.ElementsOfKeys();
  work.row = shape.size;
  work.type = "Attention";
  return work;
}

// The feed-forward part of one layer: each of `rows` tokens goes to `choices` of `all_experts`, of which the device holds
// `experts`; three products between `depth` and `columns`.
std::optional<OpWork> ExpertsWork(const Dimensions& from, const NumberFormat& format, std::string_view) {
  if (!from.Have({"rows", "depth", "columns", "experts", "choices"})) return std::nullopt;
  Experts experts;
  experts.experts = from.Get("experts");
  experts.all_experts = std::max(experts.experts, from.Get("all_experts", experts.experts));
  experts.choices = from.Get("choices");
  experts.rows = from.Get("rows") * experts.choices * experts.experts / experts.all_experts;
  experts.skew = from.Get("skew");
  const double reached = std::max(1.0, experts.Reached());
  OpWork work =
      ProductWork({reached, experts.rows / reached, 3 * from.Get("columns"), from.Get("depth")}, format);
  work.experts = experts;
  return work;
}

// A layer of plain, GRU or LSTM cells ("rnn", "gru" or "lstm" in the column `name`) over `steps` steps: `rows` sequences of
// `columns` units; `depth` inputs, 0 where the row leaves their product out. "lstm_image", "lstm_filter": the gradients.
std::optional<OpWork> Recurrent(const Dimensions& from, const NumberFormat& format, std::string_view name) {
  if (!from.Have({"rows", "columns", "steps"}) || from.Get("depth") < 0) return std::nullopt;
  const double gates = name.starts_with("gru") ? 3 : name.starts_with("rnn") ? 1 : 4;
  const double steps = from.Get("steps"), units = from.Get("columns"), depth = from.Get("depth") + units;
  // The gradient of the weights is one product over all steps.
  const bool is_filter = name.ends_with("_filter");
  OpWork work = is_filter ? ProductWork({1, gates * units, depth, from.Get("rows") * steps}, format)
                          : ProductWork({1, from.Get("rows"), gates * units, depth}, format);
  work.op_class = OpClass::kRecurrentGemm;
  work.steps = is_filter ? 1 : steps;
  work.flops *= work.steps;
  work.elements = from.Get("rows") * steps * units;
  work.bytes = format.weight_bytes * gates * units * depth +
               format.operand_bytes * from.Get("rows") * steps * (depth + units);
  work.type = is_filter ? "LSTMWeights" : name.ends_with("_image") ? "LSTMGrad" : "LSTM";
  return work;
}

std::optional<OpWork> Rows(const Dimensions& from, const NumberFormat& format, OpClass op_class,
                           std::string_view family) {
  if (!from.Have({"rows", "columns"})) return std::nullopt;
  OpWork work;
  work.op_class = op_class;
  work.elements = from.Get("rows") * from.Get("columns");
  work.bytes = format.operand_bytes * work.elements * from.Get("tensors", 2);
  work.row = from.Get("columns");
  work.family = family;
  return work;
}

std::optional<OpWork> Elementwise(const Dimensions& from, const NumberFormat& format, std::string_view name) {
  std::optional<OpWork> work = Rows(from, format, OpClass::kElementwise, "elementwise");
  const auto function = std::ranges::find(kFunctions, name, [](const auto& one) { return one.first; });
  if (work && function != std::end(kFunctions)) {
    work->type = function->second;
    work->family = FamilyOf(work->type, work->op_class);
  }
  return work;
}

std::optional<OpWork> Softmax(const Dimensions& from, const NumberFormat& format, std::string_view) {
  return Rows(from, format, OpClass::kNormalisation, "softmax");
}

std::optional<OpWork> LayerNorm(const Dimensions& from, const NumberFormat& format, std::string_view) {
  return Rows(from, format, OpClass::kNormalisation, "normalisation");
}

struct OpRow {
  std::string_view name;
  MakeWork make;
};
constexpr OpRow kOps[] = {{"linear", Linear},           {"bmm", BatchedProduct},  {"conv2d", Convolution},
                          {"attention", AttentionWork}, {"experts", ExpertsWork}, {"recurrent", Recurrent},
                          {"elementwise", Elementwise}, {"softmax", Softmax},     {"layer_norm", LayerNorm}};

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
    if (key == "time" && table_.facts[key] != "device" && table_.facts[key] != "events") {
      Fail(
          fmt::format("time is '{}', but must be 'device', the time of the kernels alone, or 'events', "
                      "between two events of the host",
                      table_.facts[key]));
    }
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
    dimensions->Set(*std::ranges::find(kDimensions, column), number);
  }

  void Add(MeasuredRow row, std::string_view dtype, const Dimensions& dimensions, bool readable) {
    const auto op = std::ranges::find(kOps, row.op, &OpRow::name);
    if (op == std::end(kOps)) {
      std::vector<std::string> known;
      for (const OpRow& one : kOps) known.emplace_back(one.name);
      Fail(fmt::format("'{}' is no op of a table of rows{}; there are {}", row.op, DidYouMean(row.op, known),
                       JoinNames(known)));
    }
    const bool rounded = dtype == "tf32";
    const auto format = std::ranges::find(kNumberFormats, rounded ? "f32" : dtype, &NumberFormat::name);
    if (format == std::end(kNumberFormats)) {
      std::vector<std::string> known = {"tf32"};
      for (const NumberFormat& one : kNumberFormats) known.emplace_back(one.name);
      Fail(fmt::format("'{}' is no number format{}; there are {}", dtype,
                       DidYouMean(std::string(dtype), known), JoinNames(known)));
    }
    if (const double tensors = dimensions.Get("tensors", 2); tensors < 1 || tensors != std::floor(tensors)) {
      Fail(fmt::format(
          "tensors is {}, but must be how many tensors the op reads and writes, a whole number of 1 or more",
          tensors));
    }
    std::optional<OpWork> work = op->make(dimensions, *format, row.name);
    if (!readable || !work || row.us <= 0) {
      if (table_.unreadable++ == 0) table_.first_unreadable = line_;
      return;
    }
    row.shape = fmt::format("{} {}{}", row.op, row.name, dimensions.Text());
    row.work = *work;
    row.work.dtype = format->name;
    if (rounded) row.work.tf32 = true;
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
