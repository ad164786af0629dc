#include "sim/formats/collectives.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/formats/rank_program.h"

namespace stowplan::formats {
namespace {

using sim::Bytes;
using sim::OpGraph;
using sim::OpIndex;
using sim::TensorRef;

// Ops of a graph's collectives, and waits for them: an AllReduce among kMostRanks is half a million ops, and as many again
// in a small file take all of 2 GB to simulate.
constexpr std::int64_t kMostParts = std::int64_t{1} << 20;

// What links send in the time of their latency: from PCI Express 3 to NVSwitch.
constexpr double kLeastLatencyBytes = 0.2e6;
constexpr double kMostLatencyBytes = 3.4e6;
constexpr int kMostChainChunks = 512;

// A chain of k ranks passes b bytes in c chunks in about (k - 2 + c) L + M(b) (1 + (k - 2) / c): least at the root of
// (k - 2) M(b) / L. The links are not known here. An AllReduce takes as long as k chunks, so up to k are cut where any
// link gains by it, and more where all do.
int ChainChunks(Bytes bytes, int ranks) {
  const auto best = [&](double latency_bytes) {
    return static_cast<int>(std::clamp(std::sqrt(static_cast<double>(bytes) * (ranks - 2) / latency_bytes),
                                       1.0, static_cast<double>(kMostChainChunks)));
  };
  return std::max(std::min(ranks, best(kLeastLatencyBytes)), best(kMostLatencyBytes));
}

// The ops of one collective stand one block behind the other, one op of each rank in a block: the beginning, a step each of
// the reduction, a chunk each of a chain, a step each of the gathering or exchange, and the end.
struct Layout {
  const CollectiveKind* kind = nullptr;
  int ranks = 0;
  int root = 0;
  OpIndex first = 0;  // in the new graph
  int chunks = 1;     // that a rank's tensor is cut into

  int steps() const { return ranks - 1; }
  int before_gathering() const { return 1 + (kind->reduces ? steps() : 0) + (kind->has_root() ? chunks : 0); }
  int blocks() const {
    return before_gathering() + (kind->gathers || kind->exchanges ? steps() : 0) + (kind->ends() ? 1 : 0);
  }
  std::int64_t size() const { return std::int64_t{blocks()} * ranks; }
  int Wrap(int rank) const { return ((rank % ranks) + ranks) % ranks; }
  // The first of a chain is half of another: of two equal ones on the way at once both would arrive together.
  Bytes ChunkOf(Bytes whole, int chunk) const {
    if (!kind->has_root()) return formats::ChunkOf(whole, chunk, chunks);
    const int halves = 2 * chunks - 1;
    const Bytes second = formats::ChunkOf(whole, 2 * chunk, halves);
    return chunk == 0 ? second : formats::ChunkOf(whole, 2 * chunk - 1, halves) + second;
  }
  // Of a chain: the root of what spreads, the rank behind it of what is collected.
  int Source() const { return Wrap(root + (kind->collects ? 1 : 0)); }

  OpIndex Beginning(int rank) const { return first + Wrap(rank); }
  OpIndex Reduction(int step, int rank) const { return first + (1 + step) * ranks + Wrap(rank); }
  OpIndex Chained(int chunk, int rank) const { return first + (1 + chunk) * ranks + Wrap(rank); }
  OpIndex Gathering(int step, int rank) const {
    return first + (before_gathering() + step) * ranks + Wrap(rank);
  }
  OpIndex Sending(int step, int rank) const { return Gathering(step, rank); }
  OpIndex End(int rank) const { return first + (blocks() - 1) * ranks + Wrap(rank); }
  // Rank r's own chunk, whole: what is gathered of it, and what it has of a ReduceScatter.
  OpIndex Own(int rank) const { return kind->reduces ? Reduction(steps() - 1, rank) : Beginning(rank); }
  OpIndex Result(int rank) const { return kind->ends() ? End(rank) : Own(rank); }
};

class Expansion {
 public:
  explicit Expansion(const OpGraph& graph) : graph_(graph), layouts_(graph.ops.size()) {
    std::int64_t next = 0, made = 0, bytes = 0;
    const std::int64_t longest_set = LongestSet();
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
      const sim::Op& op = graph.ops[i];
      if (next >= sim::kMaxOps)
        throw InputError("a graph of 2^31 ops or more, those of its collectives counted");
      first_.push_back(static_cast<OpIndex>(next));
      if (const CollectiveKind* kind = KindOf(op)) {
        if (op.inputs.size() > static_cast<std::size_t>(kMostRanks))
          Fail(op, fmt::format("a collective of {} ranks; {} are the most", op.inputs.size(), kMostRanks));
        const int ranks = static_cast<int>(op.inputs.size());
        layouts_[i] = Layout{kind, ranks, RootOf(op, *kind, ranks), first_.back(), ChunksOf(op, *kind)};
        Check(op, *layouts_[i]);
        next += layouts_[i]->size();
        made += layouts_[i]->size();
        if (made > kMostParts)
          Fail(op, fmt::format("the collectives up to here become {} ops; {} are the most of a graph", made,
                               kMostParts));
        bytes += layouts_[i]->size() *
                 (std::ssize(op.name) + std::ssize(op.group) + std::ssize(op.phase) + longest_set);
        if (bytes > kMostCopiedBytes)
          Fail(op,
               fmt::format("the names of what the collectives up to here become take {} bytes; {} are the "
                           "most of a graph",
                           bytes, kMostCopiedBytes));
      } else {
        ++next;
      }
    }
    CheckWaits();
  }

