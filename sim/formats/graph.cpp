// stowplan.graph: JSON, one op a line when we write it.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/base/dtypes.h"
#include "sim/base/error.h"
#include "sim/base/spec.h"
#include "sim/formats/collectives.h"
#include "sim/formats/document/json_reader.h"
#include "sim/formats/document/json_text.h"
#include "sim/formats/document/source.h"
#include "sim/formats/formats.h"

namespace stowplan::formats {
namespace {

using sim::Bytes;
using sim::Op;
using sim::OpGraph;
using sim::OpIndex;
using sim::Output;
using sim::TensorRef;

constexpr std::string_view kTopKeys[] = {"format", "version", "name", "attributes", "ops"};
constexpr std::string_view kOpKeys[] = {
    "name",      "type",          "inputs",   "control", "outputs", "persistent_bytes", "workspace_bytes",
    "flops",     "framework_ops", "colocate", "group",   "phase",   "cost_us",          "attributes",
    "collective"};
constexpr std::string_view kOutputKeys[] = {"bytes", "dtype", "shape", "alias"};
constexpr std::string_view kPhases[] = {"forward", "backward", "update"};
constexpr std::string_view kPersistent = "persistent";
constexpr double kMaxFlops = 1e24;

struct OutputName {
  std::string_view producer;
  std::int32_t output = 0;
};

// "producer:2"; the digits after the last colon may be left out.
OutputName SplitOutputName(const Value& value) {
  const std::string_view text = value.Text();
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) return {text};
  const std::string_view digits = text.substr(colon + 1);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return {text};
  OutputName name{text.substr(0, colon)};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), name.output);
  if (error != std::errc()) value.Fail(fmt::format("names output {}, which no op has", digits.substr(0, 40)));
  return name;
}

sim::Attributes ReadAttributes(const Value& value) {
  sim::Attributes attributes;
  for (const auto [key, member] : value.members()) attributes.emplace_back(key, member.Free());
  return attributes;
}

std::vector<std::int64_t> ReadShape(const Value& shape) {
  std::vector<std::int64_t> dims;
  double elements = 1;
  for (const Value dim : shape.items()) {
    dims.push_back(dim.Int(0, sim::kMaxBytes));
    elements *= static_cast<double>(std::max<std::int64_t>(dims.back(), 1));
  }
  if (elements > static_cast<double>(sim::kMaxBytes)) shape.Fail("has more than 2^50 elements");
  return dims;
}

std::size_t LengthOf(const Value& list) {
  list.items();  // refuses what is no list
  return list.size();
}

class OpsReader {
 public:
  OpsReader(const Value& ops, const sim::HardwareCatalogue* catalogue) : ops_(ops), catalogue_(catalogue) {
    if (LengthOf(ops) == 0) ops.Fail("must hold at least one op");
    // Names first, since ops may read others that stand behind them.
    index_.reserve(ops.size());
    outputs_.reserve(ops.size());
    for (const Value op : ops.items()) Index(Fields(op, kOpKeys));
  }

  std::vector<Op> Read() const {
    std::vector<Op> ops;
    ops.reserve(ops_.size());
    for (const Value op : ops_.items()) ops.push_back(ReadOp(Fields(op, kOpKeys)));
    return ops;
  }

 private:
  void Index(const Fields& op) {
    const Value name = op.Require("name");
    const auto [found, fresh] = index_.emplace(name.Text(), static_cast<OpIndex>(index_.size()));
    if (!fresh) {
      name.Fail(
          fmt::format("is {}, as is ops[{}].name; names must be unique", Quoted(name.Text()), found->second));
    }
    const auto outputs = op.Find("outputs");
    outputs_.push_back(outputs ? LengthOf(*outputs) : 0);
  }

  OpIndex FindOp(const Value& value, std::string_view name) const {
    const auto found = index_.find(name);
    if (found == index_.end())
      value.Fail(fmt::format("names the op {}, which is not in the graph", Quoted(name)));
    return found->second;
  }

  TensorRef ReadTensor(const Value& value) const {
    const OutputName name = SplitOutputName(value);
    const TensorRef tensor{FindOp(value, name.producer), name.output};
    const std::size_t count = outputs_[static_cast<std::size_t>(tensor.op)];
    if (static_cast<std::size_t>(tensor.output) >= count) {
      value.Fail(fmt::format("names output {} of {}, which has {} output{}", tensor.output,
                             Quoted(name.producer), count, count == 1 ? "" : "s"));
    }
    return tensor;
  }

