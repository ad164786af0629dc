#include "scenarios/importers/onnx/model.h"

#include <cstdint>
#include <limits>
#include <optional>

#include <onnx/defs/schema.h>

#include "scenarios/importers/wire_format.h"
#include "sim/error.h"

namespace berth::scenarios::onnx_import {
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

constexpr int kDeepest = 100;  // protobuf's own limit

std::optional<Message> ChildOf(Message parent, std::uint32_t field) {
  for (const Child& row : kChildren) {
    if (row.parent == parent && row.field == field) return row.child;
  }
  return std::nullopt;
}

void AppendVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7F) | 0x80));
  out.push_back(static_cast<char>(value));
}

class Skeleton {
 public:
  Skeleton(std::string_view content, const std::string& source) : content_(content), source_(source) {}

  std::string Copy() const { return Copy(content_, Message::kModel, 0); }

 private:
  std::string Copy(std::string_view rest, Message message, int depth) const {
    std::string out;
    if (depth > kDeepest) Fail(rest, "messages are nested too deep");
    while (!rest.empty()) {
      const std::string_view at = rest;
      const auto field = TakeField(rest);
      if (!field) Fail(at, "what comes is no field or is cut off");
      if (message == Message::kTensor && field->wire_type == 2 && IsTensorData(field->number) &&
          field->body.size() > kLargestData) {
        continue;
      }
      const auto child = field->wire_type == 2 ? ChildOf(message, field->number) : std::nullopt;
      if (!child) {
        out += field->head;
        out += field->body;
        continue;
      }
      const std::string copied = Copy(field->body, *child, depth + 1);
      AppendVarint(out, std::uint64_t{field->number} << 3 | 2);
      AppendVarint(out, copied.size());
      out += copied;
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
    if (opset.version() < 1 || opset.version() > range->second.second) {
      throw InputError(source + ": asks for operator set " + std::to_string(opset.version()) + " of " +
                       (standard ? "ONNX" : opset.domain()) + ", but 1 to " +
                       std::to_string(range->second.second) +
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

}  // namespace berth::scenarios::onnx_import