  OpGraph Run() {
    for (const sim::Op& op : graph_.ops) sets_.insert(op.colocate);
    made_.name = graph_.name;
    made_.attributes = graph_.attributes;
    if (!first_.empty())
      made_.ops.reserve(static_cast<std::size_t>(first_.back()) +
                        (layouts_.back() ? layouts_.back()->size() : 1));
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      if (layouts_[i]) {
        AddCollective(graph_.ops[i], *layouts_[i]);
      } else {
        AddOp(graph_.ops[i]);
      }
    }
    for (const OpIndex op : graph_.topological_order()) {
      if (const auto& layout = layouts_[static_cast<std::size_t>(op)])
        Colocate(graph_.ops[static_cast<std::size_t>(op)], *layout);
    }
    made_.Finish();
    return std::move(made_);
  }

 private:
  [[noreturn]] static void Fail(const sim::Op& op, const std::string& what) {
    throw InputError(fmt::format("op '{}': {}", op.name, what));
  }

  // A rank's ops are in its producer's set of colocation, or in one that is named after a collective.
  std::int64_t LongestSet() const {
    std::size_t longest = 0;
    for (const sim::Op& op : graph_.ops)
      longest = std::max({longest, op.colocate.size(), IsCollective(op) ? op.name.size() : 0});
    return static_cast<std::int64_t>(longest);
  }

