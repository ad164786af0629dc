#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "scenarios/importers/trace.h"
#include "scenarios/importers/trace/convolutions.h"
#include "scenarios/importers/trace/host_order.h"
#include "scenarios/importers/trace/inputs.h"
#include "scenarios/importers/trace/kernel_classes.h"
#include "scenarios/importers/trace/kineto_graph.h"
#include "scenarios/importers/trace/nodes.h"
#include "scenarios/importers/trace/notes.h"
#include "scenarios/importers/trace/times.h"
#include "scenarios/importers/trace/types.h"
#include "sim/analysis/product_flops.h"
#include "sim/base/error.h"
#include "sim/formats/collectives.h"
#include "sim/formats/document/source.h"
#include "sim/formats/formats.h"

namespace stowplan::scenarios {
namespace {

// Tensors of a list that all updates of one call may share, as a step count is.
constexpr std::size_t kMostShared = 16;
// And of all its arguments, counted once for each update: the updates of a megabyte of lists would read gigabytes.
constexpr std::size_t kMostSharedReads = std::size_t{1} << 20;
// What all updates of one call have alike is written once and copied for each: names, devices, shapes [bytes, of a trace]. So much,
// or as much as the file where that is more: the tensors of an update alone take more there.
constexpr std::size_t kCopiesAlwaysAllowed = std::size_t{16} << 20;

constexpr const char* kForward = "forward";

using trace::kNoNode;
using trace::KnownType;
using trace::LocalName;
using trace::Node;
using trace::OutputOf;
using trace::PlainName;
using trace::Tensor;

// One op of the graph: a node, or its share where it is one call for a list of tensors.
struct Call {
  const Node* node = nullptr;
  std::vector<Tensor> inputs;
  std::set<std::int64_t> written;  // storages
  std::vector<Tensor> outputs;
  std::string suffix;
  double share = 1;
};

// What is known of one storage.
struct Storage {
  sim::TensorRef base;  // the output that it began as
  struct View {
    sim::TensorRef output;
    int version;
  };
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, View>
      views;        // by tensor, offset and elements
  int version = 0;  // counts writes
  sim::OpIndex writer = -1;
  std::vector<sim::OpIndex> readers;  // since the last write
};

class Builder {
 public:
  // `bytes`: of the file.
  Builder(const trace::ExecutionTrace& execution, const trace::Times* times, std::size_t bytes)
      : execution_(execution), times_(times), most_copied_(std::max(kCopiesAlwaysAllowed, bytes)) {}

  sim::OpGraph Build() {
    FindOps();
    for (std::size_t i = 0; i < execution_.nodes.size(); ++i) {
      if (op_[i] == kNoNode || op_[i] == i) Look(execution_.nodes[i]);
      if (op_[i] != i) continue;
      const bool is_view = IsView(execution_.nodes[i]);
      for (const Call& call : CallsOf(i)) AddOp(call, i, is_view);
    }
    ColocateWriters();
    for (const auto& [variable, leader] : variables_) evidence_.variables.insert(variable);
    seen_.variables = variables_.size();
    seen_.inputs = trace::TellInputs(evidence_, graph_);
    if (times_ != nullptr && !times_->correlation.work.empty()) FollowTimes();
    return std::move(graph_);
  }

  // Of the graph that was built.
  const trace::Seen& seen() const { return seen_; }

 private:
  void FollowTimes() {
    std::vector<std::ptrdiff_t> owner;
    for (const profiler::LinkedWork& linked : times_->correlation.work) {
      const std::size_t node = times_->NodeOf(linked);
      const std::size_t op = node == kNoNode ? kNoNode : op_[node];
      owner.push_back(op == kNoNode ? profiler::kNobody : static_cast<std::ptrdiff_t>(op));
    }
    node_of_.resize(graph_.ops.size(), profiler::kNobody);
    trace::FollowTimeline(trace::ReadTimeline(times_->trace, times_->correlation, owner), owner, node_of_,
                          graph_);
  }

  // ---- which nodes are ops

