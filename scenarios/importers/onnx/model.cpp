#include "scenarios/importers/onnx/model.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <google/protobuf/unknown_field_set.h>
#include <onnx/defs/schema.h>

#include "scenarios/importers/onnx/newer_sets.h"
#include "scenarios/onnx_files/wire_format.h"
#include "sim/base/error.h"

namespace stowplan::scenarios::onnx_import {
namespace {

// The messages on the way from a model to its tensors. Everything else is copied as it is.
enum class Message : std::uint8_t { kModel, kGraph, kFunction, kNode, kAttribute, kSparseTensor, kTensor };

struct Child {
  Message parent;
  std::uint32_t field;
  Message child;
};
// Field numbers of onnx.proto.
constexpr Child kChildren[] = {
    {Message::kModel, 7, Message::kGraph},
    {Message::kModel, 25, Message::kFunction},
    {Message::kFunction, 7, Message::kNode},
    {Message::kGraph, 1, Message::kNode},
    {Message::kGraph, 5, Message::kTensor},
    {Message::kGraph, 15, Message::kSparseTensor},
    {Message::kNode, 5, Message::kAttribute},
    {Message::kFunction, 11, Message::kAttribute},
    {Message::kAttribute, 5, Message::kTensor},
    {Message::kAttribute, 6, Message::kGraph},
    {Message::kAttribute, 10, Message::kTensor},
    {Message::kAttribute, 11, Message::kGraph},
    {Message::kAttribute, 22, Message::kSparseTensor},
    {Message::kAttribute, 23, Message::kSparseTensor},
    {Message::kSparseTensor, 1, Message::kTensor},
    {Message::kSparseTensor, 2, Message::kTensor},
};
// float_data to uint64_data; strings (6) included. Field 8 is the name.
constexpr bool IsTensorData(std::uint32_t field) {
  return (field >= 4 && field <= 7) || (field >= 9 && field <= 11);
}

// Fields that the library of set 17 does not know. Of several functions (nodes) of one name `overload` tells which;
// it is put behind the name. The others are kept under numbers that no library knows.
constexpr int kDefaultsField = 10011;
constexpr int kHintsField = 10012;
constexpr int kNodeNameField = 10013;
constexpr bool IsOverload(Message message, std::uint32_t field) {
  return (message == Message::kNode && field == 8) || (message == Message::kFunction && field == 13);
}
constexpr bool IsName(Message message, std::uint32_t field) {
  return (message == Message::kNode && field == 4) || (message == Message::kFunction && field == 1);
}
constexpr bool IsMetadata(Message message, std::uint32_t field) {
  return message == Message::kNode && field == 9;
}

// Where PyTorch's exporter says the module that a node came from, ['', 'layer1', 'layer1.0', 'conv2d']: "layer1.0".
// Empty for any other entry.
std::string ModuleOf(std::string_view entry) {
  std::string_view key;
  std::string_view value;
  while (const auto field = TakeField(entry)) {
    if (field->wire_type != 2) continue;
    if (field->number == 1) key = field->body;
    if (field->number == 2) value = field->body;
  }
  if (key != "pkg.torch.onnx.name_scopes") return {};
  std::vector<std::string_view> scopes;
  for (std::size_t begin = value.find('\''); begin != std::string_view::npos;) {
    const std::size_t end = value.find('\'', begin + 1);
    if (end == std::string_view::npos) return {};
    scopes.push_back(value.substr(begin + 1, end - begin - 1));
    begin = value.find('\'', end + 1);
  }
  return scopes.size() < 2 ? std::string()
                           : std::string(scopes[scopes.size() - 2]);  // the last one is the node
}

std::uint32_t KeptAs(Message message, std::uint32_t field) {
  if (message != Message::kFunction) return field;
  return field == 11 ? kDefaultsField : field == 12 ? kHintsField : field;
}

constexpr int kDeepestMessage = 100;  // protobuf's own limit

std::optional<Message> ChildOf(Message parent, std::uint32_t field) {
  for (const Child& row : kChildren) {
    if (row.parent == parent && row.field == field) return row.child;
  }
  return std::nullopt;
}

class Skeleton {
 public:
  Skeleton(std::string_view content, const std::string& source) : content_(content), source_(source) {}

  std::string Copy() const { return Copy(content_, Message::kModel, 0); }

