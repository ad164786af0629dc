#include "scenarios/importers/onnx/resolver.h"

#include <algorithm>
#include <utility>

#include "scenarios/importers/onnx/model.h"
#include "scenarios/importers/onnx/order.h"
#include "sim/base/error.h"
#include "sim/base/spec.h"
#include "sim/base/units.h"

namespace stowplan::scenarios::onnx_import {
namespace {

// Loops are written out. What grows beyond this, or beyond one for so many bytes of the model where that is more, was not meant
// to be: a visit becomes an op of up to 2 kB, and what is made of an op takes 10 us.
constexpr std::int64_t kVisitsAlwaysAllowed = std::int64_t{1} << 18, kBytesForAVisit = 4;
// Of constants that are worked out: up to half a GiB of them, and seconds. Where not all that a node reads is known, nothing is
// worked out; handing what is known to the library costs that much less.
constexpr std::int64_t kMostFoldWork = std::int64_t{1} << 26, kReadsOfAFold = 16;

constexpr std::size_t kMostAxes = 64;  // NumPy's limit
constexpr int kMostAttributes = 256;

// [numbers x axes]
std::int64_t WorkOf(const ValuePtr& value) {
  if (value == nullptr) return 0;
  const std::size_t numbers = std::visit([](const auto& data) { return data.size(); }, value->data);
  return static_cast<std::int64_t>(numbers * std::max<std::size_t>(value->shape.size(), 1));
}

// The first line, without the marks that the library puts before it.
std::string PlainReason(const std::string& what) {
  std::string text = what.substr(0, what.find('\n'));
  for (const char* mark : {"[ShapeInferenceError] ", "[TypeInferenceError] "}) {
    if (const auto at = text.find(mark); at != std::string::npos) text.erase(at, std::string(mark).size());
  }
  return text;
}

}  // namespace

Resolver::Resolver(const onnx::ModelProto& model, const std::string& source,
                   const std::map<std::string, std::int64_t>& dims)
    : model_(model),
      source_(source),
      dims_(dims),
      most_visits_(
          std::max(kVisitsAlwaysAllowed, static_cast<std::int64_t>(model.ByteSizeLong()) / kBytesForAVisit)) {
  for (const auto& function : model.functions())
    functions_.try_emplace({function.domain(), function.name()}, &function);
}

std::string Resolver::PlaceOf(const onnx::NodeProto& node) const {
  return source_ + ": node '" + NameOf(node) + "' (" + (node.domain().empty() ? "" : node.domain() + ".") +
         node.op_type() + ")";
}

void Resolver::Fail(const onnx::NodeProto& node, const std::string& what) const {
  throw InputError(PlaceOf(node) + ": " + what);
}

TensorIndex Resolver::Add(TensorInfo info, const std::string& place) {
  const std::string dtype = DtypeOf(info.elem_type);
  const std::string tensor = place + ": tensor '" + info.name + "' ";
  if (dtype.empty()) {
    throw InputError(tensor +
                     "holds neither plain numbers nor truth values, so that its size is not known; "
                     "cut the model before it");
  }
  if (info.shape.size() > kMostAxes) {
    throw InputError(tensor + "has " + std::to_string(info.shape.size()) + " axes, but may have at most " +
                     std::to_string(kMostAxes) + "; check the shapes of the model");
  }
  double bytes = static_cast<double>(BitsPerElement(dtype)) / 8;
  for (const std::int64_t dim : info.shape) {
    if (dim < 0) throw InputError(tensor + "has the negative dimension " + std::to_string(dim));
    bytes *= static_cast<double>(dim);
  }
  // A zero among huge dimensions leaves a product that overflows on the way.
  const bool huge =
      std::any_of(info.shape.begin(), info.shape.end(), [](std::int64_t d) { return d > sim::kMaxBytes; });
  if (huge || bytes > static_cast<double>(sim::kMaxBytes)) {
    throw InputError(tensor + "is larger than 2^50 bytes; check the dimensions of the model");
  }
  result_.tensors.push_back(std::move(info));
  return static_cast<TensorIndex>(result_.tensors.size()) - 1;
}

TensorIndex Resolver::AddConstant(std::int64_t number, int elem_type) {
  Value value{{}, std::vector<std::int64_t>{number}};
  return Add({.name = "constant",
              .kind = TensorInfo::Kind::kConstant,
              .elem_type = elem_type,
              .shape = {},
              .value = std::make_shared<const Value>(std::move(value))},
             source_);
}

TensorIndex Resolver::Find(const std::string& name, const Scope& scope) const {
  for (const Scope* at = &scope; at != nullptr; at = at->outer) {
    if (const auto found = at->tensors.find(name); found != at->tensors.end()) return found->second;
    if (const auto found = at->shapeless.find(name); found != at->shapeless.end())
      throw InputError(found->second);
  }
  return kAbsent;
}

TensorIndex Resolver::Lookup(const onnx::NodeProto& node, const std::string& name, const Scope& scope) const {
  const TensorIndex found = name.empty() ? kAbsent : Find(name, scope);
  if (found == kAbsent && !name.empty()) {
    Fail(node, "reads '" + name + "', which no node, input or initializer gives; export the model again");
  }
  return found;
}

void Resolver::Bind(const onnx::NodeProto& node, const std::string& name, TensorIndex tensor,
                    Scope& scope) const {
  if (name.empty()) return;
  if (!scope.tensors.emplace(name, tensor).second) {
    Fail(node, "gives '" + name + "', which something else gives too; in ONNX every tensor has one origin");
  }
}

const Plan& Resolver::PlanOf(const onnx::GraphProto& graph) {
  const auto [known, fresh] = plans_.try_emplace(&graph);
  if (fresh) {
    known->second.order = OrderOf(graph.node(), source_);
    for (const auto& list : {&graph.value_info(), &graph.output()}) {
      for (const auto& info : *list) known->second.hints.emplace(info.name(), &info.type());
    }
  }
  return known->second;
}

// ---- nodes

void Resolver::ResolveNodes(const Nodes& nodes, Scope& scope) {
  for (const int i : scope.plan->order) ResolveNode(nodes[i], scope);
}

void Resolver::CountVisits(const onnx::NodeProto& node, std::size_t visits) {
  visits_ += static_cast<std::int64_t>(visits);
  if (visits_ > most_visits_) {
    Fail(node, "with it, loops are written out to more than " + std::to_string(most_visits_) +
                   " nodes; export with shorter ones");
  }
}

void Resolver::CountAxes(const onnx::NodeProto& node, std::size_t axes) {
  CountVisits(node, axes * sizeof(std::int64_t) / kBytesOfAVisit);
}

void Resolver::CountFoldWork(const onnx::NodeProto& node, std::int64_t work) {
  fold_work_ += work;
  if (fold_work_ > kMostFoldWork) {
    Fail(
        node,
        "with it, the constants of the model take more than 2^26 numbers to work out; export with large ones "
        "as initializers");
  }
}

void Resolver::CheckAttributes(const onnx::NodeProto& node, int attributes) const {
  if (attributes <= kMostAttributes) return;
  Fail(node, "has " + std::to_string(attributes) + " attributes, or its function has, but at most " +
                 std::to_string(kMostAttributes) + " are imported; export the model again");
}

void Resolver::ResolveNode(const onnx::NodeProto& node, Scope& scope) {
  const auto tensors = static_cast<std::size_t>(node.input_size() + node.output_size());
  CountVisits(node, 1 + tensors / kTensorsOfAVisit);
  // The nodes of the graph itself are written out once: the size of the file bounds them.
  if (scope.depth > 0) CountVisits(node, (scope.prefix.size() + node.ByteSizeLong()) / kBytesOfAVisit);
  CheckAttributes(node, node.attribute_size());
  std::vector<TensorIndex> inputs;
  for (const auto& name : node.input()) inputs.push_back(Lookup(node, name, scope));
  if (const auto* function = FindFunction(node)) return CallFunction(node, *function, inputs, scope);
  if (node.domain().empty() || node.domain() == "ai.onnx") {
    if (node.op_type() == "Identity" && inputs.size() == 1 && node.output_size() == 1 &&
        inputs[0] != kAbsent) {
      return Bind(node, node.output(0), inputs[0], scope);
    }
    if (node.op_type() == "If") return ResolveIf(node, inputs, scope);
    if (node.op_type() == "Loop") return ResolveLoop(node, inputs, scope);
    if (node.op_type() == "Scan") return ResolveScan(node, inputs, scope);
  }
  if (!TryFold(node, inputs, scope)) AddStep(node, inputs, scope);
}

bool Resolver::TryFold(const onnx::NodeProto& node, const std::vector<TensorIndex>& inputs, Scope& scope) {
  std::vector<const TensorInfo*> infos;
  std::int64_t read = 0;
  bool all_known = true;
  for (const TensorIndex input : inputs) {
    infos.push_back(input == kAbsent ? nullptr : &Info(input));
    if (input == kAbsent) continue;
    all_known = all_known && Info(input).value != nullptr;
    read += WorkOf(Info(input).value);
  }
  CountFoldWork(node, all_known ? read : read / kReadsOfAFold);
  const auto folded = Fold(node, scope.opset, infos);
  if (!folded) return false;
  ++folded_;
  for (std::size_t i = 0; i < folded->size(); ++i) {
    const Folded& output = (*folded)[i];
    CountFoldWork(node, WorkOf(output.value));
    const std::string& name = node.output(static_cast<int>(i));
    Bind(node, name,
         Add({.name = name,
              .kind = TensorInfo::Kind::kConstant,
              .elem_type = output.elem_type,
              .shape = output.value->shape,
              .value = output.value},
             PlaceOf(node)),
         scope);
  }
  return true;
}

void Resolver::FailOnMissing(const onnx::NodeProto& node, const std::string& name,
                             const std::vector<std::size_t>& axes,
                             const std::vector<TensorIndex>& inputs) const {
  std::vector<std::string> options;
  for (const std::size_t axis : axes) options.push_back("--dim " + AxisName(name, axis) + "=N");
  const std::string give =
      options.empty() ? "; give all its dimensions, with --dim " + AxisName(name, 0) + "=N and so on"
                      : "; give " + std::string(axes.size() > 1 ? "upper bounds" : "an upper bound") +
                            " with " + JoinNames(options);
  for (const TensorIndex input : inputs) {
    if (input == kAbsent) continue;
    const TensorInfo& info = Info(input);
    const bool data = info.kind == TensorInfo::Kind::kWeight || info.kind == TensorInfo::Kind::kConstant;
    if (data && info.value == nullptr && !IsFloating(DtypeOf(info.elem_type))) {
      Fail(node, "the shape of its output '" + name + "' depends on the values of '" + info.name +
                     "', which are not in the file (external data, or more than 64 KiB)" + give +
                     ", or export with small tensors inside the file");
    }
  }
  if (!IsStandard(node, model_opset_)) {
    Fail(node, "the op is not known, and the file does not say the shape of its output '" + name +
                   "'; export with the shapes of all tensors in value_info, or give them with --dim " +
                   AxisName(name, 0) + "=N and so on");
  }
  Fail(node, "the shape of its output '" + name + "' depends on data" + give);
}

Shape Resolver::CompleteShape(const onnx::NodeProto& node, const std::string& name,
                              const InferredOutput& inferred, const std::vector<TensorIndex>& inputs,
                              const Scope& scope) {
  const auto hint = scope.plan->hints.find(name);
  const bool has_hint = hint != scope.plan->hints.end() && hint->second->tensor_type().has_shape();
  const auto* said = has_hint ? &hint->second->tensor_type().shape() : nullptr;
  std::size_t rank = 0;
  if (inferred.dims) {
    rank = inferred.dims->size();
  } else if (said != nullptr) {
    rank = static_cast<std::size_t>(said->dim_size());
  } else {
    while (dims_.contains(AxisName(name, rank))) ++rank;
    const bool unknown = !IsStandard(node, scope.opset);
    if (rank == 0 && unknown && !inputs.empty() && inputs[0] != kAbsent) {
      assumed_.insert((node.domain().empty() ? "" : node.domain() + ".") + node.op_type());
      return Info(inputs[0]).shape;
    }
    if (rank == 0) FailOnMissing(node, name, {}, inputs);
  }
  Shape shape;
  std::vector<std::size_t> missing;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    std::optional<std::int64_t> dim = inferred.dims ? (*inferred.dims)[axis] : std::nullopt;
    const auto use = [&](const std::string& key) {
      const auto given = dims_.find(key);
      if (given == dims_.end()) return;
      dim = given->second;
      dims_used_.insert(key);
      result_.dims[key] = given->second;
    };
    if (!dim) use(AxisName(name, axis));
    if (!dim && said != nullptr && static_cast<int>(axis) < said->dim_size()) {
      const auto& hinted = said->dim(static_cast<int>(axis));
      if (hinted.has_dim_value() && hinted.dim_value() > 0) dim = hinted.dim_value();
      if (!hinted.dim_param().empty()) use(hinted.dim_param());
    }
    if (!dim) missing.push_back(axis);
    shape.push_back(dim.value_or(1));
  }
  if (!missing.empty()) FailOnMissing(node, name, missing, inputs);
  return shape;
}