  // Sends tensors to other processes, or takes theirs; what it calls is how.
  static bool Communicates(const Node& node) {
    const bool is_collective =
        node.name.starts_with("c10d::") || node.name == "record_param_comms" ||
        (node.name.starts_with("_c10d_functional::") && node.name != "_c10d_functional::wait_tensor");
    return is_collective &&
           (!node.outputs.empty() ||
            std::ranges::any_of(node.inputs, [](const auto& argument) { return !argument.tensors.empty(); }));
  }

  // Shows what it was given, in another shape or as it is.
  static bool IsView(const Node& node) {
    if (!node.has_schema || node.outputs.empty() || Communicates(node) ||
        std::ranges::any_of(node.inputs, &trace::Argument::is_written))
      return false;
    std::unordered_set<std::int64_t> given;
    for (const trace::Argument& argument : node.inputs)
      for (const Tensor& input : argument.tensors) given.insert(input.storage);
    return std::ranges::all_of(node.outputs,
                               [&](const Tensor& output) { return given.contains(output.storage); });
  }

  bool IsOp(std::size_t i) const {
    const Node& node = execution_.nodes[i];
    const bool has_work = times_ != nullptr && times_->nodes[i].device_us > 0;
    if (Communicates(node)) return true;
    if (node.has_schema) return node.is_leaf || has_work || KnownType(node) || IsView(node);
    return node.is_leaf && (has_work || !node.outputs.empty());
  }

  void FindOps() {
    const auto& nodes = execution_.nodes;
    op_.assign(nodes.size(), kNoNode);
    phase_.assign(nodes.size(), kForward);
    device_of_.assign(nodes.size(), 0);
    tf32_of_.assign(nodes.size(), 0);
    in_f32_.assign(nodes.size(), false);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::size_t parent = nodes[i].parent;
      if (parent != kNoNode) phase_[i] = phase_[parent];
      if (nodes[i].name.starts_with("autograd::engine::evaluate_function")) phase_[i] = "backward";
      if (nodes[i].name.starts_with("Optimizer.step")) phase_[i] = "update";
      op_[i] = parent != kNoNode ? op_[parent] : kNoNode;
      if (op_[i] == kNoNode && IsOp(i)) op_[i] = i;
      if (op_[i] == kNoNode) continue;
      if (const trace::Argument* allowed = nodes[i].Find("allow_tf32"); allowed != nullptr)
        in_f32_[op_[i]] = allowed->numbers == std::vector<std::int64_t>{0};
      if (times_ != nullptr) {
        device_of_[op_[i]] += times_->nodes[i].device_us;
        tf32_of_[op_[i]] += times_->nodes[i].tf32_us - times_->nodes[i].f32_us;
      }
    }
  }

  // ---- calls

  // PyTorch's optimizers make one call for all weights, which are updated one by one all the same.
  static std::size_t Parts(const Node& node) {
    const std::string_view name = LocalName(node.name);
    const bool is_list_op = name.starts_with("_foreach_") || name.starts_with("_fused_");
    return is_list_op && !node.inputs.empty() && node.inputs[0].is_list ? node.inputs[0].tensors.size() : 1;
  }

  // Has one tensor for each update.
  static bool IsSplit(const trace::Argument& argument, std::size_t parts) {
    return parts > 1 && argument.is_list && argument.tensors.size() == parts;
  }

  // What the updates of a call have alike.
  void CountCopied(const Node& node, std::size_t parts) {
    std::size_t bytes = node.name.size();
    for (const trace::Argument& argument : node.inputs) {
      if (IsSplit(argument, parts)) continue;
      for (const Tensor& tensor : argument.tensors)
        bytes +=
            tensor.device.size() + tensor.type.size() + tensor.shape.size() * sizeof tensor.shape.front();
    }
    copied_ += parts * bytes;
    if (copied_ <= most_copied_) return;
    throw InputError(
        fmt::format("execution trace: node {} ({}) repeats {} bytes of its name, of devices and of shapes in "
                    "each of its {} updates; all updates of this trace may repeat {} MiB at most",
                    node.id, formats::Quoted(node.name), bytes, parts, most_copied_ >> 20));
  }

