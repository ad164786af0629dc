#include "scenarios/importers/trace/nodes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "profiler/traces/loose_json.h"
#include "sim/base/error.h"
#include "sim/formats/document/json_reader.h"

namespace stowplan::scenarios::trace {
namespace {

using formats::Value;
using profiler::Loose;

// The parts of a text between commas that stand in no bracket.
std::vector<std::string_view> PartsOf(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '(' || c == '[' || c == '<') ++depth;
    if (c == ')' || c == ']' || c == '>') --depth;
    if ((c != ',' || depth > 0) && i < text.size()) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

struct Parameter {
  std::string_view name;
  bool is_written;
};

// "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)" writes its first argument.
std::vector<Parameter> ParametersOf(std::string_view schema) {
  std::vector<Parameter> parameters;
  const auto open = schema.find('('), arrow = schema.rfind(") -> ");
  if (open == std::string_view::npos || arrow == std::string_view::npos || arrow < open) return parameters;
  for (const std::string_view part : PartsOf(schema.substr(open + 1, arrow - open - 1))) {
    if (part.find_first_not_of(" *") == std::string_view::npos) continue;
    const std::string_view declared = part.substr(0, part.find('='));
    const auto blank = declared.rfind(' ');
    parameters.push_back({blank == std::string_view::npos ? declared : declared.substr(blank + 1),
                          part.find("!)") != std::string_view::npos});
  }
  return parameters;
}

// What stands in "Tensor(float)".
std::optional<std::string_view> ElementType(std::string_view type) {
  constexpr std::string_view kOpen = "Tensor(";
  if (!type.starts_with(kOpen) || !type.ends_with(')')) return std::nullopt;
  return type.substr(kOpen.size(), type.size() - kOpen.size() - 1);
}

// Of a list; none of anything else.
std::vector<Value> ItemsOf(std::optional<Value> list) {
  std::vector<Value> items;
  if (!list || !list->IsList()) return items;
  for (const Value item : list->items()) items.push_back(item);
  return items;
}

std::optional<Value> ItemAt(const std::vector<Value>& items, std::size_t index) {
  return index < items.size() ? std::optional(items[index]) : std::nullopt;
}

// Values, shapes and types of the inputs or the outputs of a node.
class Arguments {
 public:
  // Schema 1.0 has three members, later ones an object of them.
  Arguments(const Loose& node, const std::string& which) {
    const auto told = node.Find(which + "s");
    const bool is_object = told && told->IsObject();
    const Loose inner(is_object ? told : std::nullopt);
    const auto values = is_object ? inner.Find("values") : told;
    const auto shapes = ItemsOf(is_object ? inner.Find("shapes") : node.Find(which + "_shapes"));
    const auto types = ItemsOf(is_object ? inner.Find("types") : node.Find(which + "_types"));
    if (!values) return;
    std::size_t at = 0;
    for (const Value value : values->items()) {
      const auto type = ItemAt(types, at);
      const bool has_type = type && type->kind() == formats::ValueKind::kString;
      read_.push_back(ReadArgument(value, ItemAt(shapes, at), has_type ? type->Text() : ""));
      ++at;
    }
  }

  std::vector<Argument> Take() { return std::move(read_); }

 private:
  static Argument ReadArgument(Value value, std::optional<Value> shape, std::string_view type) {
    Argument argument;
    if (const auto element = ElementType(type)) {
      AddTensor(value, shape, *element, argument);
    } else if (const auto open = type.find('['); open != std::string_view::npos && value.IsList()) {
      argument.is_list = true;
      const auto types = PartsOf(type.substr(open + 1, type.size() - std::min(type.size(), open + 2)));
      const auto shapes = ItemsOf(shape);
      std::size_t at = 0;
      for (const Value item : value.items()) {
        const auto one = at < types.size() ? ElementType(types[at]) : std::nullopt;
        if (one) AddTensor(item, ItemAt(shapes, at), *one, argument);
        if (at < types.size()) AddNumber(item, types[at], argument);
        ++at;
      }
    } else {
      AddNumber(value, type, argument);
    }
    return argument;
  }

  static void AddNumber(Value value, std::string_view type, Argument& argument) {
    constexpr std::size_t kMost = 16;  // more tell no window of a kernel
    if (argument.numbers.size() == kMost) return;
    if (type == "Int" && value.kind() == formats::ValueKind::kInteger)
      argument.numbers.push_back(value.Int(INT64_MIN, INT64_MAX));
    if (type == "Bool" && value.kind() == formats::ValueKind::kBool)
      argument.numbers.push_back(value.Bool() ? 1 : 0);
  }

  static void AddTensor(Value value, std::optional<Value> shape, std::string_view type, Argument& argument) {
    constexpr std::int64_t kMostBytes = 64;
    if (!value.IsList() || value.size() != 6)
      value.Fail("must be a tensor: [id, storage, offset, elements, bytes of an element, device]");
    Tensor tensor;
    const std::array<std::int64_t*, 5> fields = {&tensor.id, &tensor.storage, &tensor.offset,
                                                 &tensor.elements, &tensor.element_bytes};
    std::size_t field = 0;
    for (const Value item : value.items()) {
      if (field == fields.size()) {
        tensor.device = item.Label();
      } else {
        const bool is_size = field == 2 || field == 3;
        *fields[field] = item.Int(0, field == 4 ? kMostBytes
                                     : is_size  ? sim::kMaxBytes / kMostBytes
                                                : INT64_MAX);
      }
      ++field;
    }
    if (tensor.storage == 0) return;
    tensor.type = type;
    ReadShape(shape, tensor);
    argument.tensors.push_back(std::move(tensor));
  }

