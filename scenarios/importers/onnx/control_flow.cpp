// Graphs inside graphs: If, Loop, Scan and the functions of a model.
#include <algorithm>

#include "scenarios/importers/onnx/model.h"
#include "scenarios/importers/onnx/resolver.h"

namespace stowplan::scenarios::onnx_import {
namespace {

// Copies of a function's nodes are larger than nodes in the file: beyond this they count as several.
constexpr std::size_t kBytesOfACopy = 1024;

constexpr int kDeepestCall = 64;  // functions may call functions, in a broken file without end

// A truth value or number where it is known.
std::optional<std::int64_t> Scalar(const TensorInfo& info) {
  if (info.value == nullptr || info.value->ints() == nullptr || info.value->ints()->size() != 1)
    return std::nullopt;
  return info.value->ints()->front();
}

}  // namespace

const onnx::GraphProto& Resolver::BodyOf(const onnx::NodeProto& node, const char* attribute,
                                         const Scope& scope) const {
  const auto* found = FindAttribute(node, attribute);
  if (found == nullptr || !found->has_g())
    Fail(node, std::string("has no graph '") + attribute + "'; export it again");
  if (scope.depth > kDeepestCall) Fail(node, "graphs are nested too deep");
  return found->g();
}

std::vector<TensorIndex> Resolver::WriteOut(const onnx::NodeProto& node, const onnx::GraphProto& body,
                                            const std::vector<TensorIndex>& arguments, const Scope& outer,
                                            const std::string& prefix) {
  const auto names = static_cast<std::size_t>(body.input_size() + body.output_size());
  CountVisits(node, names / kTensorsOfAVisit + (outer.prefix.size() + prefix.size()) / kBytesOfAVisit +
                        static_cast<std::size_t>(body.initializer_size()));
  if (static_cast<std::size_t>(body.input_size()) != arguments.size()) {
    Fail(node, "its graph has " + std::to_string(body.input_size()) + " inputs and gets " +
                   std::to_string(arguments.size()));
  }
  Scope scope{.outer = &outer,
              .prefix = outer.prefix + prefix,
              .opset = outer.opset,
              .depth = outer.depth + 1,
              .plan = &PlanOf(body),
              .tensors = {}};
  for (int i = 0; i < body.input_size(); ++i) {
    Bind(node, body.input(i).name(), arguments[static_cast<std::size_t>(i)], scope);
  }
  AddWeights(body, scope);
  ResolveNodes(body.node(), scope);
  std::vector<TensorIndex> outputs;
  for (const auto& output : body.output()) outputs.push_back(Lookup(node, output.name(), scope));
  return outputs;
}

void Resolver::ResolveIf(const onnx::NodeProto& node, const std::vector<TensorIndex>& inputs, Scope& scope) {
  const auto& then_branch = BodyOf(node, "then_branch", scope);
  const auto& else_branch = BodyOf(node, "else_branch", scope);
  if (inputs.size() != 1 || inputs[0] == kAbsent) Fail(node, "has no condition");
  const auto condition = Scalar(Info(inputs[0]));
  const auto write = [&](const onnx::GraphProto& branch) {
    auto outputs = WriteOut(node, branch, {}, scope, NameOf(node) + "/");
    const bool tensors = std::find(outputs.begin(), outputs.end(), kAbsent) == outputs.end();
    if (!tensors || static_cast<int>(outputs.size()) < node.output_size())
      Fail(node, "its branch has too few outputs");
    return outputs;
  };
  std::vector<TensorIndex> taken;
  if (condition) {
    taken = write(*condition != 0 ? then_branch : else_branch);
  } else {
    const auto shapes_of = [&](const std::vector<TensorIndex>& outputs) {
      Shapes shapes;
      for (const TensorIndex output : outputs) shapes.push_back(Info(output).shape);
      return shapes;
    };
    // The other branch is written out for its shapes, then forgotten.
    const std::size_t tensors = result_.tensors.size();
    const std::size_t nodes = result_.nodes.size();
    const std::size_t notes = result_.notes.size();
    const Shapes other = shapes_of(write(else_branch));
    result_.tensors.resize(tensors);
    result_.nodes.resize(nodes);
    result_.notes.resize(notes);
    for (; !newest_weights_.empty(); newest_weights_.pop_back()) {
      const auto newest = weights_.find(newest_weights_.back());
      if (static_cast<std::size_t>(newest->second) < tensors) break;
      weights_.erase(newest);
    }

    taken = write(then_branch);
    if (shapes_of(taken) != other) {
      Fail(node,
           "which branch is taken depends on data, and they give different shapes; export the model for one "
           "of them");
    }
    result_.notes.push_back("node '" + NameOf(node) +
                            "' (If): which branch is taken depends on data; the then-branch is");
  }
  for (int i = 0; i < node.output_size(); ++i) {
    Bind(node, node.output(i), taken[static_cast<std::size_t>(i)], scope);
  }
}

void Resolver::ResolveLoop(const onnx::NodeProto& node, const std::vector<TensorIndex>& inputs,
                           Scope& scope) {
  const auto& body = BodyOf(node, "body", scope);
  if (inputs.size() < 2) Fail(node, "has no trip count and condition");
  const auto trips = inputs[0] != kAbsent ? Scalar(Info(inputs[0])) : std::nullopt;
  const bool endless = inputs[0] == kAbsent;  // until the condition fails
  std::vector<TensorIndex> state(inputs.begin() + 2, inputs.end());
  if (std::find(state.begin(), state.end(), kAbsent) != state.end())
    Fail(node, "an initial value is left out");
  const int collected = body.output_size() - 1 - static_cast<int>(state.size());
  if (collected < 0) Fail(node, "its body has too few outputs");

  std::optional<std::int64_t> goes_on =
      inputs[1] != kAbsent ? Scalar(Info(inputs[1])) : std::optional<std::int64_t>(1);
  bool may_end_earlier = false;
  std::vector<std::vector<TensorIndex>> parts(static_cast<std::size_t>(collected));
  for (std::int64_t trip = 0; !trips || trip < *trips; ++trip) {
    if (goes_on && *goes_on == 0) break;
    if (!trips && (!endless || !goes_on)) {
      Fail(node, "how often its body runs depends on data; export with a fixed number of trips");
    }
    CountVisits(node, 1);
    may_end_earlier = may_end_earlier || !goes_on;
    std::vector<TensorIndex> arguments = {AddConstant(trip, onnx::TensorProto::INT64),
                                          AddConstant(1, onnx::TensorProto::BOOL)};
    arguments.insert(arguments.end(), state.begin(), state.end());
    const auto outputs =
        WriteOut(node, body, arguments, scope, NameOf(node) + "/" + std::to_string(trip) + "/");
    if (std::find(outputs.begin(), outputs.end(), kAbsent) != outputs.end())
      Fail(node, "its body leaves an output out");
    goes_on = Scalar(Info(outputs[0]));
    const auto behind = outputs.begin() + 1 + static_cast<std::ptrdiff_t>(state.size());
    std::copy(outputs.begin() + 1, behind, state.begin());
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i].push_back(behind[static_cast<std::ptrdiff_t>(i)]);
  }
  if (may_end_earlier) {
    result_.notes.push_back("node '" + NameOf(node) + "' (Loop): its condition depends on data; all " +
                            std::to_string(*trips) + " trips are counted");
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    const auto at = static_cast<std::size_t>(i);
    if (at >= state.size() + parts.size()) Fail(node, "has more outputs than its body");
    Bind(node, node.output(i), at < state.size() ? state[at] : Pack(node, parts[at - state.size()], 0, scope),
         scope);
  }
}