  void ReadAlias(const Value& alias, const Op& op, Output& output) const {
    if (alias.IsNull()) {
      output.storage = Output::Storage::kOwn;
    } else if (alias.Text() == kPersistent) {
      output.storage = Output::Storage::kPersistent;
    } else {
      output.storage = Output::Storage::kInput;
      output.alias = ReadTensor(alias);
      if (std::find(op.inputs.begin(), op.inputs.end(), output.alias) == op.inputs.end()) {
        alias.Fail(fmt::format("is {}, but must be one of the op's inputs, \"persistent\" or null",
                               Quoted(alias.Text())));
      }
    }
  }

  Output ReadOutput(const Value& value, const Op& op) const {
    const Fields fields(value, kOutputKeys);
    Output output;
    output.bytes = fields.Int("bytes", 0, 0, sim::kMaxBytes);
    // Cost models ask for the format by its name: one that they do not know would be priced as another.
    if (const auto dtype = fields.Find("dtype"))
      output.dtype = sim::kDtypeNames[dtype->Choice(sim::kDtypeNames)];
    if (const auto shape = fields.Find("shape")) output.shape = ReadShape(*shape);
    if (op.type == "Variable") output.storage = Output::Storage::kPersistent;
    if (const auto alias = fields.Find("alias")) ReadAlias(*alias, op, output);
    if (fields.Has("dtype") && fields.Has("shape")) CheckBytes(fields, output);
    return output;
  }

  // What number format and shape say: the bytes, where none are given. Views may travel with fewer, padded tensors with more.
  static void CheckBytes(const Fields& fields, Output& output) {
    const auto* const dtype = std::ranges::find(sim::kDtypes, output.dtype, &sim::Dtype::name);
    sim::Bytes bits = dtype->bits;
    for (const std::int64_t length : output.shape) bits *= length;  // at most 2^50 elements
    const sim::Bytes least = (bits + 7) / 8;
    const auto bytes = fields.Find("bytes");
    if (!bytes) {
      if (least > sim::kMaxBytes) fields.Find("shape")->Fail("takes more than 2^50 bytes");
      output.bytes = least;
    } else if (output.bytes < least && output.storage != Output::Storage::kInput) {
      bytes->Fail(fmt::format("are {}, but {} elements of {} take {}; leave them out to have these",
                              output.bytes, bits / dtype->bits, output.dtype, least));
    }
  }

  static std::string ReadName(const Value& value) {
    std::string name = value.Name();
    if (sim::EndsLikeAnOutput(name)) {
      value.Fail(fmt::format(
          "is {}, but must not end in ':' and digits, which is how outputs are written; rename it",
          Quoted(name)));
    }
    return name;
  }

  void CheckKind(const Value& micros, std::string_view kind) const {
    const std::string classes[] = {sim::ToString(sim::DeviceClass::kCpu),
                                   sim::ToString(sim::DeviceClass::kGpu)};
    if (kind == classes[0] || kind == classes[1]) return;
    if (catalogue_ == nullptr || catalogue_->FindDevice(std::string(kind)) != nullptr) return;
    std::vector<std::string> known(std::begin(classes), std::end(classes));
    for (const std::string& name : catalogue_->DeviceNames()) {
      if (std::ranges::find(classes, name) == std::end(classes)) known.push_back(name);
    }
    micros.Fail("prices what is no device class or kind of the catalogue; those are " + JoinNames(known));
  }

  void ReadCost(const Value& cost, Op& op) const {
    if (cost.IsObject()) {
      if (cost.size() == 0) cost.Fail("must price at least one device kind or class, or be left out");
      for (const auto [kind, micros] : cost.members()) {
        CheckKind(micros, kind);
        op.cost_us_by_kind.emplace_back(kind, micros.Number(0, sim::kMaxMicros));
      }
    } else if (cost.IsNumber()) {
      op.cost_us = cost.Number(0, sim::kMaxMicros);
    } else {
      cost.Fail("must be a number of microseconds, or an object of such numbers by device kind or class");
    }
  }

