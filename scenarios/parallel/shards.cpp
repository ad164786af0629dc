#include "scenarios/parallel/shards.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "scenarios/parallel/held_tensors.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

using sim::OpIndex;
using sim::TensorRef;
using Kind = Shard::Kind;

constexpr std::string_view kSums[] = {"ReduceSum", "Mean",      "ReduceMean",      "BiasAddGrad", "MulSum",
                                      "ReduceMax", "ReduceMin", "ReduceSumSquare", "L2Loss",      "Sum"};
constexpr std::string_view kNorms[] = {"LayerNorm", "RMSNorm", "LayerNormGrad", "RMSNormGrad",
                                       "LayerNormalization"};
constexpr std::string_view kRowwise[] = {"Softmax", "SoftmaxGrad", "TopK", "TopKGrad", "CumSum", "ArgMax"};
constexpr std::string_view kClassSoftmax[] = {"LogSoftmax", "SoftmaxCrossEntropyWithLogits",
                                              "SparseSoftmaxCrossEntropyWithLogits"};
constexpr std::string_view kClassGradients[] = {"LogSoftmaxGrad", "SoftmaxCrossEntropyGrad",
                                                "ScatterElements"};
constexpr std::string_view kScatters[] = {"ScatterND", "GatherGrad"};
constexpr std::string_view kLinear[] = {"Add", "AddN"};

void Join(std::vector<OpIndex>& all, const std::vector<OpIndex>& more) {
  for (const OpIndex op : more)
    if (std::ranges::find(all, op) == all.end()) all.push_back(op);
}

// What each op makes of the parts that it reads.
class ShardRules : protected HeldTensors {
 public:
  using HeldTensors::HeldTensors;

 protected:
  // Null = no rule fits what is cut.
  std::optional<Outputs> Rule(const sim::Op& op) {
    if (IsUpdate(op)) return Update(op);
    if (const auto product = ContractionOf(graph_, current_)) return Product(op, *product);
    if (IsOneOf(op, kGathers) && op.inputs.size() >= 2) return GatherRows(op);
    if (IsOneOf(op, kScatters) && op.inputs.size() >= 2) return ScatterRows(op);
    if (std::ranges::all_of(in_, [](const Held& held) { return held.shard.IsWhole(); }))
      return Outputs(op.outputs.size());
    if (IsOneOf(op, kMoves)) return Move(op);
    if (IsOneOf(op, kMadeAlike)) return MadeAlike(op);
    if (op.type == "Attention" || op.type == "AttentionGrad") return Attention(op);
    if (op.type == "ConcatV2" || op.type == "Split") return Parts(op);
    if (IsOneOf(op, kSums)) return Sum(op);
    if (IsOneOf(op, kNorms)) return Norm(op);
    if (op.type == "GatherElements" || IsOneOf(op, kClassSoftmax)) return Classes(op);
    if (IsOneOf(op, kRowwise) && LastIsCut(op)) return std::nullopt;
    return Pointwise(op, !IsOneOf(op, kClassGradients));
  }

  bool LastIsCut(const sim::Op& op) const {
    for (std::size_t i = 0; i < in_.size(); ++i)
      if (in_[i].shard.IsCut() && in_[i].shard.dimension + 1 == std::ssize(Shape(op.inputs[i]))) return true;
    return false;
  }

  std::optional<Outputs> Move(const sim::Op& op) {
    Outputs outputs;
    const Shard part = in_.front().shard;
    for (const sim::Output& output : op.outputs) {
      if (part.IsTerm() && part.dimension < 0) {
        outputs.push_back(part);
        continue;
      }
      const auto moved = Moved(op, Shape(op.inputs.front()), output.shape, part, false);
      if (part.IsTerm()) {
        outputs.push_back(moved.value_or(Shard{Kind::kTerm, -1, part.tokens}));
        continue;
      }
      if (!moved && !part.tokens) CheckHeads(op, part, output.shape);
      if (!moved) return std::nullopt;
      outputs.push_back(*moved);
    }
    return outputs;
  }

