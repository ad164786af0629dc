// Builds whole training graphs from their forward part.
//
// A workload adds forward ops to a tape, in an order in which they could run. Finish() appends
// - backward ops in reverse order, by one rule per op type (gradients.cpp): one op per input gradient and per
//   weight gradient, each reading just the tensors that its rule needs;
// - an AddN where a tensor has several consumers (there and then) or a weight several uses (after the whole
//   sweep): the gradient of a weight that is used T times is T tensors, all alive until one AddN sums them.
//   They set the peak of memory of every unrolled recurrent model (docs/protocol_rules.md#memory);
// - an update per variable, colocated with it, that waits for the backward ops that still read the variable.
// So file order is an order in which one device could run the step; `dispatch: {order: program}` does.
//
// Memory: a variable holds its bytes x (1 + slots of the optimizer) for the whole run (inference: no
// slots); gradients are ordinary tensors. Views (Reshape) share their input's storage. Ops that frameworks
// run in place (ReLU, bias-add, scale, mask-add) share it too where that is correct: nobody else, forward or
// backward, reads the input or anything that already shares its storage, and it is no variable, constant or
// placeholder.
//
// Not thread-safe; one builder makes one graph. What a caller of the builder gets wrong aborts (STOWPLAN_CHECK),
// except an op type without a gradient rule and more than kMostOps ops, which a model file or a parameter can
// bring along: InputErrors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::scenarios {

using Tensor = sim::TensorRef;
using Shape = std::vector<std::int64_t>;
std::int64_t Elements(const Shape& shape);
inline std::size_t At(sim::OpIndex op) {
  return static_cast<std::size_t>(op);
}
inline bool IsUpdate(const sim::Op& op) {
  return op.phase == "update";
}
// Of "f32", "f16", "i64", "i4", "bool", …; 0 if the name is not known.
std::int64_t BitsPerElement(std::string_view dtype);
// Elements of less than a byte are packed.
sim::Bytes BytesOf(const Shape& shape, std::string_view dtype);
bool IsFloating(std::string_view dtype);

enum class Optimizer : std::uint8_t { kSgd, kMomentum, kAdam, kRmsProp };
int Slots(Optimizer optimizer);               // words an optimizer keeps beside each weight: 0, 1, 2, 2
const char* UpdateType(Optimizer optimizer);  // "ApplyAdam", …

// kFused: one op for each op of the model's mathematics. kUnfused: as a framework holds it (unfused.h).
enum class Granularity : std::uint8_t { kFused, kUnfused };

struct BuilderOptions {
  bool training = true;  // false: forward ops only
  Optimizer optimizer = Optimizer::kSgd;
  bool colocate_gradients = false;  // every backward op on the device of its forward op
  std::int32_t framework_ops = 1;   // of every fused op: see workload_options.h
  Granularity granularity = Granularity::kFused;
};

// Sizes multiply (layers x steps, layers x experts); what grows beyond this was not meant to be.
inline constexpr std::size_t kMostOps = 2'000'000;
// Before one more op is added to a graph that is being built. Throws InputError.
void CheckNumberOfOps(const sim::OpGraph& graph, std::size_t most = kMostOps);

// Where an op stands in the model: what experts and groupers read. Written as attributes `stage`, `branch` and `reached`
// and as `group`; backward ops inherit those of their forward op, updates those of their variable.
struct Location {
  int stage = -1;          // LSTM layer or vision block, from 0; -1 = none
  int branch = -1;         // parallel path inside the block, from 0; -1 = none
  std::string group = {};  // name of the stage
  double reached = 1;      // share of steps in which the op runs: an expert that no token goes to does not
  bool is_issued = true;   // costs the host thread; so many of the experts as are reached on average
};
sim::Attributes LocationAttributes(const Location& location);