void Resolver::ResolveScan(const onnx::NodeProto& node, const std::vector<TensorIndex>& inputs,
                           Scope& scope) {
  const auto& body = BodyOf(node, "body", scope);
  const auto scanned =
      static_cast<std::size_t>(std::max<std::int64_t>(0, IntAttribute(node, "num_scan_inputs", 0)));
  const bool all_there = std::find(inputs.begin(), inputs.end(), kAbsent) == inputs.end();
  if (scope.opset < 9)
    Fail(node, "is of operator set 8, which is not imported; export with a later opset_version");
  if (scanned == 0 || scanned > inputs.size() || !all_there) Fail(node, "has no inputs to scan");
  std::vector<TensorIndex> state(inputs.begin(), inputs.end() - static_cast<std::ptrdiff_t>(scanned));
  if (body.output_size() < static_cast<int>(state.size())) Fail(node, "its body has too few outputs");

  const auto axis_of = [&](const char* attribute, std::size_t i, std::size_t rank) {
    const auto axes = IntsAttribute(node, attribute);
    std::int64_t axis = i < axes.size() ? axes[i] : 0;
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank))
      Fail(node, std::string(attribute) + " are out of range");
    return static_cast<std::size_t>(axis);
  };
  std::vector<std::vector<TensorIndex>> slices;
  for (std::size_t i = 0; i < scanned; ++i) {
    const TensorIndex whole = inputs[state.size() + i];
    slices.push_back(Unpack(node, whole, axis_of("scan_input_axes", i, Info(whole).shape.size()), scope));
    if (slices[i].size() != slices[0].size()) Fail(node, "scans inputs of different lengths");
  }
  std::vector<std::vector<TensorIndex>> parts(static_cast<std::size_t>(body.output_size()) - state.size());
  for (std::size_t trip = 0; trip < slices[0].size(); ++trip) {
    std::vector<TensorIndex> arguments = state;
    for (const auto& slice : slices) arguments.push_back(slice[trip]);
    const auto outputs =
        WriteOut(node, body, arguments, scope, NameOf(node) + "/" + std::to_string(trip) + "/");
    if (std::find(outputs.begin(), outputs.end(), kAbsent) != outputs.end())
      Fail(node, "its body leaves an output out");
    std::copy_n(outputs.begin(), state.size(), state.begin());
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i].push_back(outputs[state.size() + i]);
  }
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    const auto at = static_cast<std::size_t>(i);
    if (at >= state.size() + parts.size()) Fail(node, "has more outputs than its body");
    if (at < state.size()) {
      Bind(node, node.output(i), state[at], scope);
      continue;
    }
    const auto& collected = parts[at - state.size()];
    const std::size_t rank = collected.empty() ? 1 : Info(collected[0]).shape.size() + 1;
    Bind(node, node.output(i),
         Pack(node, collected, axis_of("scan_output_axes", at - state.size(), rank), scope), scope);
  }
}