  std::vector<Call> CallsOf(std::size_t i) {
    const Node& node = execution_.nodes[i];
    const std::size_t parts = std::max<std::size_t>(Parts(node), 1);
    double all = 0;
    for (std::size_t part = 0; parts > 1 && part < parts; ++part)
      all += static_cast<double>(node.inputs[0].tensors[part].bytes());
    std::size_t shared = 0;
    for (const trace::Argument& argument : node.inputs) {
      if (!IsSplit(argument, parts)) shared += argument.tensors.size();
      if (parts > 1 && argument.tensors.size() != parts && argument.tensors.size() > kMostShared)
        throw InputError(fmt::format(
            "execution trace: node {} ({}) has lists of {} and of {} tensors, which do not go together",
            node.id, node.name, parts, argument.tensors.size()));
    }
    if (parts > 1 && shared > kMostSharedReads / parts) {
      throw InputError(fmt::format(
          "execution trace: node {} ({}) has {} tensors for each of its {} updates, which together "
          "may be at most 2^20",
          node.id, node.name, shared, parts));
    }
    if (parts > 1) CountCopied(node, parts);
    std::vector<Call> calls(parts);
    for (std::size_t part = 0; part < parts; ++part) {
      Call& call = calls[part];
      call.node = &node;
      for (const trace::Argument& argument : node.inputs) {
        const bool is_split = IsSplit(argument, parts);
        for (std::size_t t = is_split ? part : 0; t < (is_split ? part + 1 : argument.tensors.size()); ++t) {
          call.inputs.push_back(argument.tensors[t]);
          if (argument.is_written) call.written.insert(argument.tensors[t].storage);
        }
      }
      if (parts == 1) {
        call.outputs = node.outputs;
      } else {
        if (node.outputs.size() == parts) call.outputs = {node.outputs[part]};
        call.suffix = fmt::format(".{}", part);
        call.share = all > 0 ? static_cast<double>(node.inputs[0].tensors[part].bytes()) / all
                             : 1 / static_cast<double>(parts);
      }
      if (!node.has_schema || Communicates(node)) {  // what it gives back and was given, it has written
        std::unordered_set<std::int64_t> given_back;
        for (const Tensor& output : call.outputs) given_back.insert(output.storage);
        for (const Tensor& input : call.inputs)
          if (given_back.contains(input.storage)) call.written.insert(input.storage);
      }
      GiveBackWritten(call);
    }
    return calls;
  }

  // What it has written and does not give back: those behind it read that, not what was there before.
  static void GiveBackWritten(Call& call) {
    std::set<std::int64_t> missing = call.written;
    for (const Tensor& output : call.outputs) missing.erase(output.storage);
    for (const Tensor& input : call.inputs)
      if (missing.erase(input.storage) > 0) call.outputs.push_back(input);
  }

  // ---- tensors

  static auto KeyOf(const Tensor& tensor) { return std::tuple(tensor.id, tensor.offset, tensor.elements); }

  // What a node calls its tensors.
  void Look(const Node& node) {
    if (node.name == "torch::autograd::AccumulateGrad") {
      for (const trace::Argument& argument : node.inputs)
        for (const Tensor& tensor : argument.tensors) evidence_.gradients.insert(tensor.shape);
    }
    for (const trace::Argument& argument : node.inputs) {
      const trace::Role role = trace::RoleOf(node, argument);
      if (role == trace::Role::kNone) continue;
      for (const Tensor& tensor : argument.tensors) {
        const auto known = storages_.find(tensor.storage);
        if (known == storages_.end()) {
          expected_[tensor.storage] = role;
        } else {
          Called(RootOf(known->second.base), role);
        }
      }
    }
  }

  void Called(sim::OpIndex op, trace::Role role) {
    if (variables_.contains(op))
      (role == trace::Role::kWeight ? evidence_.weights : evidence_.data).insert(op);
  }