// Nothing where only somebody who reads it would have to know: exporters name masks and statistics that nobody reads.
std::optional<Shape> Resolver::ShapeOfOutput(const onnx::NodeProto& node, int i,
                                             const InferredOutput& inferred,
                                             const std::vector<TensorIndex>& inputs, Scope& scope) {
  const std::string& name = node.output(i);
  if (i == 0) return CompleteShape(node, name, inferred, inputs, scope);
  try {
    return CompleteShape(node, name, inferred, inputs, scope);
  } catch (const InputError& error) {
    scope.shapeless.emplace(name, error.what());
    return std::nullopt;
  }
}

void Resolver::AddStep(const onnx::NodeProto& node, const std::vector<TensorIndex>& inputs, Scope& scope) {
  std::vector<const TensorInfo*> infos;
  for (const TensorIndex input : inputs) infos.push_back(input == kAbsent ? nullptr : &Info(input));
  std::vector<InferredOutput> inferred;
  try {
    inferred = InferOutputs(node, scope.opset, infos);
  } catch (const std::exception& error) {
    Fail(node, "contradicts the rules of its op: " + PlainReason(error.what()) + "; export the model again");
  }
  ResolvedNode resolved{.name = scope.prefix + NameOf(node),
                        .node_name = "",
                        .proto = &node,
                        .standard = IsStandard(node, scope.opset),
                        .inputs = inputs,
                        .outputs = {}};
  if (scope.outer == nullptr && scope.prefix.empty()) {
    resolved.node_name = NameInFile(node);
    for (int i = 0; i < node.output_size() && resolved.node_name.empty(); ++i)
      resolved.node_name = node.output(i);
  }
  const bool constant = node.op_type() == "Constant" && resolved.standard;
  std::size_t axes = 0;
  const int first_type =
      !infos.empty() && infos[0] != nullptr ? infos[0]->elem_type : 0;  // before tensors move
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string& name = node.output(i);
    const InferredOutput& output = inferred[static_cast<std::size_t>(i)];
    if (name.empty()) {
      resolved.outputs.push_back(kAbsent);
      continue;
    }
    if (!output.is_tensor) {
      Fail(node, "its output '" + name +
                     "' is a sequence, a map or an optional, and only tensors are followed; "
                     "export without it");
    }
    const auto hint = scope.plan->hints.find(name);
    int elem_type = output.elem_type;
    if (elem_type == 0 && hint != scope.plan->hints.end())
      elem_type = hint->second->tensor_type().elem_type();
    if (elem_type == 0) elem_type = first_type;
    const std::optional<Shape> shape = ShapeOfOutput(node, i, output, inputs, scope);
    if (!shape) {
      resolved.outputs.push_back(kAbsent);
      continue;
    }
    TensorInfo info{.name = name,
                    .kind = constant ? TensorInfo::Kind::kConstant : TensorInfo::Kind::kComputed,
                    .elem_type = elem_type,
                    .shape = *shape,
                    .value = nullptr};
    axes += info.shape.size();
    resolved.outputs.push_back(Add(std::move(info), PlaceOf(node)));
    Bind(node, name, resolved.outputs.back(), scope);
  }
  if (scope.depth > 0) CountAxes(node, axes);
  if (!constant) result_.nodes.push_back(std::move(resolved));
}