  static void ReadShape(std::optional<Value> shape, Tensor& tensor) {
    if (!shape || !shape->IsList()) return;
    std::vector<std::int64_t> dims;
    std::int64_t product = 1;
    for (const Value item : shape->items()) {
      if (item.kind() != formats::ValueKind::kInteger) return;
      dims.push_back(item.Int(0, sim::kMaxBytes));
      product = dims.back() == 0 ? 0 : product > sim::kMaxBytes / dims.back() ? -1 : product * dims.back();
      if (product < 0) return;
    }
    if (product == tensor.elements) tensor.shape = std::move(dims);
  }

  std::vector<Argument> read_;
};

// Members of a node that schema 1.0 has at the node itself, later ones in a list of names and values.
class Facts {
 public:
  explicit Facts(const Loose& node) : node_(node) {
    const auto list = node.Find("attrs");
    if (!list || !list->IsList()) return;
    for (const Value item : list->items()) attributes_.emplace_back(item);
  }
  std::int64_t Int(std::string_view key) const {
    const Loose* const attribute = Named(key);
    return attribute != nullptr ? attribute->Int("value") : node_.Int(key);
  }
  std::string Text(std::string_view key) const {
    const Loose* const attribute = Named(key);
    return attribute != nullptr ? attribute->Text("value") : node_.Text(key);
  }

 private:
  const Loose* Named(std::string_view key) const {
    const auto found =
        std::ranges::find_if(attributes_, [&](const Loose& one) { return one.Text("name") == key; });
    return found != attributes_.end() ? &*found : nullptr;
  }

  const Loose& node_;
  std::vector<Loose> attributes_;
};

struct Read {
  Node node;
  std::int64_t parent = 0;
  Value value;
};

Read ReadNode(Value value) {
  if (!value.IsObject()) value.Fail("must be a node: an object with \"id\" and \"name\"");
  const Loose fields(value);
  const auto id = fields.Find("id"), name = fields.Find("name");
  if (!id || !name) value.Fail("must be a node: an object with \"id\" and \"name\"");
  Read read{{}, 0, value};
  Node& node = read.node;
  node.id = id->Int(0);
  node.name = name->Name();
  read.parent = fields.Find("ctrl_deps") ? fields.Int("ctrl_deps") : fields.Int("parent");
  const Facts facts(fields);
  node.record = facts.Int("rf_id");
  node.thread = facts.Int("tid");
  const std::string schema = facts.Text("op_schema");
  node.has_schema = !schema.empty();
  node.inputs = Arguments(fields, "input").Take();
  const std::vector<Parameter> parameters = ParametersOf(schema);
  for (std::size_t i = 0; i < std::min(parameters.size(), node.inputs.size()); ++i) {
    node.inputs[i].name = parameters[i].name;
    node.inputs[i].is_written = parameters[i].is_written;
  }
  for (Argument& output : Arguments(fields, "output").Take())
    std::move(output.tensors.begin(), output.tensors.end(), std::back_inserter(node.outputs));
  return read;
}

}  // namespace

const Argument* Node::Find(std::string_view argument) const {
  const auto found = std::ranges::find(inputs, argument, &Argument::name);
  return found != inputs.end() ? &*found : nullptr;
}

ExecutionTrace ReadExecutionTrace(const std::string& content, const std::string& source) {
  const formats::Document document = formats::ParseJson(content, source);
  const Loose top(document.root());
  const auto nodes = top.Find("nodes");
  if (!nodes || !nodes->IsList()) document.root().Fail("has no list \"nodes\", so it is no execution trace");
  std::vector<Read> read;
  for (const Value node : nodes->items()) read.push_back(ReadNode(node));
  std::ranges::stable_sort(read, {}, [](const Read& one) { return one.node.id; });
  ExecutionTrace trace;
  trace.schema = top.Text("schema");
  std::unordered_map<std::int64_t, std::size_t> index;
  for (Read& one : read) {
    Node& node = one.node;
    if (!index.emplace(node.id, trace.nodes.size()).second)
      one.value.Fail(fmt::format("repeats id {}; ids must be unique", node.id));
    // The outermost range names itself; what encloses the recording is not in the file.
    if (const auto parent = index.find(one.parent); one.parent != node.id && parent != index.end()) {
      node.parent = parent->second;
      trace.nodes[node.parent].is_leaf = false;
    } else if (one.parent > node.id) {
      one.value.Fail(fmt::format("has id {} and the parent {}; a parent began earlier, so its id is smaller",
                                 node.id, one.parent));
    }
    trace.nodes.push_back(std::move(node));
  }
  return trace;
}

}  // namespace stowplan::scenarios::trace