  // A dimension that a product was cut along becomes heads and their width.
  void CheckHeads(const sim::Op& op, Shard part, const Dimensions& to) const {
    const Dimensions& from = Shape(op.inputs.front());
    if (IsBackward(op) || Elements(from) != Elements(to) || part.dimension + 1 != std::ssize(from)) return;
    const std::optional<MovedCut> heads = ReshapedCut(from, to, part.dimension, part.outer, false, 1);
    if (!heads) return;
    // Three in front of a width that the ranks divide are queries, keys and values, not heads.
    const auto at = static_cast<std::size_t>(heads->dimension);
    if (to[at] == 3 && at + 1 < to.size() && to[at + 1] % options_.ranks == 0) return;
    throw InputError(
        fmt::format("tensor={}: does not divide the {} heads of op '{}'; choose a number of ranks that does",
                    options_.ranks, to[static_cast<std::size_t>(heads->dimension)], op.name));
  }

  std::optional<Outputs> Pointwise(const sim::Op& op, bool wants) {
    Outputs outputs;
    for (const sim::Output& output : op.outputs) {
      std::optional<Shard> found;
      for (std::size_t i = 0; i < in_.size(); ++i) {
        const Shard& shard = in_[i].shard;
        if (shard.IsTerm()) return Outputs(op.outputs.size(), Terms());
        if (!shard.IsCut()) continue;
        const Dimensions& shape = Shape(op.inputs[i]);
        const int dimension =
            shard.dimension + static_cast<int>(std::ssize(output.shape) - std::ssize(shape));
        if (dimension < 0 || output.shape[static_cast<std::size_t>(dimension)] !=
                                 shape[static_cast<std::size_t>(shard.dimension)])
          return std::nullopt;
        const Shard here = AtDimension(shard, dimension);
        if (found && *found != here) return std::nullopt;
        found = here;
      }
      if (found && wants && !WantWholes(op, output.shape, *found)) return std::nullopt;
      outputs.push_back(found.value_or(Shard{}));
    }
    return outputs;
  }

  Shard Terms() const {
    const auto term = std::ranges::find_if(in_, [](const Held& held) { return held.shard.IsTerm(); });
    return term->shard;
  }

