#include "scenarios/importers/onnx/resolve.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "scenarios/importers/onnx/resolver.h"
#include "sim/error.h"
#include "sim/spec.h"
#include "sim/units.h"

namespace berth::scenarios::onnx_import {
namespace {

// Loops are written out; what grows beyond this was not meant to be.
constexpr std::int64_t kMostVisits = 2'000'000;
// Reals that decide shapes: the scales of a Resize.
constexpr std::size_t kMostReals = 64;

// The names that a node reads, those that its subgraphs read included.
void AddNamesRead(const onnx::NodeProto& node, std::vector<std::string>& names) {
  names.insert(names.end(), node.input().begin(), node.input().end());
  const auto add_graph = [&](const onnx::GraphProto& graph) {
    for (const auto& inner : graph.node()) AddNamesRead(inner, names);
    for (const auto& output : graph.output()) names.push_back(output.name());
  };
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) add_graph(attribute.g());
    for (const auto& graph : attribute.graphs()) add_graph(graph);
  }
}

// The first line, without the marks that the library puts before it.
std::string PlainReason(const std::string& what) {
  std::string text = what.substr(0, what.find('\n'));
  for (const char* mark : {"[ShapeInferenceError] ", "[TypeInferenceError] "}) {
    if (const auto at = text.find(mark); at != std::string::npos) text.erase(at, std::string(mark).size());
  }
  return text;
}

std::string AxisName(const std::string& tensor, std::size_t axis) {
  return tensor + ":" + std::to_string(axis);
}

}  // namespace

std::string NameOf(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  const auto named =
      std::find_if(node.output().begin(), node.output().end(), [](const auto& o) { return !o.empty(); });
  return named != node.output().end() ? *named : node.op_type();
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
  double bytes = static_cast<double>(BytesPerElement(dtype));
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

// ---- inputs and weights

Shape Resolver::InputShape(const onnx::ValueInfoProto& input, std::vector<std::string>& missing) {
  const auto& type = input.type().tensor_type();
  if (!input.type().has_tensor_type() || !type.has_shape()) {
    throw InputError(source_ + ": input '" + input.name() +
                     "' is no tensor with a shape; export the model with the shapes of its inputs");
  }
  Shape shape;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(type.shape().dim_size()); ++axis) {
    const auto& dim = type.shape().dim(static_cast<int>(axis));
    const std::string place = AxisName(input.name(), axis);
    const std::string name = dim.dim_param().empty() ? place : dim.dim_param();
    // Exporters write 0 or -1 for what they do not know.
    if (dim.has_dim_value() && dim.dim_value() > 0) {
      shape.push_back(dim.dim_value());
      continue;
    }
    dims_known_.insert(name);
    const auto given = dims_.contains(place) ? dims_.find(place) : dims_.find(name);
    if (given == dims_.end()) {
      const std::string text =
          "'" + name + "' (axis " + std::to_string(axis) + " of input " + input.name() + ")";
      if (std::find_if(missing.begin(), missing.end(),
                       [&](const auto& m) { return m.starts_with("'" + name + "'"); }) == missing.end()) {
        missing.push_back(text);
      }
      shape.push_back(1);
      continue;
    }
    dims_used_.insert(given->first);
    result_.dims[name] = given->second;
    shape.push_back(given->second);
  }
  return shape;
}

void Resolver::AddInputs(Scope& scope) {
  std::vector<std::string> missing;
  for (const auto& input : model_.graph().input()) {
    if (scope.tensors.contains(input.name())) continue;  // with an initializer as its default
    TensorInfo info{.name = input.name(),
                    .kind = TensorInfo::Kind::kInput,
                    .elem_type = input.type().tensor_type().elem_type(),
                    .shape = InputShape(input, missing),
                    .value = nullptr};
    const TensorIndex added = Add(std::move(info), source_);
    scope.tensors.emplace(input.name(), added);
    result_.inputs.push_back(added);
  }
  if (!missing.empty()) {
    const std::string first = missing.front().substr(1, missing.front().find('\'', 1) - 1);
    throw InputError(source_ + ": " + (missing.size() == 1 ? "the dimension " : "the dimensions ") +
                     JoinNames(missing) + (missing.size() == 1 ? " has" : " have") +
                     " no value; give each with --dim, for example --dim " + first + "=8");
  }
}