// ---- the whole

void Resolver::DropUnused() {
  std::vector<bool> needed(result_.tensors.size(), false);
  for (const TensorIndex output : result_.outputs) needed[static_cast<std::size_t>(output)] = true;
  std::vector<ResolvedNode> kept;
  for (auto node = result_.nodes.rbegin(); node != result_.nodes.rend(); ++node) {
    const bool used = std::any_of(node->outputs.begin(), node->outputs.end(), [&](TensorIndex output) {
      return output != kAbsent && needed[static_cast<std::size_t>(output)];
    });
    if (!used) continue;
    for (const TensorIndex input : node->inputs) {
      if (input != kAbsent) needed[static_cast<std::size_t>(input)] = true;
    }
    kept.push_back(std::move(*node));
  }
  const std::size_t dropped = result_.nodes.size() - kept.size();
  std::reverse(kept.begin(), kept.end());
  result_.nodes = std::move(kept);
  if (folded_ > 0) {
    result_.notes.push_back(std::to_string(folded_) +
                            " nodes that work out constants and shapes were evaluated");
  }
  if (!assumed_.empty()) {
    result_.notes.push_back(
        "not known, and the file does not say their shapes, taken for those of their first input: " +
        JoinNames({assumed_.begin(), assumed_.end()}) +
        "; export with the shapes of all tensors in value_info");
  }
  if (dropped > 0)
    result_.notes.push_back(std::to_string(dropped) + " nodes that lead to no output were left out");
}

ResolvedModel Resolver::Run() {
  Scope scope;
  for (const auto& opset : model_.opset_import()) {
    if (opset.domain().empty() || opset.domain() == "ai.onnx")
      scope.opset = static_cast<int>(opset.version());
  }
  model_opset_ = scope.opset;
  scope.plan = &PlanOf(model_.graph());
  AddWeights(model_.graph(), scope);
  AddInputs(scope);
  ResolveNodes(model_.graph().node(), scope);
  for (const auto& output : model_.graph().output()) {
    const TensorIndex found = Find(output.name(), scope);
    if (found == kAbsent) {
      throw InputError(source_ + ": output '" + output.name() +
                       "' is given by no node, input or initializer; export the model again");
    }
    result_.outputs.push_back(found);
  }
  CheckDimsUsed();
  DropUnused();
  return std::move(result_);
}

ResolvedModel Resolve(const onnx::ModelProto& model, const std::string& source,
                      const std::map<std::string, std::int64_t>& dims) {
  return Resolver(model, source, dims).Run();
}

}  // namespace stowplan::scenarios::onnx_import