  bool WantWholes(const sim::Op& op, const Dimensions& shape, Shard part) {
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (!in_[i].shard.IsWhole()) continue;
      const Dimensions& own = Shape(op.inputs[i]);
      const int dimension = part.dimension - static_cast<int>(std::ssize(shape) - std::ssize(own));
      if (dimension < 0 ||
          own[static_cast<std::size_t>(dimension)] != shape[static_cast<std::size_t>(part.dimension)])
        continue;
      if (exchanges_[At(current_)][i] != Exchange::kNone || !Want(op.inputs[i], AtDimension(part, dimension)))
        return false;
      in_[i].shard = AtDimension(part, dimension);
    }
    return true;
  }

  static int DimensionOf(const std::string& letters, char letter) {
    const auto at = letters.find(letter);
    return at == std::string::npos ? -1 : static_cast<int>(at);
  }
  static char LetterOf(const Held& held, const std::string& letters) {
    return held.shard.IsCut() ? letters[static_cast<std::size_t>(held.shard.dimension)] : '\0';
  }

  std::optional<Outputs> Product(const sim::Op& op, const Contraction& product) {
    Held &a = in_[product.a], &b = in_[product.b];
    const bool forward = !IsBackward(op);
    const bool is_weight = IsWeight(op.inputs[product.b]);
    if (forward && is_weight && !refused_.contains(current_) && (a.shard.IsWhole() || a.shard.tokens))
      TakeColumns(op, product);
    if (b.shard.IsCut() && a.shard.IsCut() && LetterOf(a, product.of_a) != LetterOf(b, product.of_b))
      if (!Gather(product.a)) Gather(product.b);
    char letter = LetterOf(a, product.of_a);
    const char other = LetterOf(b, product.of_b);
    if (letter != 0 && other != 0 && letter != other) return std::nullopt;
    const Shard part = letter != 0 ? a.shard : b.shard;
    if (letter == 0) letter = other;
    if (letter == 0) return Outputs(op.outputs.size());
    if (!WantLetter(op, product.a, product.of_a, letter, part) ||
        !WantLetter(op, product.b, product.of_b, letter, part))
      return std::nullopt;
    Outputs outputs(op.outputs.size());
    if (product.IsSummed(letter)) {
      outputs.front() = {Kind::kTerm, part.tokens ? -1 : static_cast<int>(std::ssize(product.of_result)) - 2,
                         true};
      return outputs;
    }
    outputs.front() = AtDimension(part, DimensionOf(product.of_result, letter));
    if (op.inputs.size() > 2 && op.type == "MatMul" &&
        outputs.front().dimension + 1 == std::ssize(product.of_result) &&
        !Want(op.inputs[2], Cut(static_cast<int>(std::ssize(Shape(op.inputs[2]))) - 1)))
      return std::nullopt;
    return outputs;
  }

  void TakeColumns(const sim::Op& op, const Contraction& product) {
    Held& b = in_[product.b];
    for (std::size_t d = 0; d < product.of_b.size() && b.shard.IsWhole(); ++d) {
      const char letter = product.of_b[d];
      if (product.IsSummed(letter) || product.of_a.find(letter) != std::string::npos) continue;
      const Shard columns = Cut(static_cast<int>(d));
      if (letter != 'e' && Want(op.inputs[product.b], columns)) b.shard = columns;
    }
    if (!b.shard.IsCut() || product.IsSummed(LetterOf(b, product.of_b))) return;
    Gather(product.a);
    is_column_ = true;
  }

  bool WantLetter(const sim::Op& op, std::size_t input, const std::string& letters, char letter, Shard part) {
    const int dimension = DimensionOf(letters, letter);
    if (dimension < 0) return true;
    Shard& shard = in_[input].shard;
    if (shard.IsCut()) return shard.dimension == dimension && shard.outer == part.outer;
    if (exchanges_[At(current_)][input] != Exchange::kNone) return false;
    if (!Want(op.inputs[input], AtDimension(part, dimension))) return false;
    shard = AtDimension(part, dimension);
    return true;
  }

  // Of a table that is cut by rows each rank finds some, and zeros in place of the others.
  std::optional<Outputs> GatherRows(const sim::Op& op) {
    const Dimensions &table = Shape(op.inputs[0]), &ids = Shape(op.inputs[1]);
    if (!IsBackward(op) && in_[0].shard.IsWhole() && IsWeight(op.inputs[0]) && !table.empty() &&
        table[0] == vocabulary_ && !refused_.contains(current_) && Want(op.inputs[0], Cut(0)))
      in_[0].shard = Cut(0);
    const Shard of_table = in_[0].shard;
    if (of_table.IsCut() && of_table.dimension == 0 && !table.empty()) {
      Gather(1);
      row_ids_.insert(op.inputs[1]);
      return Outputs(op.outputs.size(), Shard{Kind::kTerm, static_cast<int>(std::ssize(ids)) - 1, true});
    }
    if (of_table.IsCut() && in_[1].shard.IsCut()) return std::nullopt;
    if (of_table.IsCut())
      return Outputs(op.outputs.size(), Cut(of_table.dimension - 1 + static_cast<int>(std::ssize(ids))));
    return Outputs(op.outputs.size(), in_[1].shard);
  }

  std::optional<Outputs> ScatterRows(const sim::Op& op) {
    const Dimensions& result = op.outputs.front().shape;
    if (row_ids_.contains(op.inputs[1])) {
      Gather(0);
      const bool is_table = op.type == "ScatterND" && !result.empty() && result[0] == vocabulary_;
      if (in_[0].shard.IsCut()) return std::nullopt;
      return Outputs(op.outputs.size(), is_table ? Cut(0) : Shard{});
    }
    const Shard& shard = in_[0].shard;
    if (shard.IsWhole()) return Outputs(op.outputs.size());
    const bool rows = shard.tokens || shard.dimension + 1 < std::ssize(Shape(op.inputs[0]));
    if (!rows) return Outputs(op.outputs.size(), Cut(static_cast<int>(std::ssize(result)) - 1));
    if (op.type != "ScatterND") return Pointwise(op, false);
    return Outputs(op.outputs.size(), Shard{Kind::kTerm, -1, true});
  }

  // Heads, or what else is before their width, in queries, keys and values alike.
  std::optional<Outputs> Attention(const sim::Op& op) {
    std::optional<int> heads;
    for (const Held& held : in_) {
      if (!held.shard.IsCut()) continue;
      if (held.shard.tokens || (heads && *heads != held.shard.dimension)) return std::nullopt;
      heads = held.shard.dimension;
    }
    const std::size_t tensors = op.type == "Attention" ? 3 : 5;
    std::set<std::int64_t> counts;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const Dimensions& shape = Shape(op.inputs[i]);
      if (in_[i].shard.IsCut()) counts.insert(shape[static_cast<std::size_t>(*heads)]);
      if (in_[i].shard.IsWhole() && i < tensors) return std::nullopt;
      if (in_[i].shard.IsWhole() && *heads < std::ssize(shape) &&
          counts.contains(shape[static_cast<std::size_t>(*heads)]) && !Want(op.inputs[i], Cut(*heads)))
        return std::nullopt;
    }
    Outputs outputs;
    for (const sim::Output& output : op.outputs) {
      const bool has_heads = *heads < std::ssize(output.shape) && std::ssize(output.shape) > 2 &&
                             counts.contains(output.shape[static_cast<std::size_t>(*heads)]);
      outputs.push_back(has_heads ? Cut(*heads) : Shard{});
    }
    return outputs;
  }

  // Nothing of the inputs is in the outputs but, perhaps, the shape.
  std::optional<Outputs> MadeAlike(const sim::Op& op) {
    const auto cut = std::ranges::find_if(in_, [](const Held& held) { return held.shard.IsCut(); });
    const Dimensions& shape = Shape(op.inputs[static_cast<std::size_t>(cut - in_.begin())]);
    Outputs outputs;
    for (const sim::Output& output : op.outputs)
      outputs.push_back(output.shape == shape ? cut->shard : Shard{});
    return outputs;
  }

  std::optional<Outputs> Parts(const sim::Op& op) {
    std::optional<Shard> part;
    for (const Held& held : in_) {
      if (held.shard.IsCut() && part && *part != held.shard) return std::nullopt;
      if (held.shard.IsCut()) part = held.shard;
    }
    const auto size = [&](const Dimensions& shape) {
      return part->dimension < std::ssize(shape) ? shape[static_cast<std::size_t>(part->dimension)] : 0;
    };
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (in_[i].shard.IsCut()) continue;
      if (!Want(op.inputs[i], *part)) return std::nullopt;
      in_[i].shard = *part;
    }
    const std::int64_t before = size(Shape(op.inputs.front()));
    for (const sim::Output& output : op.outputs) {
      if (size(output.shape) == before && before != 0) continue;
      if (part->tokens || size(output.shape) % options_.ranks != 0 || size(output.shape) == 0)
        return std::nullopt;
    }
    return Outputs(op.outputs.size(), *part);
  }

  std::optional<Outputs> Sum(const sim::Op& op) {
    Outputs outputs;
    for (const sim::Output& output : op.outputs) {
      Shard result;
      for (std::size_t i = 0; i < in_.size(); ++i) {
        const Shard& shard = in_[i].shard;
        if (!shard.IsCut()) continue;
        const int kept = KeptDimension(Shape(op.inputs[i]), output.shape, shard.dimension, IsBackward(op));
        // A mean over a row, as norms take it, needs the whole row.
        if (kept < 0 && !shard.tokens && !IsBackward(op)) return std::nullopt;
        result = kept < 0 ? Shard{Kind::kTerm, -1, true} : AtDimension(shard, kept);
      }
      outputs.push_back(result);
    }
    return outputs;
  }

  // Of the last dimension; its weights' gradients are sums over all others.
  std::optional<Outputs> Norm(const sim::Op& op) {
    if (LastIsCut(op)) return std::nullopt;
    const auto cut = std::ranges::find_if(in_, [](const Held& held) { return held.shard.IsCut(); });
    const Dimensions& shape = Shape(op.inputs[static_cast<std::size_t>(cut - in_.begin())]);
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (!in_[i].shard.IsWhole() || std::ssize(Shape(op.inputs[i])) < 2) continue;
      if (!Want(op.inputs[i], cut->shard)) return std::nullopt;
      in_[i].shard = cut->shard;
    }
    Outputs outputs;
    for (const sim::Output& output : op.outputs) {
      const auto at = static_cast<std::size_t>(cut->shard.dimension);
      const bool has_rows =
          output.shape.size() > at && output.shape[at] == shape[at] && output.shape.size() == shape.size();
      outputs.push_back(has_rows ? cut->shard : Shard{Kind::kTerm, -1, true});
    }
    return outputs;
  }

  // Over classes of which a rank has some.
  std::optional<Outputs> Classes(const sim::Op& op) {
    const bool last = in_[0].shard.IsCut() && in_[0].shard.dimension + 1 == std::ssize(Shape(op.inputs[0]));
    if (!last && !in_[0].shard.IsCut()) return std::nullopt;
    if (last && op.type != "GatherElements") shared_softmax_.insert(current_);
    Outputs outputs;
    for (const sim::Output& output : op.outputs) {
      if (output.shape == Shape(op.inputs[0]))
        outputs.push_back(in_[0].shard);
      else if (last || output.shape.empty() || Elements(output.shape) == 1)
        outputs.push_back({Kind::kTerm, -1, true});
      else
        outputs.push_back(Cut(in_[0].shard.dimension, in_[0].shard.tokens));
    }
    return outputs;
  }

  // A weight's gradient is cut as it is.
  std::optional<Outputs> Update(const sim::Op& op) {
    std::optional<Shard> weight;
    for (std::size_t i = 0; i < in_.size(); ++i)
      if (Op(op.inputs[i].op).IsVariable()) weight = in_[i].shard;
    if (!weight) return Pointwise(op, false);
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const bool alike = weight->IsCut() && in_[i].shard.IsWhole() &&
                         Shape(op.inputs[i]).size() > static_cast<std::size_t>(weight->dimension) &&
                         Shape(op.inputs[i]) == WeightShape(op);
      if (alike && exchanges_[At(current_)][i] == Exchange::kNone) Want(op.inputs[i], *weight);
      if (weight->IsWhole() && in_[i].shard.IsCut()) exchanges_[At(current_)][i] = Exchange::kAllGather;
    }
    Outputs outputs;
    for (const sim::Output& output : op.outputs)
      outputs.push_back(weight->IsCut() && output.shape == WeightShape(op) ? *weight : Shard{});
    return outputs;
  }

  const Dimensions& WeightShape(const sim::Op& op) const {
    const auto weight =
        std::ranges::find_if(op.inputs, [&](TensorRef input) { return Op(input.op).IsVariable(); });
    return Shape(*weight);
  }
};