  // The variable that an output is a copy of, in another place or format; else the op that made it.
  sim::OpIndex RootOf(sim::TensorRef tensor) const {
    constexpr int kMostCopies = 8;
    for (int copies = 0; copies < kMostCopies && !variables_.contains(tensor.op); ++copies) {
      const sim::Op& op = graph_.ops[static_cast<std::size_t>(tensor.op)];
      if (op.type != "Cast" && op.type != "Assign" && op.type != "Reshape") break;
      if (op.inputs.empty()) break;
      tensor = op.inputs.back();  // behind what it is copied to
    }
    return tensor.op;
  }

  // What was there before the recording: weights, the optimizer's state, inputs.
  Storage& Found(const Tensor& tensor) {
    const auto [at, is_new] = storages_.try_emplace(tensor.storage);
    if (!is_new) return at->second;
    sim::Op op;
    op.name = fmt::format("tensor#{}", tensor.id);
    op.type = "Variable";
    op.phase = "forward";
    op.outputs = {OutputOf(tensor)};
    op.outputs.front().storage = sim::Output::Storage::kPersistent;
    op.persistent_bytes = (tensor.offset + tensor.elements) * tensor.element_bytes;
    op.attributes = {{"traced_on", {tensor.device}}};
    at->second.base = {graph_.size(), 0};
    at->second.views[KeyOf(tensor)] = {at->second.base, 0};
    variables_.emplace(at->second.base.op, at->second.base.op);
    if (const auto expected = expected_.find(tensor.storage); expected != expected_.end())
      Called(at->second.base.op, expected->second);
    // One id may have many storages.
    if (const int earlier = same_names_[op.name]++; earlier > 0) op.name += fmt::format("'{}", earlier + 1);
    while (!names_.insert(op.name).second) op.name += "'";
    graph_.ops.push_back(std::move(op));
    return at->second;
  }

  // The output that it is; `waits` gets the op that has written into its storage since.
  sim::TensorRef Read(const Tensor& tensor, std::vector<sim::OpIndex>& waits) {
    const Storage& storage = storages_.at(tensor.storage);
    const auto view = storage.views.find(KeyOf(tensor));
    const auto [output, version] =
        view != storage.views.end() ? view->second : Storage::View{storage.base, 0};
    if (view == storage.views.end() && variables_.contains(output.op)) Grow(output.op, tensor);
    if (version < storage.version) waits.push_back(storage.writer);
    return output;
  }

  // Another part of the same storage.
  void Grow(sim::OpIndex variable, const Tensor& tensor) {
    sim::Op& op = graph_.ops[static_cast<std::size_t>(variable)];
    op.persistent_bytes =
        std::max(op.persistent_bytes, (tensor.offset + tensor.elements) * tensor.element_bytes);
  }

  // ---- ops

  void AddOp(const Call& call, std::size_t i, bool is_view) {
    const Node& node = *call.node;
    if (is_view && device_of_[i] == 0 && ShowsTheSame(call)) return;
    for (const Tensor& input : call.inputs) Found(input);
    const sim::OpIndex index = graph_.size();
    sim::Op op;
    op.name = fmt::format("{}#{}{}", LocalName(node.name), node.id, call.suffix);
    op.type = TypeOf(node, is_view);
    std::vector<Tensor> inputs = call.inputs;
    const std::string_view name = PlainName(node.name);
    const bool is_bias_first = name == "addmm" || name == "baddbmm" || name == "addbmm" || name == "addmv";
    if (is_bias_first && inputs.size() > 1) std::rotate(inputs.begin(), inputs.begin() + 1, inputs.end());
    std::vector<sim::OpIndex> waits;
    for (const Tensor& input : inputs) op.inputs.push_back(Read(input, waits));
    op.phase = IsOfGradients(i, inputs, op) ? "update" : phase_[i];
    const bool on_gpu = AddOutputs(call, inputs, op);
    AddWaits(call, inputs, index, waits, op);
    op.attributes = trace::ConvolutionAttributes(node);
    op.attributes.emplace_back("torch_op", sim::Attribute{node.name});
    op.attributes.emplace_back("traced_on", sim::Attribute{on_gpu ? GpuOf(call) : "cpu"});
    if (Communicates(node)) AddCollective(call, i, op);
    if (!is_view) op.flops = FlopsOf(op, inputs);
    // Which of the two it is the framework decides, for each op.
    if (op.flops > 0 && (tf32_of_[i] != 0 || in_f32_[i]) && !inputs.empty() &&
        trace::DtypeOf(inputs.front().type) == "f32")
      op.attributes.emplace_back("tf32", sim::Attribute{tf32_of_[i] > 0});
    AddTime(call, i, is_view, on_gpu, op);
    node_of_.resize(graph_.ops.size(), profiler::kNobody);  // of variables
    node_of_.push_back(static_cast<std::ptrdiff_t>(i));
    graph_.ops.push_back(std::move(op));
    Remember(call, index);
  }