  Op ReadOp(const Fields& fields) const {
    Op op;
    op.name = ReadName(fields.Require("name"));
    op.type = fields.Require("type").Name();
    if (const auto inputs = fields.Find("inputs")) {
      op.inputs.reserve(LengthOf(*inputs));
      for (const Value input : inputs->items()) op.inputs.push_back(ReadTensor(input));
    }
    if (const auto control = fields.Find("control")) {
      for (const Value name : control->items()) op.control.push_back(FindOp(name, name.Text()));
    }
    if (const auto outputs = fields.Find("outputs")) {
      op.outputs.reserve(outputs->size());
      for (const Value output : outputs->items()) op.outputs.push_back(ReadOutput(output, op));
    }
    op.persistent_bytes = fields.Int("persistent_bytes", 0, 0, sim::kMaxBytes);
    op.workspace_bytes = fields.Int("workspace_bytes", 0, 0, sim::kMaxBytes);
    op.flops = fields.Number("flops", 0, 0, kMaxFlops);
    op.framework_ops = static_cast<std::int32_t>(fields.Int("framework_ops", 1, 0, INT32_MAX));
    op.colocate = fields.String("colocate", "");
    op.group = fields.String("group", "");
    op.collective = static_cast<std::int32_t>(fields.Int("collective", -1, 0, INT32_MAX));
    if (const auto phase = fields.Find("phase")) op.phase = kPhases[phase->Choice(kPhases)];
    if (const auto cost = fields.Find("cost_us")) ReadCost(*cost, op);
    if (const auto attributes = fields.Find("attributes")) op.attributes = ReadAttributes(*attributes);
    return op;
  }

 private:
  Value ops_;
  const sim::HardwareCatalogue* catalogue_;              // may be null
  std::unordered_map<std::string_view, OpIndex> index_;  // views of the document
  std::vector<std::size_t> outputs_;                     // how many, by op
};

// ---- printing -----------------------------------------------------------------------------------

void AppendNames(std::string& out, const char* key, const std::vector<std::string>& names) {
  if (names.empty()) return;
  fmt::format_to(std::back_inserter(out), ", \"{}\": [", key);
  const char* separator = "";
  for (const auto& name : names) {
    out += std::exchange(separator, ", ");
    AppendJsonString(out, name);
  }
  out += ']';
}

void AppendText(std::string& out, const char* key, const std::string& text) {
  if (text.empty()) return;
  fmt::format_to(std::back_inserter(out), ", \"{}\": ", key);
  AppendJsonString(out, text);
}

template <typename Number>
void AppendNumber(std::string& out, const char* key, Number value, Number fallback) {
  if (value != fallback) fmt::format_to(std::back_inserter(out), ", \"{}\": {}", key, value);
}

class OpPrinter {
 public:
  OpPrinter(std::string& out, const OpGraph& graph) : out_(out), graph_(graph) {}

  void Print(const Op& op) {
    out_ += "{\"name\": ";
    AppendJsonString(out_, op.name);
    AppendText(out_, "type", op.type);
    PrintDependencies(op);
    PrintOutputs(op);
    AppendNumber<Bytes>(out_, "persistent_bytes", op.persistent_bytes, 0);
    AppendNumber<Bytes>(out_, "workspace_bytes", op.workspace_bytes, 0);
    AppendNumber<double>(out_, "flops", op.flops, 0);
    AppendNumber<std::int32_t>(out_, "framework_ops", op.framework_ops, 1);
    AppendText(out_, "colocate", op.colocate);
    AppendText(out_, "group", op.group);
    AppendText(out_, "phase", op.phase);
    AppendNumber<std::int32_t>(out_, "collective", op.collective, -1);
    PrintCost(op);
    if (!op.attributes.empty()) {
      out_ += ", \"attributes\": ";
      AppendJsonAttributes(out_, op.attributes);
    }
    out_ += '}';
  }

 private:
  const std::string& NameOf(OpIndex op) const { return graph_.ops[static_cast<std::size_t>(op)].name; }
  std::string NameOf(const TensorRef& tensor) const {
    return fmt::format("{}:{}", NameOf(tensor.op), tensor.output);
  }

