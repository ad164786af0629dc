// The tensors of a graph as the ranks hold them while shards.cpp looks for them: what an op may ask of its inputs.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "scenarios/parallel/dimensions.h"
#include "scenarios/parallel/graph_edit.h"
#include "scenarios/parallel/shard.h"
#include "sim/op_graph.h"

namespace stowplan::scenarios {

template <std::size_t N>
bool IsOneOf(const sim::Op& op, const std::string_view (&types)[N]) {
  return std::ranges::find(types, op.type) != std::end(types);
}

inline constexpr std::string_view kMoves[] = {"Reshape", "Transpose",    "Squeeze",  "Unsqueeze",
                                              "Flatten", "Expand",       "Identity", "Slice",
                                              "Pad",     "StridedSlice", "Tile"};
inline constexpr std::string_view kGathers[] = {"GatherV2", "Gather", "GatherND"};
inline constexpr std::string_view kMadeAlike[] = {"Fill", "NoOp", "RandomUniform", "ZerosLike", "OnesLike"};
inline constexpr std::string_view kPointwise[] = {
    "Abs",   "Add",   "AddN",  "BiasAdd", "Cast", "Clip",      "Cos", "Div",   "Dropout", "Elu",   "Equal",
    "Erf",   "Exp",   "Gelu",  "Greater", "Less", "LessEqual", "Mul", "And",   "Neg",     "Pow",   "Relu",
    "Rsqrt", "Scale", "Shift", "Sigmoid", "Sin",  "Sqrt",      "Sub", "Swish", "Tanh",    "Where", "Assign"};

// A tensor as its producer holds it, and the products by columns that its cut came from.
struct Held {
  Shard shard;
  std::vector<sim::OpIndex> from;
};

// A width that is no multiple is padded where that adds at most a thousandth, as vocabularies are.
inline constexpr std::int64_t kPaddedFrom = 1024;

class HeldTensors {
 public:
  HeldTensors(const sim::OpGraph& graph, const ShardOptions& options) : graph_(graph), options_(options) {
    for (const sim::Op& op : graph.ops)
      if (IsOneOf(op, kGathers) && op.inputs.size() >= 2 && IsWeight(op.inputs[0]))
        vocabulary_ = std::max(vocabulary_, Shape(op.inputs[0]).empty() ? 0 : Shape(op.inputs[0])[0]);
    FindFree();
  }

 protected:
  using Kind = Shard::Kind;
  using OpIndex = sim::OpIndex;
  using TensorRef = sim::TensorRef;
  using Outputs = std::vector<Shard>;

  const sim::Op& Op(OpIndex op) const { return graph_.ops[At(op)]; }
  const Dimensions& Shape(TensorRef tensor) const { return OutputOf(graph_, tensor).shape; }
  Held& Of(TensorRef tensor) { return held_[At(tensor.op)][static_cast<std::size_t>(tensor.output)]; }

  // A variable, or a view or another type of one.
  bool IsWeight(TensorRef tensor) const {
    const sim::Op& op = Op(tensor.op);
    if (op.IsVariable()) return true;
    return (IsOneOf(op, kMoves) || op.type == "Cast") && op.inputs.size() == 1 && IsWeight(op.inputs.front());
  }

  // What no weight leads to: each rank has it whole, and takes what it needs.
  void FindFree() {
    is_free_.resize(graph_.ops.size());
    for (const OpIndex index : graph_.topological_order()) {
      const sim::Op& op = Op(index);
      const bool is_weight = op.IsVariable() && !op.outputs.empty() && IsFloating(op.outputs.front().dtype);
      is_free_[At(index)] =
          !is_weight && op.flops == 0 &&
          std::ranges::all_of(op.inputs, [&](TensorRef input) { return is_free_[At(input.op)]; });
    }
  }

  bool Divides(std::int64_t size) const {
    return size % options_.ranks == 0 || size >= kPaddedFrom * options_.ranks;
  }
  static Shard Cut(int dimension, bool tokens = false) { return {Kind::kCut, dimension, tokens}; }
  static Shard AtDimension(Shard part, int dimension) {
    part.dimension = dimension;
    return part;
  }

  bool GatherTokens() {
    bool gathered = false;
    for (std::size_t i = 0; i < in_.size(); ++i) gathered = Gather(i) || gathered;
    return gathered;
  }
  bool Gather(std::size_t i) {
    if (!in_[i].shard.IsCut() || !in_[i].shard.tokens) return false;
    Exchange& exchange = exchanges_[At(current_)][i];
    exchange = exchange == Exchange::kReduceScatter ? Exchange::kAllReduce : Exchange::kAllGather;
    in_[i].shard = Shard{};
    return true;
  }