  // c10d's ops name what they fill before what they send. Where the process group records alone, what it calls has the name.
  void AddCollective(const Call& call, std::size_t i, sim::Op& op) const {
    std::string_view type = trace::CollectiveNamed(call.node->name);
    const bool calls = i + 1 < execution_.nodes.size() && execution_.nodes[i + 1].parent == i;
    if (type.empty() && calls) type = trace::CollectiveNamed(execution_.nodes[i + 1].name);
    if (type.empty()) return;
    trace::Collective collective{.type = std::string(type)};
    if (!call.inputs.empty()) collective.bytes = call.inputs.back().bytes();
    for (auto& attribute : trace::AttributesOf(collective)) op.attributes.push_back(std::move(attribute));
  }

  static double FlopsOf(const sim::Op& op, const std::vector<Tensor>& inputs) {
    std::vector<sim::Output> read;
    for (const Tensor& input : inputs) read.push_back(OutputOf(input));
    return sim::ProductFlops(op, read).value_or(0);
  }

  // Behind the backward pass, outside of the optimizer: clipping, scaling back, and what is done with the results.
  bool IsOfGradients(std::size_t i, const std::vector<Tensor>& inputs, const sim::Op& op) const {
    if (phase_[i] != kForward) return false;
    for (std::size_t input = 0; input < inputs.size(); ++input) {
      if (variables_.contains(storages_.at(inputs[input].storage).base.op)) continue;
      const std::string& phase = graph_.ops[static_cast<std::size_t>(op.inputs[input].op)].phase;
      if (phase == "backward" || phase == "update") return true;
    }
    return false;
  }

  std::string TypeOf(const Node& node, bool is_view) {
    if (is_view) return "Reshape";
    if (auto known = KnownType(node)) return std::move(*known);
    std::string type;
    std::string_view rest = node.name;
    for (std::size_t at; (at = rest.find("::")) != std::string_view::npos; rest.remove_prefix(at + 2))
      type.append(rest.substr(0, at)) += '.';
    type += rest;
    type = formats::NoCollective(type);
    ++(Communicates(node) ? seen_.collectives : seen_.unknown)[type];
    return type;
  }

  // aten::to, contiguous() and the like, where there is nothing to do.
  static bool ShowsTheSame(const Call& call) {
    std::set<decltype(KeyOf(call.outputs.front()))> given;
    for (const Tensor& input : call.inputs) given.insert(KeyOf(input));
    return std::ranges::all_of(call.outputs,
                               [&](const Tensor& output) { return given.contains(KeyOf(output)); });
  }

  static std::string GpuOf(const Call& call) {
    for (const auto* tensors : {&call.outputs, &call.inputs}) {
      for (const Tensor& tensor : *tensors) {
        if (tensor.device != "cpu") return tensor.device;
      }
    }
    return "gpu";
  }

  // Returns whether it ran on a GPU.
  bool AddOutputs(const Call& call, const std::vector<Tensor>& inputs, sim::Op& op) const {
    bool on_gpu = false;
    for (const auto* tensors : {&call.outputs, &inputs})
      for (const Tensor& tensor : *tensors) on_gpu = on_gpu || tensor.device != "cpu";
    std::unordered_map<std::int64_t, sim::TensorRef> first;  // input of a storage
    for (std::size_t input = 0; input < inputs.size(); ++input)
      first.emplace(inputs[input].storage, op.inputs[input]);
    for (const Tensor& tensor : call.outputs) {
      sim::Output output = OutputOf(tensor);
      if (const auto input = first.find(tensor.storage); input != first.end()) {
        output.storage = sim::Output::Storage::kInput;
        output.alias = input->second;
      }
      op.outputs.push_back(std::move(output));
    }
    return on_gpu;
  }