  // Whoever waits for a collective waits for each of its ranks, and each of its ranks for all that it waits for.
  void CheckWaits() const {
    std::int64_t waits = 0;
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const sim::Op& op = graph_.ops[i];
      for (const OpIndex before : op.control) {
        const auto& of = layouts_[static_cast<std::size_t>(before)];
        if (of || layouts_[i])
          waits += std::int64_t{of ? of->ranks : 1} * (layouts_[i] ? layouts_[i]->ranks : 1);
      }
      if (waits > kMostParts)
        Fail(op,
             fmt::format("up to here the ranks of collectives and those that wait for them make {} waits; "
                         "{} are the most of a graph",
                         waits, kMostParts));
    }
  }

  const sim::Output& OutputOf(const TensorRef& tensor) const {
    return graph_.ops[static_cast<std::size_t>(tensor.op)].outputs[static_cast<std::size_t>(tensor.output)];
  }

  // 0 where it does not say.
  static int RootOf(const sim::Op& op, const CollectiveKind& kind, int ranks) {
    const sim::Attribute* const found = sim::FindAttribute(op.attributes, kRootRank);
    if (!kind.has_root() || found == nullptr) return 0;
    const auto* root = std::get_if<std::int64_t>(&found->value);
    if (root == nullptr || *root < 0 || *root >= ranks)
      Fail(op, fmt::format("`root` must be a rank, a whole number from 0 to {}", ranks - 1));
    return static_cast<int>(*root);
  }

  int ChunksOf(const sim::Op& op, const CollectiveKind& kind) const {
    const int ranks = static_cast<int>(op.inputs.size());
    if (kind.has_root() && ranks > 1) return ChainChunks(OutputOf(op.inputs.front()).bytes, ranks);
    return kind.cuts() ? ranks : 1;
  }

  // What would be lost.
  static void CheckFields(const sim::Op& op, const CollectiveKind& kind) {
    const auto refuse = [&](bool set, const char* field, const char* why) {
      if (set) Fail(op, fmt::format("has {}, but {} must have none: {}", field, op.type, why));
    };
    const char* priced = "its links price it";
    refuse(op.cost_us || !op.cost_us_by_kind.empty(), "cost_us", priced);
    refuse(op.flops > 0, "flops", priced);
    const char* nowhere = "it becomes many ops";
    refuse(op.persistent_bytes > 0, "persistent_bytes", nowhere);
    refuse(op.workspace_bytes > 0, "workspace_bytes", nowhere);
    const std::size_t roots =
        kind.has_root() && sim::FindAttribute(op.attributes, kRootRank) != nullptr ? 1 : 0;
    refuse(op.attributes.size() > roots, kind.has_root() ? "attributes but `root`" : "attributes", nowhere);
    refuse(!op.colocate.empty(), "colocate", "each rank is where its input is made");
    refuse(std::ranges::any_of(
               op.outputs,
               [](const sim::Output& output) { return output.storage != sim::Output::Storage::kOwn; }),
           "an output in another's storage", nowhere);
  }

  void Check(const sim::Op& op, const Layout& layout) const {
    CheckFields(op, *layout.kind);
    if (layout.ranks < 2)
      Fail(op, fmt::format("a collective of {} rank; it takes a tensor of each of 2 or more", layout.ranks));
    std::set<std::pair<OpIndex, std::int32_t>> seen;
    Bytes all = 0;
    for (const TensorRef& input : op.inputs) {
      // Another collective makes one for each rank.
      const bool of_ranks = KindOf(graph_.ops[static_cast<std::size_t>(input.op)]) != nullptr;
      if (!seen.emplace(input.op, of_ranks ? input.output : 0).second)
        Fail(op, fmt::format("two ranks read tensors of '{}'; each rank's must be made by an op of its own",
                             graph_.ops[static_cast<std::size_t>(input.op)].name));
      all += OutputOf(input).bytes;
    }
    if (op.outputs.size() != op.inputs.size())
      Fail(op, fmt::format("has {} outputs, but must have one for each of its {} ranks", op.outputs.size(),
                           layout.ranks));
    const Bytes each = OutputOf(op.inputs.front()).bytes;
    for (int rank = 0; rank < layout.ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const Bytes given = OutputOf(op.inputs[at]).bytes;
      if (layout.kind->in_place() && given != each)
        Fail(op, fmt::format("{} tensors of {} and {} bytes; they must be alike",
                             layout.kind->reduces ? "adds" : "copies into", each, given));
      const Bytes wanted = ResultBytes(op, layout, rank, all);
      if (op.outputs[at].bytes != wanted)
        Fail(op, fmt::format("output {} has {} bytes, but must have {}", rank, op.outputs[at].bytes, wanted));
    }
  }

  // `all`: of all ranks' tensors.
  Bytes ResultBytes(const sim::Op& op, const Layout& layout, int rank, Bytes all) const {
    if (layout.kind->in_place()) {
      const Bytes each = OutputOf(op.inputs.front()).bytes;
      return layout.kind->ends() ? each : formats::ChunkOf(each, rank, layout.ranks);
    }
    if (!layout.kind->exchanges) return all;
    Bytes sum = 0;
    for (int from = 0; from < layout.ranks; ++from) sum += ChunkOf(op, layout, from, rank);
    return sum;
  }

  TensorRef Mapped(const TensorRef& tensor) const {
    const auto at = static_cast<std::size_t>(tensor.op);
    if (!layouts_[at]) return {first_[at], tensor.output};
    return {layouts_[at]->Result(tensor.output), 0};
  }

  std::vector<OpIndex> MappedControl(const std::vector<OpIndex>& control) const {
    std::vector<OpIndex> mapped;
    for (const OpIndex op : control) {
      const auto at = static_cast<std::size_t>(op);
      if (!layouts_[at]) {
        mapped.push_back(first_[at]);
        continue;
      }
      for (int rank = 0; rank < layouts_[at]->ranks; ++rank) mapped.push_back(layouts_[at]->Result(rank));
    }
    return mapped;
  }

  void AddOp(const sim::Op& op) {
    sim::Op& copy = made_.ops.emplace_back(op);
    for (TensorRef& input : copy.inputs) input = Mapped(input);
    copy.control = MappedControl(op.control);
    for (sim::Output& output : copy.outputs) {
      if (output.storage == sim::Output::Storage::kInput) output.alias = Mapped(output.alias);
    }
  }

  // A collective's ops take no time: the sums are part of the transfers.
  sim::Op& Add(const sim::Op& of, const char* what, const std::string& name, std::vector<TensorRef> inputs) {
    sim::Op& op = made_.ops.emplace_back();
    op.name = fmt::format("{}/{}", of.name, name);
    op.type = what;
    op.inputs = std::move(inputs);
    op.framework_ops = 0;
    op.group = of.group;
    op.phase = of.phase;
    op.cost_us = 0;
    return op;
  }
  static sim::Output View(Bytes bytes, const TensorRef& of) {
    sim::Output view;
    view.bytes = bytes;
    view.storage = sim::Output::Storage::kInput;
    view.alias = of;
    return view;
  }
  static sim::Output Own(Bytes bytes) {
    sim::Output own;
    own.bytes = bytes;
    return own;
  }

  void AddCollective(const sim::Op& op, const Layout& layout) {
    AddBeginnings(op, layout);
    if (layout.kind->reduces) AddReduction(op, layout);
    if (layout.kind->has_root()) AddChain(op, layout);
    if (layout.kind->gathers) AddGathering(op, layout);
    if (layout.kind->exchanges) AddSending(op, layout);
    if (layout.kind->ends()) AddEnds(op, layout);
  }

  // Of the tensor of rank `from`, of which an AllGather gives the whole.
  Bytes ChunkOf(const sim::Op& op, const Layout& layout, int from, int chunk) const {
    const Bytes whole = OutputOf(op.inputs[static_cast<std::size_t>(from)]).bytes;
    return layout.kind->cuts() ? layout.ChunkOf(whole, chunk) : whole;
  }

  // What a rank has at first: chunks of its tensor, or the one that it gives to all.
  void AddBeginnings(const sim::Op& op, const Layout& layout) {
    for (int rank = 0; rank < layout.ranks; ++rank) {
      const TensorRef input = Mapped(op.inputs[static_cast<std::size_t>(rank)]);
      sim::Op& begins = Add(op, "CollectiveBegin", fmt::format("rank{}", rank), {input});
      begins.framework_ops = op.framework_ops;
      begins.control = MappedControl(op.control);
      for (int chunk = 0; chunk < layout.chunks; ++chunk)
        begins.outputs.push_back(View(ChunkOf(op, layout, rank, chunk), input));
    }
  }

  // At step s rank r gets from the one before it the sum so far of chunk r - 2 - s, and adds its own.
  void AddReduction(const sim::Op& op, const Layout& layout) {
    for (int step = 0; step < layout.steps(); ++step) {
      for (int rank = 0; rank < layout.ranks; ++rank) {
        const int chunk = layout.Wrap(rank - 2 - step);
        const TensorRef sum = step == 0 ? TensorRef{layout.Beginning(rank - 1), chunk}
                                        : TensorRef{layout.Reduction(step - 1, rank - 1), 0};
        Add(op, "CollectiveAdd", fmt::format("add{}/rank{}", step, rank),
            {sum, {layout.Beginning(rank), chunk}})
            .outputs.push_back(Own(ChunkOf(op, layout, rank, chunk)));
      }
    }
  }

  // The source, which has all chunks, has two on the way: it sends the next one when the next rank says that it has the one
  // before the last. All at once would share the link and arrive together; one alone would leave it idle meanwhile.
  void AddChain(const sim::Op& op, const Layout& layout) {
    const int source = layout.Source();
    for (int chunk = 0; chunk < layout.chunks; ++chunk) {
      for (int rank = 0; rank < layout.ranks; ++rank) {
        const TensorRef own = {layout.Beginning(rank), chunk};
        const TensorRef passed = {layout.Chained(chunk, rank - 1), 0};
        const std::string name = fmt::format("chunk{}/rank{}", chunk, rank);
        if (layout.kind->collects && rank != source) {
          Add(op, "CollectiveAdd", name, {passed, own})
              .outputs.push_back(Own(ChunkOf(op, layout, rank, chunk)));
          continue;
        }
        const TensorRef from = rank == source ? own : passed;
        sim::Op& copy = Add(op, "CollectiveCopy", name, {from});
        copy.outputs.push_back(View(ChunkOf(op, layout, rank, chunk), from));
        if (rank == source && chunk > 1) copy.control = {layout.Chained(chunk - 2, source + 1)};
      }
    }
  }

  // At step s rank r gets from the one before it the whole chunk r - 1 - s, which is passed on as it is.
  void AddGathering(const sim::Op& op, const Layout& layout) {
    for (int step = 0; step < layout.steps(); ++step) {
      for (int rank = 0; rank < layout.ranks; ++rank) {
        const TensorRef from = {step == 0 ? layout.Own(rank - 1) : layout.Gathering(step - 1, rank - 1), 0};
        const int chunk = layout.Wrap(rank - 1 - step);
        Add(op, "CollectiveCopy", fmt::format("copy{}/rank{}", step, rank), {from})
            .outputs.push_back(View(ChunkOf(op, layout, chunk, chunk), from));
      }
    }
  }

  // At step s rank r sends to rank r + 1 + s, so that no two send to one. All steps are due at once and queue in this order:
  // links of their own take them at once, shared ones one step after the other.
  void AddSending(const sim::Op& op, const Layout& layout) {
    for (int step = 0; step < layout.steps(); ++step) {
      for (int rank = 0; rank < layout.ranks; ++rank) {
        const int chunk = layout.Wrap(rank + 1 + step);
        const TensorRef from = {layout.Beginning(rank), chunk};
        Add(op, "CollectiveCopy", fmt::format("send{}/rank{}", step, rank), {from})
            .outputs.push_back(View(ChunkOf(op, layout, rank, chunk), from));
      }
    }
  }

  // Where a rank's result is put together.
  void AddEnds(const sim::Op& op, const Layout& layout) {
    for (int rank = 0; rank < layout.ranks; ++rank) {
      const TensorRef input = Mapped(op.inputs[static_cast<std::size_t>(rank)]);
      sim::Op& ends = Add(op, "CollectiveEnd", fmt::format("all/rank{}", rank), PartsOf(layout, rank, input));
      if (layout.kind->collects && rank != layout.root)
        for (int chunk = 0; chunk < layout.chunks; ++chunk)
          ends.control.push_back(layout.Chained(chunk, rank));
      const sim::Output& declared = op.outputs[static_cast<std::size_t>(rank)];
      sim::Output& output = ends.outputs.emplace_back(layout.kind->in_place() ? View(declared.bytes, input)
                                                                              : Own(declared.bytes));
      output.dtype = declared.dtype;
      output.shape = declared.shape;
    }
  }

  static std::vector<TensorRef> PartsOf(const Layout& layout, int rank, const TensorRef& input) {
    std::vector<TensorRef> parts;
    if (!layout.kind->exchanges) parts.push_back(input);
    if (layout.kind->exchanges) {
      parts.push_back({layout.Beginning(rank), rank});
      for (int step = 0; step < layout.steps(); ++step)
        parts.push_back({layout.Sending(step, layout.Wrap(rank - 1 - step)), 0});
    }
    if (layout.kind->spreads || (layout.kind->collects && rank == layout.root))
      for (int chunk = 0; chunk < layout.chunks; ++chunk) parts.push_back({layout.Chained(chunk, rank), 0});
    if (layout.kind->gathers) {
      parts.push_back({layout.Own(rank), 0});
      for (int step = 0; step < layout.steps(); ++step) parts.push_back({layout.Gathering(step, rank), 0});
    }
    return parts;
  }

  // In an order in which the tensors of a collective that another one makes have their device already.
  void Colocate(const sim::Op& op, const Layout& layout) {
    for (int rank = 0; rank < layout.ranks; ++rank) {
      const OpIndex producer = Mapped(op.inputs[static_cast<std::size_t>(rank)]).op;
      std::string& set = made_.ops[static_cast<std::size_t>(producer)].colocate;
      if (set.empty()) set = UnusedSet(fmt::format("{}/rank{}", op.name, rank));
      const std::string value = set;
      for (int block = 0; block < layout.blocks(); ++block)
        made_.ops[static_cast<std::size_t>(layout.first + block * layout.ranks + rank)].colocate = value;
    }
  }

  std::string UnusedSet(std::string name) {
    while (!sets_.insert(name).second) name += '\'';
    return name;
  }

  const OpGraph& graph_;
  std::set<std::string> sets_;                  // of colocation
  std::vector<std::optional<Layout>> layouts_;  // by op
  std::vector<OpIndex> first_;                  // by op: where it, or what it becomes, is in the new graph
  OpGraph made_;
};

}  // namespace

OpGraph ExpandCollectives(const OpGraph& graph) {
  return IsRankProgram(graph) ? Expansion(OfAllRanks(graph)).Run() : Expansion(graph).Run();
}

}  // namespace stowplan::formats