void Resolver::AddWeights(const onnx::GraphProto& graph, Scope& scope) {
  if (graph.sparse_initializer_size() > 0) {
    throw InputError(source_ + ": initializer '" + graph.sparse_initializer(0).values().name() +
                     "' is sparse, which is not imported; export it as a dense tensor");
  }
  for (const auto& weight : graph.initializer()) {
    const auto [known, fresh] = weights_.emplace(&weight, kAbsent);
    if (fresh) {
      TensorInfo info{.name = weight.name(),
                      .kind = TensorInfo::Kind::kWeight,
                      .elem_type = weight.data_type(),
                      .shape = {weight.dims().begin(), weight.dims().end()},
                      .value = ValueOf(weight)};
      if (info.value != nullptr && info.value->reals() != nullptr &&
          info.value->reals()->size() > kMostReals) {
        info.value = nullptr;
      }
      known->second = Add(std::move(info), source_);
    }
    if (!scope.tensors.emplace(weight.name(), known->second).second) {
      throw InputError(source_ + ": two initializers are named '" + weight.name() +
                       "'; export the model again");
    }
  }
}

// ---- order

void Resolver::FailOnCycle(const Nodes& nodes, const std::vector<std::vector<int>>& producers,
                           const std::vector<int>& missing) const {
  const auto stuck = [&](int node) { return missing[static_cast<std::size_t>(node)] > 0; };
  int at = static_cast<int>(std::find_if(missing.begin(), missing.end(), [](int m) { return m > 0; }) -
                            missing.begin());
  std::vector<int> path;
  while (std::find(path.begin(), path.end(), at) == path.end()) {
    path.push_back(at);
    const auto& before = producers[static_cast<std::size_t>(at)];
    at = *std::find_if(before.begin(), before.end(), stuck);
  }
  constexpr std::ptrdiff_t kMostShown = 8;
  const auto begin = std::find(path.begin(), path.end(), at);
  std::string text = "'" + NameOf(nodes[at]) + "'";
  for (auto i = begin + 1; i < path.end() && i - begin < kMostShown; ++i) {
    text = "'" + NameOf(nodes[*i]) + "' -> " + text;
  }
  throw InputError(source_ + ": the nodes '" + NameOf(nodes[at]) + "' -> " +
                   (path.end() - begin > kMostShown ? "... -> " : "") + text +
                   " form a cycle; a model must have none");
}

Plan Resolver::MakePlan(const Nodes& nodes) const {
  const auto count = static_cast<std::size_t>(nodes.size());
  std::unordered_map<std::string, int> producer;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const auto& output : nodes[i].output()) {
      if (!output.empty()) producer.emplace(output, i);  // a second one is refused when it is bound
    }
  }
  std::vector<std::vector<int>> producers(count);
  std::vector<std::vector<int>> readers(count);
  std::vector<int> missing(count, 0);
  for (int i = 0; i < nodes.size(); ++i) {
    std::vector<std::string> names;
    AddNamesRead(nodes[i], names);
    for (const auto& name : names) {
      const auto found = producer.find(name);
      if (found == producer.end()) continue;
      // A subgraph names its own tensors too, which may not be those of this graph.
      const bool direct =
          std::find(nodes[i].input().begin(), nodes[i].input().end(), name) != nodes[i].input().end();
      if (found->second == i && !direct) continue;
      producers[static_cast<std::size_t>(i)].push_back(found->second);
      readers[static_cast<std::size_t>(found->second)].push_back(i);
      ++missing[static_cast<std::size_t>(i)];
    }
  }
  Plan plan;
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i) {
    if (missing[i] == 0) ready.push(static_cast<int>(i));
  }
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    plan.order.push_back(node);
    for (const int reader : readers[static_cast<std::size_t>(node)]) {
      if (--missing[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
    }
  }
  if (plan.order.size() != count) FailOnCycle(nodes, producers, missing);
  return plan;
}