  void AddWaits(const Call& call, const std::vector<Tensor>& inputs, sim::OpIndex index,
                std::vector<sim::OpIndex>& waits, sim::Op& op) {
    for (const Tensor& input : inputs) {
      Storage& storage = storages_.at(input.storage);
      storage.readers.push_back(index);
      if (op.phase == "update" && variables_.contains(storage.base.op))
        evidence_.weights.insert(storage.base.op);
    }
    for (const std::int64_t written : call.written) {
      Storage& storage = storages_.at(written);
      std::ranges::copy_if(storage.readers, std::back_inserter(waits),
                           [&](auto reader) { return reader != index; });
      ++storage.version;
      storage.writer = index;
      storage.readers.clear();
      if (!variables_.contains(storage.base.op)) continue;
      writes_.emplace_back(index, storage.base.op);
      evidence_.written.insert(storage.base.op);
      if (op.phase == "backward") evidence_.weights.insert(storage.base.op);  // gradients are added to it
    }
    std::ranges::sort(waits);
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
    std::vector<sim::OpIndex> read;
    for (const sim::TensorRef& input : op.inputs) read.push_back(input.op);
    std::ranges::sort(read);
    std::ranges::set_difference(waits, read, std::back_inserter(op.control));
  }

  // Without what a view or an op of another kind of device costs the host, which cost models know as dispatch.
  void AddTime(const Call& call, std::size_t i, bool is_view, bool on_gpu, sim::Op& op) {
    if (times_ == nullptr) return;
    const trace::NodeTime& told = times_->nodes[i];
    if (!told.is_told && device_of_[i] == 0) {
      seen_.untimed += is_view ? 0 : 1;
      return;
    }
    if (is_view && device_of_[i] == 0) return;
    const double us = call.share * (on_gpu ? device_of_[i] : told.host_us);
    (on_gpu ? seen_.device_us : seen_.host_us) += us;
    op.cost_us_by_kind = {{on_gpu ? "gpu" : "cpu", us}};
  }

  void Remember(const Call& call, sim::OpIndex index) {
    std::unordered_set<std::int64_t> told;
    for (std::size_t o = 0; o < call.outputs.size(); ++o) {
      const Tensor& tensor = call.outputs[o];
      const sim::TensorRef output{index, static_cast<std::int32_t>(o)};
      const bool is_new = graph_.ops.back().outputs[o].storage == sim::Output::Storage::kOwn;
      // An address is used again: what is given out without having been given is a new storage.
      const bool is_first = told.insert(tensor.storage).second;
      if (is_new && is_first) expected_.erase(tensor.storage);
      if (is_new && is_first) storages_[tensor.storage] = {.base = output, .views = {}, .readers = {}};
      Storage& storage = storages_.at(tensor.storage);
      storage.views[KeyOf(tensor)] = {output, storage.version};
    }
  }

  // ---- variables

  sim::OpIndex Leader(sim::OpIndex variable) {
    for (sim::OpIndex* leader = &variables_.at(variable); *leader != variable;
         leader = &variables_.at(variable)) {
      *leader = variables_.at(*leader);
      variable = *leader;
    }
    return variable;
  }

  // What writes a variable is where it is; what writes two binds them.
  void ColocateWriters() {
    std::map<sim::OpIndex, sim::OpIndex> first;  // variable by writer
    for (const auto& [writer, variable] : writes_) {
      const auto [known, is_new] = first.emplace(writer, variable);
      if (!is_new) variables_[Leader(variable)] = Leader(known->second);
    }
    for (const auto& [writer, variable] : writes_) {
      const sim::OpIndex leader = Leader(variable);
      for (const sim::OpIndex op : {writer, variable})
        graph_.ops[static_cast<std::size_t>(op)].colocate = graph_.ops[static_cast<std::size_t>(leader)].name;
    }
  }