TensorIndex Resolver::Pack(const onnx::NodeProto& node, const std::vector<TensorIndex>& parts,
                           std::size_t axis, const Scope& scope) {
  if (parts.empty()) Fail(node, "its body never runs, so that what it collects has no shape");
  const Shape& part = Info(parts[0]).shape;
  const bool alike =
      std::all_of(parts.begin(), parts.end(), [&](TensorIndex p) { return Info(p).shape == part; });
  if (!alike)
    Fail(node, "what it collects changes its shape from trip to trip; export the model without this loop");
  Shape shape = part;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<std::int64_t>(parts.size()));
  auto& made = result_.made.emplace_back();
  made.set_op_type("Pack");
  made.set_domain(kOwnDomain);
  made.set_name(NameOf(node) + "/pack");
  const TensorIndex packed =
      Add({.name = made.name(), .elem_type = Info(parts[0]).elem_type, .shape = shape, .value = nullptr},
          PlaceOf(node));
  result_.nodes.push_back({scope.prefix + made.name(), "", &made, true, parts, {packed}});
  return packed;
}

std::vector<TensorIndex> Resolver::Unpack(const onnx::NodeProto& node, TensorIndex whole, std::size_t axis,
                                          const Scope& scope) {
  Shape shape = Info(whole).shape;
  const std::int64_t count = shape[axis];
  if (count < 1 || count > 1 << 16)
    Fail(node, "scans " + std::to_string(count) + " slices, but 1 to 65536 are imported");
  CountVisits(node, count);
  CountAxes(node, static_cast<std::size_t>(count) * shape.size());
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  auto& made = result_.made.emplace_back();
  made.set_op_type("Unpack");
  made.set_domain(kOwnDomain);
  made.set_name(NameOf(node) + "/unpack");
  std::vector<TensorIndex> slices;
  for (std::int64_t i = 0; i < count; ++i) {
    slices.push_back(
        Add({.name = made.name(), .elem_type = Info(whole).elem_type, .shape = shape, .value = nullptr},
            PlaceOf(node)));
  }
  result_.nodes.push_back({scope.prefix + made.name(), "", &made, true, {whole}, slices});
  return slices;
}