  // A rank that has the whole of what a tensor is made of can have a part of it alone.
  bool Want(TensorRef tensor, Shard part) {
    Held& held = Of(tensor);
    if (held.shard == part) return true;
    const Dimensions& shape = Shape(tensor);
    if (!held.shard.IsWhole() || part.dimension < 0 || part.dimension >= std::ssize(shape) ||
        !Divides(shape[static_cast<std::size_t>(part.dimension)] / part.outer) || no_part_.contains(tensor) ||
        refused_.contains(tensor.op) || !CanBePart(tensor, part)) {
      no_part_.insert(tensor);
      return false;
    }
    held.shard = part;
    wanted_[tensor] = part;
    was_wanted_ = true;
    return true;
  }

  bool CanBePart(TensorRef tensor, Shard part) {
    const sim::Op& op = Op(tensor.op);
    if (op.IsSource() || is_free_[At(tensor.op)] || IsOneOf(op, kMadeAlike)) return true;
    if (IsOneOf(op, kMoves)) {
      const Dimensions &whole = Shape(op.inputs.front()), &shape = Shape(tensor);
      const auto at = static_cast<std::size_t>(part.dimension);
      // It reads less of what is whole.
      if (whole.size() == shape.size() && whole[at] != shape[at] && (part.tokens || whole[at] == 1))
        return true;
      const std::optional<Shard> before = Moved(op, shape, whole, part, true);
      return before && Want(op.inputs.front(), *before);
    }
    if (IsOneOf(op, kGathers)) {
      const int ids = static_cast<int>(std::ssize(Shape(op.inputs[1])));
      if (part.dimension < ids) return Want(op.inputs[1], part);
      return IsWeight(op.inputs[0]) && Want(op.inputs[0], {part.kind, part.dimension - ids + 1, part.tokens});
    }
    if (op.type == "ScatterND") return part.dimension == 0 && !part.tokens;
    return IsOneOf(op, kPointwise) && WantOperands(op, Shape(tensor), part);
  }

  // Of an op by element: those operands that are not the same along the dimension.
  bool WantOperands(const sim::Op& op, const Dimensions& shape, Shard part) {
    for (const TensorRef input : op.inputs) {
      const int dimension = part.dimension - static_cast<int>(std::ssize(shape) - std::ssize(Shape(input)));
      if (dimension < 0 || Shape(input)[static_cast<std::size_t>(dimension)] == 1) continue;
      if (!Want(input, AtDimension(part, dimension))) return false;
    }
    return true;
  }

  std::optional<Shard> Moved(const sim::Op& op, const Dimensions& from, const Dimensions& to, Shard part,
                             bool backwards) {
    if (const auto order = PermutationOf(graph_, op)) {
      if (backwards) return AtDimension(part, (*order)[static_cast<std::size_t>(part.dimension)]);
      return AtDimension(part, static_cast<int>(std::ranges::find(*order, part.dimension) - order->begin()));
    }
    if (Elements(from) == Elements(to)) {
      const auto moved = ReshapedCut(from, to, part.dimension, part.outer, part.tokens, options_.ranks);
      if (!moved) return std::nullopt;
      return Shard{part.kind, moved->dimension, part.tokens, moved->outer};
    }
    const auto size = from[static_cast<std::size_t>(part.dimension)];
    if (from.size() == to.size()) {
      const std::int64_t now = to[static_cast<std::size_t>(part.dimension)];
      // Of queries, keys and values in one product each is cut; of a sequence a rank has no part of each part.
      const bool fits = now == size || (!part.tokens && now % options_.ranks == 0 && now > 1);
      return fits ? std::optional(part) : std::nullopt;
    }
    const std::int64_t shift = std::ssize(to) - std::ssize(from);
    for (const std::int64_t by : {std::int64_t{0}, shift}) {
      const std::int64_t at = part.dimension + by;
      if (at >= 0 && at < std::ssize(to) && to[static_cast<std::size_t>(at)] == size)
        return AtDimension(part, static_cast<int>(at));
    }
    return std::nullopt;
  }

  const sim::OpGraph& graph_;
  const ShardOptions options_;
  std::vector<bool> is_free_;    // by op
  std::int64_t vocabulary_ = 0;  // rows of the largest table
  std::set<OpIndex> refused_;    // products and tables that stay whole
  std::map<TensorRef, Shard> wanted_;
  bool was_refused_ = false, was_wanted_ = false;
  // Of a pass.
  std::vector<std::vector<Held>> held_;
  std::vector<std::vector<Exchange>> exchanges_;
  std::vector<double> share_;
  std::set<OpIndex> shared_softmax_;
  std::set<TensorRef> no_part_, row_ids_;
  // Of the op that is visited.
  OpIndex current_ = -1;
  std::vector<Held> in_;
  bool is_column_ = false;
};

}  // namespace stowplan::scenarios