  const trace::ExecutionTrace& execution_;
  const trace::Times* times_;
  sim::OpGraph graph_;
  std::vector<std::ptrdiff_t> node_of_;  // of each op the node it is made of; kNobody: a variable
  std::vector<std::size_t> op_;          // of each node the op that it is part of
  std::vector<const char*> phase_;       // of each node
  std::vector<double> device_of_;        // of each op [us]
  std::vector<double> tf32_of_;          // likewise in TF32, less that in full f32
  std::vector<bool> in_f32_;             // of each op whether it must not run in TF32
  std::unordered_map<std::int64_t, Storage> storages_;
  std::unordered_map<sim::OpIndex, sim::OpIndex> variables_;   // each with one that it must be with
  std::vector<std::pair<sim::OpIndex, sim::OpIndex>> writes_;  // op, variable
  std::unordered_map<std::int64_t, trace::Role> expected_;     // of storages, before an op reads them
  trace::Evidence evidence_;
  std::set<std::string> names_;
  std::map<std::string, int> same_names_;
  const std::size_t most_copied_;
  std::size_t copied_ = 0;  // [bytes]
  trace::Seen seen_;
};

// Times of a GPU are those of a kind, if one is named.
void NameKind(const std::string& gpu, sim::OpGraph& graph) {
  if (gpu.empty()) return;
  for (sim::Op& op : graph.ops) {
    for (auto& [kind, us] : op.cost_us_by_kind) kind = kind == "gpu" ? gpu : kind;
  }
}

}  // namespace

bool RecognisesTrace(const std::string& content) {
  const auto has = [&](const char* text) { return content.find(text) != std::string::npos; };
  if (has("\"stowplan.") || !has("{")) return false;
  return (has("\"nodes\"") && has("\"rf_id\"")) || has("\"traceEvents\"");
}

ImportedGraph ImportTrace(const std::string& content, const std::string& source,
                          const ImportOptions& options) {
  const std::string kineto = options.kineto.empty() ? std::string() : formats::ReadFile(options.kineto);
  return ImportTracePair(content, source, kineto, options);
}

ImportedGraph ImportTracePair(const std::string& content, const std::string& source,
                              const std::string& kineto, const ImportOptions& options) {
  if (content.find("\"rf_id\"") == std::string::npos &&
      content.find("\"traceEvents\"") != std::string::npos) {
    if (!options.kineto.empty())
      throw InputError(source +
                       ": is a Kineto trace itself; --kineto goes with the execution trace of the same run "
                       "(torch.profiler.ExecutionTraceObserver)");
    ImportedGraph imported = trace::ReadKinetoGraph(content, source, options);
    NameKind(options.gpu, imported.graph);
    return imported;
  }
  const trace::ExecutionTrace execution = trace::ReadExecutionTrace(content, source);
  std::optional<trace::Times> times;
  if (!options.kineto.empty())
    times = trace::ReadTimes(kineto, formats::SourceOf(options.kineto), execution, source);
  Builder builder(execution, times ? &*times : nullptr, content.size());
  ImportedGraph imported;
  imported.graph = builder.Build();
  sim::OpGraph& graph = imported.graph;
  graph.name =
      formats::NameFromSource(source.ends_with(".gz") ? source.substr(0, source.size() - 3) : source);
  graph.attributes.emplace_back("captured_from", sim::Attribute{"torch execution trace " + execution.schema});
  if (times) {
    graph.attributes.emplace_back("traced_step_us", sim::Attribute{times->step_us});
    graph.attributes.emplace_back("traced_device_us", sim::Attribute{times->device_us});
  }
  NameKind(options.gpu, graph);
  imported.notes = trace::NotesOf(builder.seen(), execution, times ? &*times : nullptr, options);
  if (graph.ops.empty()) throw InputError(source + ": holds no op of PyTorch; record while the model runs");
  formats::CheckedAt(source, [&] { graph.Finish(); });
  return imported;
}

}  // namespace stowplan::scenarios