const onnx::FunctionProto* Resolver::FindFunction(const onnx::NodeProto& node) const {
  const auto found = functions_.find({node.domain(), node.op_type()});
  return found != functions_.end() ? found->second : nullptr;
}

void Resolver::CallFunction(const onnx::NodeProto& node, const onnx::FunctionProto& function,
                            const std::vector<TensorIndex>& inputs, Scope& caller) {
  if (caller.depth > kDeepestCall) Fail(node, "functions are nested too deep, or call themselves");
  const auto [plan, fresh] = plans_.try_emplace(&function);
  if (fresh) {
    plan->second.order = OrderOf(function.node(), source_);
    plan->second.defaults = DefaultsOf(function);
    CheckAttributes(node, static_cast<int>(plan->second.defaults.size()));
    plan->second.types = HintsOf(function);
    for (const auto& info : plan->second.types) plan->second.hints.emplace(info.name(), &info.type());
    plan->second.formals.insert(function.input().begin(), function.input().end());
  }
  Scope scope{.outer = nullptr,
              .prefix = caller.prefix + NameOf(node) + "/",
              .opset = caller.opset,
              .depth = caller.depth + 1,
              .plan = &plan->second,
              .tensors = {}};
  for (const auto& opset : function.opset_import()) {
    if (opset.domain().empty() || opset.domain() == "ai.onnx")
      scope.opset = static_cast<int>(opset.version());
  }
  if (static_cast<int>(inputs.size()) > function.input_size())
    Fail(node, "gives its function too many inputs");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != kAbsent) Bind(node, function.input(static_cast<int>(i)), inputs[i], scope);
  }
  for (const int i : scope.plan->order) {
    CheckAttributes(node, function.node(i).attribute_size());
    CountVisits(node, function.node(i).SpaceUsedLong() / kBytesOfACopy);
    // Attributes that stand for the caller's.
    onnx::NodeProto& inner = result_.made.emplace_back(function.node(i));
    auto& attributes = *inner.mutable_attribute();
    for (int a = attributes.size(); a-- > 0;) {
      if (attributes[a].ref_attr_name().empty()) continue;
      const auto* given = FindAttribute(node, attributes[a].ref_attr_name());
      for (const auto& fallback : scope.plan->defaults) {
        if (given == nullptr && fallback.name() == attributes[a].ref_attr_name()) given = &fallback;
      }
      if (given == nullptr) {
        attributes.DeleteSubrange(a, 1);
      } else {
        const std::string name = attributes[a].name();
        attributes[a] = *given;
        attributes[a].set_name(name);
      }
    }
    // An input that the caller left out.
    for (auto& name : *inner.mutable_input()) {
      if (scope.plan->formals.contains(name) && Find(name, scope) == kAbsent) name.clear();
    }
    ResolveNode(inner, scope);
  }
  for (int i = 0; i < std::min(node.output_size(), function.output_size()); ++i) {
    const TensorIndex given = Find(function.output(i), scope);
    if (given == kAbsent) Fail(node, "its function does not give output '" + function.output(i) + "'");
    Bind(node, node.output(i), given, caller);
  }
}

}  // namespace stowplan::scenarios::onnx_import
