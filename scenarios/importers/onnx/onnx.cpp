#include "scenarios/importers/onnx.h"

#include <map>
#include <utility>

#include "scenarios/builder/workload_options.h"
#include "scenarios/importers/onnx/lower.h"
#include "scenarios/importers/onnx/model.h"
#include "scenarios/importers/onnx/resolve.h"
#include "scenarios/onnx_files/node_memory.h"
#include "sim/base/error.h"
#include "sim/base/spec.h"
#include "sim/formats/document/source.h"
#include "sim/formats/formats.h"

namespace stowplan::scenarios {
namespace {

using onnx_import::Lowering;
using onnx_import::ResolvedModel;
using onnx_import::TensorIndex;

std::map<std::string, std::int64_t> DimsOf(const ImportOptions& options) {
  std::map<std::string, std::int64_t> dims;
  for (const auto& [name, size] : options.dims) {
    if (size < 1)
      throw InputError("--dim " + name + "=" + std::to_string(size) + ": a dimension is at least 1");
    if (!dims.emplace(name, size).second) throw InputError("--dim " + name + ": is given twice");
  }
  return dims;
}

// A loss stands on the model: its own where its first output that can be trained is one, else a softmax
// cross-entropy over the last axis of that output.
std::string AddLoss(const ResolvedModel& model, Lowering& lowering, GraphBuilder& builder,
                    const std::string& source) {
  for (const TensorIndex output : model.outputs) {
    const Tensor tensor = lowering.Of(output);
    if (!builder.requires_gradient(tensor)) continue;
    const std::string& name = lowering.Info(output).name;
    const Shape shape = builder.shape(tensor);
    if (shape.size() < 2) {
      builder.Minimise(tensor);
      return "output '" + name + "' is minimised";
    }
    const Shape rows(shape.begin(), shape.end() - 1);
    const Tensor labels = builder.Placeholder(lowering.Unique("loss/labels"), rows, "i32");
    const std::string dtype = builder.dtype(tensor);
    builder.Minimise(builder.Append({.type = "SoftmaxCrossEntropyWithLogits",
                                     .name = lowering.Unique("loss"),
                                     .inputs = {tensor, labels},
                                     .outputs = {{rows, dtype}, {shape, dtype}}}));
    return "a softmax cross-entropy over the last axis of output '" + name + "' is minimised";
  }
  throw InputError(source + ": --training: no output is of floating numbers and depends on a weight");
}

sim::Attributes Describe(const onnx::ModelProto& model, const ResolvedModel& resolved,
                         const ImportOptions& options, const Lowering& lowering) {
  sim::Attributes attributes;
  AddAttribute(attributes, "imported_from", std::string("onnx"));
  if (!model.producer_name().empty()) {
    AddAttribute(attributes, "producer",
                 onnx_import::PlainText(model.producer_name() + " " + model.producer_version()));
  }
  AddAttribute(attributes, "mode", std::string(options.training.empty() ? "inference" : "training"));
  if (!options.training.empty()) AddAttribute(attributes, "optimizer", options.training);
  sim::Attribute::Object dims;
  for (const auto& [name, size] : resolved.dims)
    dims.emplace_back(onnx_import::PlainText(name), sim::Attribute{size});
  if (!dims.empty()) AddAttribute(attributes, "dims", std::move(dims));
  sim::Attribute::Object guessed;
  for (const auto& [type, use] : lowering.guessed()) guessed.emplace_back(type, sim::Attribute{use.ops});
  if (!guessed.empty()) AddAttribute(attributes, "unknown_ops", std::move(guessed));
  return attributes;
}

// What is priced by its bytes alone is said, with its share of the bytes of all outputs.
void ReportGuessed(const Lowering& lowering, const sim::OpGraph& graph, bool strict,
                   const std::string& source, std::vector<std::string>& notes) {
  double forward_bytes = 0;
  for (const sim::Op& op : graph.ops) {
    if (op.phase != "forward" || op.IsSource()) continue;
    for (const sim::Output& output : op.outputs) {
      if (output.storage == sim::Output::Storage::kOwn) forward_bytes += static_cast<double>(output.bytes);
    }
  }
  std::vector<std::string> texts;
  for (const auto& [type, use] : lowering.guessed()) {
    const double percent = forward_bytes > 0 ? 100 * use.bytes / forward_bytes : 0;
    std::string share = std::to_string(percent);
    share.resize(share.find('.') + 2);
    texts.push_back(type + " (" + std::to_string(use.ops) + (use.ops == 1 ? " op, " : " ops, ") + share +
                    " % of the bytes of all outputs)");
  }
  if (texts.empty()) return;
  if (strict)
    throw InputError(source + ": --strict: it is not known what these ops cost: " + JoinNames(texts));
  notes.push_back("not known, priced by the bytes they move alone: " + JoinNames(texts));
}

ImportedGraph Import(const std::string& content, const std::string& source, const ImportOptions& options) {
  const auto dims = DimsOf(options);
  if (!options.memory.empty() && !options.training.empty()) {
    throw InputError(
        "--memory-stats: ONNX Runtime measured an inference; leave out --training, or measured memory");
  }
  BuilderOptions builder_options{.training = !options.training.empty()};
  if (builder_options.training) builder_options.optimizer = OptimizerNamed(options.training, "--training");
  const onnx::ModelProto model = onnx_import::ReadModel(content, source);
  const ResolvedModel resolved = onnx_import::Resolve(model, source, dims);
  GraphBuilder builder(formats::NameFromSource(source), builder_options);
  Lowering lowering(resolved, builder);
  lowering.Run();
  ImportedGraph imported{.graph = {}, .notes = resolved.notes};
  if (resolved.nodes.empty()) {
    throw InputError(source + ": nothing is left to run once its constants are folded");
  }
  if (builder.training()) imported.notes.push_back(AddLoss(resolved, lowering, builder, source));
  imported.graph = builder.Finish(Describe(model, resolved, options, lowering));
  ReportGuessed(lowering, imported.graph, options.strict, source, imported.notes);
  for (std::string& note : imported.notes) note = onnx_import::PlainText(note);
  return imported;
}

}  // namespace

ImportedGraph ImportOnnx(const std::string& content, const std::string& source,
                         const ImportOptions& options) {
  ImportedGraph imported;
  try {
    imported = Import(content, source, options);
  } catch (const InputError& error) {
    // Names in a broken file may hold anything; a refusal is one line and says where.
    std::string text = onnx_import::PlainText(error.what());
    if (!text.starts_with(source) && !text.starts_with("--")) text.insert(0, source + ": ");
    throw InputError(text);
  }
  if (options.memory.empty()) return imported;
  const std::string measured = formats::SourceOf(options.memory);
  for (std::string& note : TakeNodeMemory(
           imported.graph, content, ParseNodeMemory(formats::ReadFile(options.memory), measured), measured))
    imported.notes.push_back(std::move(note));
  return imported;
}

}  // namespace stowplan::scenarios