// `value`: bool, std::int64_t, double, std::string or a list.
template <typename T>
void AddAttribute(sim::Attributes& attributes, const std::string& key, T value) {
  sim::Attribute attribute;
  attribute.value = std::move(value);
  attributes.emplace_back(key, std::move(attribute));
}

struct TensorSpec {
  Shape shape;
  std::string dtype = "f32";
};

struct OpSpec {
  std::string type;
  std::string name;  // under the current scopes
  std::vector<Tensor> inputs;
  std::vector<TensorSpec> outputs;
  double flops = 0;                 // 2 x multiply-adds of contractions
  sim::Attributes attributes = {};  // backward ops inherit them
  int view_of = -1;                 // output 0 is the storage of this input (Reshape)
  int in_place = -1;                // output 0 may take over the storage of this input
  int colocate_with = -1;           // on the device of this input, a variable or state
};

class GraphBuilder {
 public:
  GraphBuilder(std::string name, const BuilderOptions& options);

  bool training() const { return options_.training; }

  // Prefixes names with "name/" while it lives.
  class Scope {
   public:
    Scope(GraphBuilder& builder, std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    GraphBuilder& builder_;
    std::size_t length_before_;
  };

  // Of the ops that follow.
  void SetLocation(Location location) { location_ = std::move(location); }
  void SetBranch(int branch) { location_.branch = branch; }
  void SetReached(double reached, bool is_issued = true) {
    location_.reached = reached;
    location_.is_issued = is_issued;
  }

  Tensor Placeholder(const std::string& name, const Shape& shape, const std::string& dtype = "f32");
  Tensor Constant(const std::string& name, const Shape& shape, const std::string& dtype = "f32");
  Tensor Variable(const std::string& name, const Shape& shape,
                  const std::string& dtype = "f32");  // trainable
  // Kept from step to step like a variable but no weight: not trained, no parameter.
  Tensor State(const std::string& name, const Shape& shape, const std::string& dtype = "f32");
  // Output 0; the others are {result.op, 1}, ….
  Tensor Append(const OpSpec& spec);

  const Shape& shape(Tensor tensor) const;
  const std::string& dtype(Tensor tensor) const;
  // A trainable variable is upstream of it, over tensors of floating numbers alone.
  bool requires_gradient(Tensor tensor) const;
  bool IsViewOfVariable(Tensor tensor) const;  // a variable itself included

  // The sum of all losses given is minimised; each is an output that no op of the model reads.
  void Minimise(Tensor loss);

  // Adds backward and update ops if training, settles storage, expands the graph if it is to be unfused, and
  // returns it finished. Call once.
  sim::OpGraph Finish(sim::Attributes attributes);

 private:
  friend class GradientContext;

  Tensor AppendAt(const OpSpec& spec, const std::string& full_name, const std::string& phase,
                  const Location& location);
  const sim::Op& op(Tensor tensor) const { return graph_.ops[static_cast<std::size_t>(tensor.op)]; }
  void Sweep(sim::OpIndex forward_ops);
  // The sum of the gradients that have arrived for a tensor; op = -1 if there are none. `colocate` by value:
  // the tape grows.
  Tensor Total(Tensor tensor, std::string colocate);
  void Update(sim::OpIndex variable, const std::vector<sim::OpIndex>& backward_readers);
  void AppendUpdates(sim::OpIndex forward_ops);
  void SettleStorage();

  BuilderOptions options_;
  sim::OpGraph graph_;
  std::string prefix_;
  Location location_;
  std::vector<Location> locations_;       // by op
  std::vector<bool> requires_gradient_;   // by op: a trainable variable is upstream
  std::vector<int> in_place_;             // by op: OpSpec::in_place
  std::vector<sim::OpIndex> forward_of_;  // by op: the op whose gradient it computes, or -1
  std::vector<Tensor> losses_;
  std::map<Tensor, std::vector<Tensor>> gradients_;  // by forward tensor, in order of arrival
};

}  // namespace stowplan::scenarios