// Looks at all ops in their order, again and again until no op refuses a part and none wants another.
class ShardSearch : ShardRules {
 public:
  using ShardRules::ShardRules;

  Shards Find() {
    do {
      if (was_refused_) wanted_.clear();
      was_refused_ = was_wanted_ = false;
      Pass();
    } while (was_refused_ || was_wanted_);
    Shards found;
    for (auto& of_op : held_) {
      auto& shards = found.outputs.emplace_back();
      for (const Held& held : of_op) shards.push_back(held.shard);
    }
    found.exchanges = std::move(exchanges_);
    found.share = std::move(share_);
    found.shared_softmax = std::move(shared_softmax_);
    return found;
  }

 private:
  void Pass() {
    held_.assign(graph_.ops.size(), {});
    exchanges_.assign(graph_.ops.size(), {});
    share_.assign(graph_.ops.size(), 1);
    shared_softmax_.clear();
    no_part_.clear();
    row_ids_.clear();
    for (OpIndex op = 0; op < graph_.size(); ++op) held_[At(op)].resize(Op(op).outputs.size());
    // What one refusal would make of the ops behind it says nothing.
    for (const OpIndex op : graph_.topological_order()) {
      Visit(op);
      if (was_refused_) return;
    }
  }

  void Visit(OpIndex index) {
    const sim::Op& op = Op(index);
    exchanges_[At(index)].assign(op.inputs.size(), Exchange::kNone);
    current_ = index;
    in_.clear();
    for (const TensorRef input : op.inputs) in_.push_back(Of(input));
    if (!KeepsTerms(op)) SumTerms(op);
    std::optional<Outputs> outputs = Rule(op);
    if (!outputs && GatherTokens()) outputs = Rule(op);
    if (!outputs) {
      Refuse();
      outputs = Outputs(op.outputs.size());
    }
    std::vector<OpIndex> from;
    for (const Held& held : in_)
      if (held.shard.IsCut() && !held.shard.tokens) Join(from, held.from);
    if (is_column_) from = {index};
    is_column_ = false;
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      Held& held = held_[At(index)][o];
      held.shard = (*outputs)[o];
      const auto wanted = wanted_.find({index, static_cast<std::int32_t>(o)});
      if (wanted != wanted_.end() && held.shard.IsWhole()) held.shard = wanted->second;
      if (held.shard.IsCut() && !held.shard.tokens) held.from = from;
    }
    FindShare(index);
  }

  // What it writes or reads a part of it does a part of.
  void FindShare(OpIndex index) {
    double least = 1;
    const auto count = [&](const Shard& shard, const Dimensions& shape) {
      if (!shard.IsCut()) return;
      const std::int64_t size = shape[static_cast<std::size_t>(shard.dimension)];
      least = std::min(least, static_cast<double>(PartOf(size, options_.ranks)) / static_cast<double>(size));
    };
    for (std::size_t i = 0; i < in_.size(); ++i) count(in_[i].shard, Shape(Op(index).inputs[i]));
    for (std::size_t o = 0; o < held_[At(index)].size(); ++o)
      count(held_[At(index)][o].shard, Op(index).outputs[o].shape);
    share_[At(index)] = least;
  }

  // Sums of terms are terms; so is, backwards, that of a term and what is the same on all, which one rank adds.
  bool KeepsTerms(const sim::Op& op) const {
    if (IsOneOf(op, kMoves)) return true;
    if (!IsOneOf(op, kLinear)) return false;
    return std::ranges::all_of(in_, [&](const Held& held) {
      return held.shard.IsTerm() || (IsBackward(op) && held.shard.IsWhole());
    });
  }

  void SumTerms(const sim::Op& op) {
    for (std::size_t i = 0; i < in_.size(); ++i) {
      Shard& shard = in_[i].shard;
      if (!shard.IsTerm()) continue;
      const bool scatters =
          options_.sequence_parallel && shard.dimension >= 0 && !ContractionOf(graph_, current_) &&
          Shape(op.inputs[i])[static_cast<std::size_t>(shard.dimension)] % options_.ranks == 0;
      exchanges_[At(current_)][i] = scatters ? Exchange::kReduceScatter : Exchange::kAllReduce;
      shard = scatters ? Cut(shard.dimension, true) : Shard{};
    }
  }

  // The products whose parts the op cannot work on are not cut; where that is no news, the parts are put together for it.
  void Refuse() {
    const std::size_t before = refused_.size();
    for (const Held& held : in_) {
      if (!held.shard.IsCut()) continue;
      for (const OpIndex op : held.from) refused_.insert(op);
      if (held.from.empty()) refused_.insert(current_);
    }
    if (refused_.size() > before) was_refused_ = true;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (!in_[i].shard.IsCut()) continue;
      exchanges_[At(current_)][i] = Exchange::kAllGather;
      in_[i].shard = Shard{};
    }
  }
};

}  // namespace

Shards FindShards(const sim::OpGraph& graph, const ShardOptions& options) {
  return ShardSearch(graph, options).Find();
}

}  // namespace stowplan::scenarios