const Plan& Resolver::PlanOf(const onnx::GraphProto& graph) {
  const auto [known, fresh] = plans_.try_emplace(&graph);
  if (fresh) {
    known->second = MakePlan(graph.node());
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

void Resolver::ResolveNode(const onnx::NodeProto& node, Scope& scope) {
  if (++visits_ > kMostVisits) {
    Fail(node, "with it, loops are written out to more than " + std::to_string(kMostVisits) +
                   " nodes; export with shorter ones");
  }
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
  for (const TensorIndex input : inputs) infos.push_back(input == kAbsent ? nullptr : &Info(input));
  const auto folded = Fold(node, scope.opset, infos);
  if (!folded) return false;
  ++folded_;
  for (std::size_t i = 0; i < folded->size(); ++i) {
    const Folded& output = (*folded)[i];
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

void Resolver::AddStep(const onnx::NodeProto& node, const std::vector<TensorIndex>& inputs, Scope& scope) {
  std::vector<const TensorInfo*> infos;
  for (const TensorIndex input : inputs) infos.push_back(input == kAbsent ? nullptr : &Info(input));
  std::vector<InferredOutput> inferred;
  try {
    inferred = InferOutputs(node, scope.opset, infos);
  } catch (const std::exception& error) {
    Fail(node, "contradicts the rules of its op: " + PlainReason(error.what()) + "; export the model again");
  }
  Step step{.name = scope.prefix + NameOf(node),
            .node = &node,
            .standard = IsStandard(node, scope.opset),
            .inputs = inputs,
            .outputs = {}};
  const bool constant = node.op_type() == "Constant" && step.standard;
  const int first_type =
      !infos.empty() && infos[0] != nullptr ? infos[0]->elem_type : 0;  // before tensors move
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string& name = node.output(i);
    const InferredOutput& output = inferred[static_cast<std::size_t>(i)];
    if (name.empty()) {
      step.outputs.push_back(kAbsent);
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
    TensorInfo info{.name = name,
                    .kind = constant ? TensorInfo::Kind::kConstant : TensorInfo::Kind::kComputed,
                    .elem_type = elem_type,
                    .shape = CompleteShape(node, name, output, inputs, scope),
                    .value = nullptr};
    step.outputs.push_back(Add(std::move(info), PlaceOf(node)));
    Bind(node, name, step.outputs.back(), scope);
  }
  if (!constant) result_.steps.push_back(std::move(step));
}

// ---- the whole

void Resolver::DropUnused() {
  std::vector<bool> needed(result_.tensors.size(), false);
  for (const TensorIndex output : result_.outputs) needed[static_cast<std::size_t>(output)] = true;
  std::vector<Step> kept;
  for (auto step = result_.steps.rbegin(); step != result_.steps.rend(); ++step) {
    const bool used = std::any_of(step->outputs.begin(), step->outputs.end(), [&](TensorIndex output) {
      return output != kAbsent && needed[static_cast<std::size_t>(output)];
    });
    if (!used) continue;
    for (const TensorIndex input : step->inputs) {
      if (input != kAbsent) needed[static_cast<std::size_t>(input)] = true;
    }
    kept.push_back(std::move(*step));
  }
  const std::size_t dropped = result_.steps.size() - kept.size();
  std::reverse(kept.begin(), kept.end());
  result_.steps = std::move(kept);
  if (folded_ > 0) {
    result_.notes.push_back(std::to_string(folded_) +
                            " nodes that work out constants and shapes were evaluated");
  }
  if (dropped > 0)
    result_.notes.push_back(std::to_string(dropped) + " nodes that lead to no output were left out");
}

void Resolver::CheckDimsUsed() const {
  for (const auto& [name, value] : dims_) {
    if (dims_used_.contains(name)) continue;
    const std::vector<std::string> known(dims_known_.begin(), dims_known_.end());
    throw InputError(source_ + ": --dim " + name + "=" + std::to_string(value) +
                     ": the model has no such dimension without a value" +
                     (known.empty() ? "; its inputs have none" : "; its inputs have " + JoinNames(known)));
  }
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

}  // namespace berth::scenarios::onnx_import