  void PrintDependencies(const Op& op) {
    std::vector<std::string> names;
    for (const TensorRef& input : op.inputs) names.push_back(NameOf(input));
    AppendNames(out_, "inputs", names);
    names.clear();
    for (const OpIndex control : op.control) names.push_back(NameOf(control));
    AppendNames(out_, "control", names);
  }

  void PrintOutputs(const Op& op) {
    if (op.outputs.empty()) return;
    out_ += ", \"outputs\": [";
    const char* separator = "";
    for (const Output& output : op.outputs) {
      out_ += std::exchange(separator, ", ");
      PrintOutput(op, output);
    }
    out_ += ']';
  }

  void PrintOutput(const Op& op, const Output& output) {
    fmt::format_to(std::back_inserter(out_), "{{\"bytes\": {}", output.bytes);
    AppendText(out_, "dtype", output.dtype);
    if (!output.dtype.empty() || !output.shape.empty()) {
      fmt::format_to(std::back_inserter(out_), ", \"shape\": [{}]", fmt::join(output.shape, ", "));
    }
    const bool variable = op.type == "Variable";
    switch (output.storage) {
      case Output::Storage::kOwn:
        if (variable) out_ += ", \"alias\": null";
        break;
      case Output::Storage::kInput:
        AppendText(out_, "alias", NameOf(output.alias));
        break;
      case Output::Storage::kPersistent:
        if (!variable) AppendText(out_, "alias", std::string(kPersistent));
        break;
    }
    out_ += '}';
  }

  // A file holds a number or an object. An op that has both gets an object whose classes stand for the
  // number: every kind has one of the two classes.
  void PrintCost(const Op& op) {
    if (!op.cost_us && op.cost_us_by_kind.empty()) return;
    out_ += ", \"cost_us\": ";
    if (op.cost_us_by_kind.empty()) return AppendJsonNumber(out_, *op.cost_us);
    auto costs = op.cost_us_by_kind;
    for (const auto device_class : {sim::DeviceClass::kCpu, sim::DeviceClass::kGpu}) {
      const std::string name = ToString(device_class);
      const bool given =
          std::any_of(costs.begin(), costs.end(), [&](const auto& cost) { return cost.first == name; });
      if (op.cost_us && !given) costs.emplace_back(name, *op.cost_us);
    }
    const char* separator = "{";
    for (const auto& [kind, micros] : costs) {
      out_ += std::exchange(separator, ", ");
      AppendJsonString(out_, kind);
      out_ += ": ";
      AppendJsonNumber(out_, micros);
    }
    out_ += '}';
  }

  std::string& out_;
  const OpGraph& graph_;
};

}  // namespace

OpGraph ParseGraph(std::string_view json, const std::string& source,
                   const sim::HardwareCatalogue* catalogue) {
  const Document document = ParseJson(json, source);
  CheckFormat(document, "stowplan.graph", 1);
  const Fields top(document.root(), kTopKeys);
  OpGraph graph;
  graph.name = top.Name("name", NameFromSource(source));
  if (const auto attributes = top.Find("attributes")) graph.attributes = ReadAttributes(*attributes);
  graph.ops = OpsReader(top.Require("ops"), catalogue).Read();
  return CheckedAt(source, [&] {
    graph.Finish();
    const bool some = !graph.collectives().empty() || std::ranges::any_of(graph.ops, IsWholeCollective);
    return some ? SplitCollectives(graph) : std::move(graph);
  });
}

OpGraph ReadGraph(const std::string& path, const sim::HardwareCatalogue* catalogue) {
  return ParseGraph(ReadFile(path), SourceOf(path), catalogue);
}

std::string PrintGraph(const OpGraph& graph) {
  std::string out = "{\"format\": \"stowplan.graph\", \"version\": 1";
  AppendText(out, "name", graph.name);
  if (!graph.attributes.empty()) {
    out += ", \"attributes\": ";
    AppendJsonAttributes(out, graph.attributes);
  }
  out += ",\n \"ops\": [";
  OpPrinter printer(out, graph);
  const char* separator = "\n  ";
  for (const Op& op : graph.ops) {
    out += std::exchange(separator, ",\n  ");
    printer.Print(op);
  }
  out += "]}\n";
  return out;
}

void WriteGraph(const std::string& path, const OpGraph& graph) {
  WriteFile(path, PrintGraph(graph));
}

}  // namespace stowplan::formats