 private:
  std::string Copy(std::string_view rest, Message message, int depth) const {
    std::string out;
    std::string name;
    std::string overload;
    std::string module;
    std::string node_name;
    if (depth > kDeepestMessage) Fail(rest, "messages are nested too deep");
    while (!rest.empty()) {
      const std::string_view at = rest;
      const auto field = TakeField(rest);
      if (!field) Fail(at, "what comes is no field or is cut off");
      if (message == Message::kTensor && field->wire_type == 2 && IsTensorData(field->number) &&
          field->body.size() > kLargestData) {
        continue;
      }
      if (field->wire_type == 2 && IsName(message, field->number)) name = field->body;
      if (field->wire_type == 2 && message == Message::kNode && field->number == 3) node_name = field->body;
      if (field->wire_type == 2 && IsOverload(message, field->number)) {
        overload = field->body;
        continue;
      }
      if (field->wire_type == 2 && IsMetadata(message, field->number)) {
        if (module.empty()) module = ModuleOf(field->body);
        continue;
      }
      const std::uint32_t number = KeptAs(message, field->number);
      const auto child = field->wire_type == 2 ? ChildOf(message, field->number) : std::nullopt;
      if (!child && number == field->number) {
        out += field->head;
        out += field->body;
        continue;
      }
      AppendField(out, number, child ? Copy(field->body, *child, depth + 1) : std::string(field->body));
    }
    if (!module.empty()) {
      AppendField(out, 3, module + "/" + name);
      AppendField(out, kNodeNameField, node_name);
    }
    if (!overload.empty()) {
      std::string told = name;
      told += ':';
      told += overload;
      AppendField(out, message == Message::kNode ? 4 : 1, told);
    }
    return out;
  }

  [[noreturn]] void Fail(std::string_view at, const std::string& what) const {
    throw InputError(source_ + ": is no whole ONNX model: at byte " +
                     std::to_string(at.data() - content_.data()) + " of " + std::to_string(content_.size()) +
                     " " + what + "; export or copy it again");
  }

  std::string_view content_;
  const std::string& source_;
};

void CheckOperatorSets(const onnx::ModelProto& model, const std::string& source) {
  const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  bool found = false;
  for (const auto& opset : model.opset_import()) {
    const bool standard = opset.domain().empty() || opset.domain() == "ai.onnx";
    found = found || standard;
    const auto range = known.find(standard ? "" : opset.domain());
    if (range == known.end()) continue;  // ops of other domains are dealt with one by one
    const int newest = standard ? kNewestSet : range->second.second;
    if (opset.version() < 1 || opset.version() > newest) {
      throw InputError(source + ": asks for operator set " + std::to_string(opset.version()) + " of " +
                       (standard ? "ONNX" : opset.domain()) + ", but 1 to " + std::to_string(newest) +
                       " are known; export it with a lower opset_version or convert it with "
                       "onnx.version_converter");
    }
  }
  if (!found) {
    throw InputError(source +
                     ": does not say which operator set of ONNX it uses (opset_import); export it again");
  }
}

}  // namespace

namespace {

template <typename From>
std::vector<std::string> KeptTexts(const From& from, int field) {
  std::vector<std::string> kept;
  const auto& unknown = from.GetReflection()->GetUnknownFields(from);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& one = unknown.field(i);
    if (one.number() == field && one.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      kept.push_back(one.length_delimited());
  }
  return kept;
}

template <typename Message>
std::vector<Message> Kept(const onnx::FunctionProto& function, int field) {
  std::vector<Message> kept;
  for (const std::string& text : KeptTexts(function, field)) {
    Message message;
    if (message.ParseFromString(text)) kept.push_back(std::move(message));
  }
  return kept;
}

}  // namespace

std::vector<onnx::AttributeProto> DefaultsOf(const onnx::FunctionProto& function) {
  return Kept<onnx::AttributeProto>(function, kDefaultsField);
}

std::vector<onnx::ValueInfoProto> HintsOf(const onnx::FunctionProto& function) {
  return Kept<onnx::ValueInfoProto>(function, kHintsField);
}

std::string NameInFile(const onnx::NodeProto& node) {
  const std::vector<std::string> kept = KeptTexts(node, kNodeNameField);
  return kept.empty() ? node.name() : kept.front();
}

onnx::ModelProto ReadModel(std::string_view content, const std::string& source) {
  const std::string skeleton = Skeleton(content, source).Copy();
  onnx::ModelProto model;
  if (skeleton.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !model.ParseFromArray(skeleton.data(), static_cast<int>(skeleton.size()))) {
    throw InputError(source + ": is no ONNX model: its fields are not those of one; export or copy it again");
  }
  if (!model.has_graph() || model.graph().output_size() == 0) {
    throw InputError(source + ": holds no graph with outputs; export the model again");
  }
  CheckOperatorSets(model, source);
  return model;
}

}  // namespace stowplan::scenarios::onnx_import
