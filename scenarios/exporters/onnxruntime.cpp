// ONNX Runtime's layer annotations (1.25 or newer): nodes carry `layer_ann` in their metadata, here the name of a device, and
// the session option `session.layer_assignment_settings` says which provider takes which. A session has one provider of a
// kind, so one GPU beside the CPU is all that can be said.
#include <string_view>

#include <fmt/format.h>

#include "scenarios/exporters/placed_modules.h"
#include "scenarios/exporters/placed_onnx.h"
#include "scenarios/onnx_files/onnx_nodes.h"
#include "scenarios/onnx_files/wire_format.h"
#include "sim/base/error.h"
#include "sim/formats/document/json_text.h"
#include "sim/formats/formats.h"

namespace stowplan::scenarios {
namespace {

constexpr const char* kKey = "layer_ann";
// Fields of onnx.proto: ModelProto.graph, GraphProto.node, NodeProto.output, .name and .metadata_props.
constexpr std::uint32_t kGraph = 7, kNode = 1, kNodeOutput = 2, kNodeName = 3, kMetadata = 9;

const sim::Device& DeviceOf(const ExportInput& input, std::size_t op) {
  return input.problem.cluster().devices[static_cast<std::size_t>(input.placement.device[op])];
}

// The GPU and the CPU in use; -1 = none.
struct Providers {
  sim::DeviceIndex gpu = -1;
  sim::DeviceIndex cpu = -1;
};

Providers FindProviders(const ExportInput& input, const char* name) {
  const sim::Cluster& cluster = input.problem.cluster();
  Providers providers;
  for (const sim::DeviceIndex device : input.placement.device) {
    sim::DeviceIndex& one = GpuNumber(cluster, device) >= 0 ? providers.gpu : providers.cpu;
    if (one >= 0 && one != device) {
      throw InputError(
          fmt::format("{}: the placement uses {} and {}, but a session has one GPU and one CPU; give one of "
                      "each as --devices.",
                      name, cluster.devices[static_cast<std::size_t>(one)].name,
                      cluster.devices[static_cast<std::size_t>(device)].name));
    }
    one = device;
  }
  return providers;
}

std::string Settings(const ExportInput& input, const Providers& providers) {
  const sim::Cluster& cluster = input.problem.cluster();
  std::string text;
  if (providers.gpu >= 0) {
    text = fmt::format("gpu:{}(={})", GpuNumber(cluster, providers.gpu),
                       cluster.devices[static_cast<std::size_t>(providers.gpu)].name);
  }
  if (providers.cpu >= 0) {
    text += fmt::format("{}cpu(={})", text.empty() ? "" : "; ",
                        cluster.devices[static_cast<std::size_t>(providers.cpu)].name);
  }
  return text;
}

class Annotator {
 public:
  explicit Annotator(const ExportInput& input) : input_(input), ops_(input.problem.graph()) {}

  // Everything but the nodes' metadata stays as it stands, byte for byte.
  std::string Model(std::string_view model) {
    return Rewrite(model, kGraph, [this](std::string_view graph) {
      return Rewrite(graph, kNode, [this](std::string_view node) { return Node(node); });
    });
  }
  std::int64_t annotated() const { return annotated_; }
  std::int64_t without() const { return without_; }

 private:
  template <typename Change>
  std::string Rewrite(std::string_view message, std::uint32_t number, const Change& change) {
    std::string out;
    out.reserve(message.size() + message.size() / 8);
    while (!message.empty()) {
      const auto field = TakeField(message);
      if (!field) throw InputError(input_.graph_file + ": is cut off or no ONNX model");
      if (field->number == number && field->wire_type == 2) {
        AppendField(out, number, change(field->body));
      } else {
        out += field->head;
        out += field->body;
      }
    }
    return out;
  }

  std::string Node(std::string_view node) {
    std::string name;
    std::string output;
    std::string out;
    for (std::string_view rest = node; !rest.empty();) {
      const auto field = TakeField(rest);
      if (!field) throw InputError(input_.graph_file + ": is cut off or no ONNX model");
      if (field->number == kNodeName) name = std::string(field->body);
      if (field->number == kNodeOutput && output.empty()) output = std::string(field->body);
      if (field->number == kMetadata && IsAnnotation(field->body)) continue;
      out += field->head;
      out += field->body;
    }
    const auto op = ops_.Take(name.empty() ? output : name);
    if (!op) {
      ++without_;
      return out;
    }
    ++annotated_;
    std::string entry;
    AppendField(entry, 1, kKey);
    AppendField(entry, 2, DeviceOf(input_, *op).name);
    AppendField(out, kMetadata, entry);
    return out;
  }

  static bool IsAnnotation(std::string_view entry) {
    const auto key = TakeField(entry);
    return key && key->number == 1 && key->body == kKey;
  }

  const ExportInput& input_;
  OpsByNode ops_;
  std::int64_t annotated_ = 0;
  std::int64_t without_ = 0;
};

}  // namespace

Exported ExportOnnxRuntime(const ExportInput& input) {
  RefuseTraining(input, "onnxruntime");
  const Providers providers = FindProviders(input, "onnxruntime");
  const sim::Cluster& cluster = input.problem.cluster();
  std::string text = "{\n  \"session_options\": {\"session.layer_assignment_settings\": " +
                     formats::JsonString(Settings(input, providers)) + "},\n  \"providers\": [";
  if (providers.gpu >= 0) {
    text += fmt::format("[\"CUDAExecutionProvider\", {{\"device_id\": {}}}], ",
                        GpuNumber(cluster, providers.gpu));
  }
  text += "[\"CPUExecutionProvider\", {}]],\n  \"layer_ann\": {";
  const char* separator = "\n    ";
  for (std::size_t i = 0; i < input.problem.graph().ops.size(); ++i) {
    const sim::Op& op = input.problem.graph().ops[i];
    if (op.IsSource()) continue;
    text +=
        separator + formats::JsonString(NodeNameOf(op)) + ": " + formats::JsonString(DeviceOf(input, i).name);
    separator = ",\n    ";
  }
  return {
      .text = text + "\n  }\n}\n",
      .notes = {
          "layer annotations are read by ONNX Runtime 1.25 or newer; --to onnxruntime-model writes them into "
          "the model"}};
}

Exported ExportOnnxRuntimeModel(const ExportInput& input) {
  RefuseTraining(input, "onnxruntime-model");
  const Providers providers = FindProviders(input, "onnxruntime-model");
  const std::string model = ReadPlacedOnnx(input, "onnxruntime-model");
  Annotator annotator(input);
  Exported exported = {.text = annotator.Model(model), .notes = {}};
  if (annotator.annotated() == 0) {
    throw InputError(
        fmt::format("onnxruntime-model: no node of {} has the name of an op, so none can be annotated; name "
                    "its nodes and place it "
                    "anew.",
                    input.graph_file));
  }
  exported.notes.push_back(fmt::format("session.layer_assignment_settings = {}", Settings(input, providers)));
  if (annotator.without() > 0) {
    exported.notes.push_back(
        fmt::format("{} of {} nodes carry no annotation, as they are no op here (constants, shapes, or "
                    "without a name); ONNX Runtime "
                    "places them",
                    annotator.without(), annotator.without() + annotator.annotated()));
  }
  return exported;
}

}  // namespace stowplan::scenarios
