#include "tests/formats/expansion.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/collectives.h"

namespace stowplan::formats {
namespace {

using sim::Bytes;
using sim::OpGraph;
using sim::OpIndex;
using sim::TensorRef;

struct CollectiveKind {
  const char* type;
  bool reduces = false;    // around the ring; each rank has the sum of its chunk
  bool gathers = false;    // around the ring; each rank has all chunks
  bool spreads = false;    // along a chain from the root; each rank has the root's chunks
  bool collects = false;   // along a chain to the root, which has the sums of all chunks
  bool exchanges = false;  // each rank gets its chunk of every rank's tensor

  bool ends() const { return gathers || has_root() || exchanges; }
  bool has_root() const { return spreads || collects; }
  // Of tensors alike, in which the result stands.
  bool in_place() const { return reduces || has_root(); }
  bool cuts() const { return in_place() || exchanges; }
};
constexpr CollectiveKind kKinds[] = {{.type = "AllReduce", .reduces = true, .gathers = true},
                                     {.type = "ReduceScatter", .reduces = true},
                                     {.type = "AllGather", .gathers = true},
                                     {.type = "Broadcast", .spreads = true},
                                     {.type = "Reduce", .collects = true},
                                     {.type = "AllToAll", .exchanges = true}};

const CollectiveKind* KindOf(const sim::Op& op) {
  const auto* const found =
      std::ranges::find_if(kKinds, [&](const CollectiveKind& kind) { return op.type == kind.type; });
  return found != std::end(kKinds) ? found : nullptr;
}

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
    if (!kind->has_root()) return sim::ChunkOf(whole, chunk, chunks);
    const int halves = 2 * chunks - 1;
    const Bytes second = sim::ChunkOf(whole, 2 * chunk, halves);
    return chunk == 0 ? second : sim::ChunkOf(whole, 2 * chunk - 1, halves) + second;
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
    OpIndex next = 0;
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
      const sim::Op& op = graph.ops[i];
      first_.push_back(next);
      const CollectiveKind* kind = KindOf(op);
      if (kind != nullptr)
        layouts_[i] = Layout{kind, static_cast<int>(op.inputs.size()), RootOf(op), next, ChunksOf(op, *kind)};
      next += layouts_[i] ? static_cast<OpIndex>(layouts_[i]->size()) : 1;
    }
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
  const sim::Output& OutputOf(const TensorRef& tensor) const {
    return graph_.ops[static_cast<std::size_t>(tensor.op)].outputs[static_cast<std::size_t>(tensor.output)];
  }

  static int RootOf(const sim::Op& op) {
    return static_cast<int>(sim::FindNumber(op.attributes, sim::kRootAttribute).value_or(0));
  }

  int ChunksOf(const sim::Op& op, const CollectiveKind& kind) const {
    const int ranks = static_cast<int>(op.inputs.size());
    if (kind.has_root() && ranks > 1) return ChainChunks(OutputOf(op.inputs.front()).bytes, ranks);
    return kind.cuts() ? ranks : 1;
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
  return Expansion(graph).Run();
}

}  // namespace stowplan::formats
