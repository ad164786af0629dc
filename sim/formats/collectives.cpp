#include "sim/formats/collectives.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/error.h"
#include "sim/formats/rank_program.h"

namespace berth::formats {
namespace {

using sim::Bytes;
using sim::OpGraph;
using sim::OpIndex;
using sim::TensorRef;

struct Kind {
  const char* type;
  bool reduces;
  bool gathers;
};
// A ring of an AllReduce among kMostRanks is half a million ops, and as many again in a small file take all of 2 GB to simulate.
constexpr std::int64_t kMostRingOps = std::int64_t{1} << 20;  // of a graph

constexpr Kind kKinds[] = {
    {"AllReduce", true, true}, {"ReduceScatter", true, false}, {"AllGather", false, true}};

const Kind* KindOf(const sim::Op& op) {
  const auto found = std::ranges::find_if(kKinds, [&](const Kind& kind) { return op.type == kind.type; });
  return found != std::end(kKinds) ? found : nullptr;
}

// The ring ops of one collective stand one block behind the other, one op of each rank in a block: the beginning, a step
// each of the reduction and of the gathering, and of what gathers the end.
struct Ring {
  const Kind* kind = nullptr;
  int ranks = 0;
  OpIndex first = 0;  // in the new graph

  int steps() const { return ranks - 1; }
  int blocks() const { return 1 + (kind->reduces ? steps() : 0) + (kind->gathers ? steps() + 1 : 0); }
  std::int64_t size() const { return std::int64_t{blocks()} * ranks; }
  int Wrap(int rank) const { return ((rank % ranks) + ranks) % ranks; }

  OpIndex Beginning(int rank) const { return first + Wrap(rank); }
  OpIndex Reduction(int step, int rank) const { return first + (1 + step) * ranks + Wrap(rank); }
  OpIndex Gathering(int step, int rank) const {
    return first + (1 + (kind->reduces ? steps() : 0) + step) * ranks + Wrap(rank);
  }
  OpIndex End(int rank) const { return first + (blocks() - 1) * ranks + Wrap(rank); }
  // Rank r's own chunk, whole: what it gathers from, and what it has of a ReduceScatter.
  OpIndex Own(int rank) const { return kind->reduces ? Reduction(steps() - 1, rank) : Beginning(rank); }
};

class Expansion {
 public:
  explicit Expansion(const OpGraph& graph) : graph_(graph), rings_(graph.ops.size()) {
    std::int64_t next = 0, of_rings = 0;
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
      const sim::Op& op = graph.ops[i];
      if (next >= sim::kMaxOps) throw InputError("a graph of 2^31 ops or more, those of its rings counted");
      first_.push_back(static_cast<OpIndex>(next));
      if (const Kind* kind = KindOf(op)) {
        if (op.inputs.size() > static_cast<std::size_t>(kMostRanks))
          Fail(op, fmt::format("a collective of {} ranks; {} are the most", op.inputs.size(), kMostRanks));
        rings_[i] = Ring{kind, static_cast<int>(op.inputs.size()), first_.back()};
        Check(op, *rings_[i]);
        next += rings_[i]->size();
        of_rings += rings_[i]->size();
        if (of_rings > kMostRingOps)
          Fail(op, fmt::format("the collectives up to here are rings of {} ops; {} are the most of a graph",
                               of_rings, kMostRingOps));
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
                        (rings_.back() ? rings_.back()->size() : 1));
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      if (rings_[i]) {
        AddRing(graph_.ops[i], *rings_[i]);
      } else {
        AddOp(graph_.ops[i]);
      }
    }
    for (const OpIndex op : graph_.topological_order()) {
      if (const auto& ring = rings_[static_cast<std::size_t>(op)])
        Colocate(graph_.ops[static_cast<std::size_t>(op)], *ring);
    }
    made_.Finish();
    return std::move(made_);
  }

 private:
  [[noreturn]] static void Fail(const sim::Op& op, const std::string& what) {
    throw InputError(fmt::format("op '{}': {}", op.name, what));
  }

  // Whoever waits for a ring waits for each of its ranks, and each rank of a ring for all that it waits for.
  void CheckWaits() const {
    std::int64_t waits = 0;
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const sim::Op& op = graph_.ops[i];
      for (const OpIndex before : op.control) {
        const auto& of = rings_[static_cast<std::size_t>(before)];
        if (of || rings_[i]) waits += std::int64_t{of ? of->ranks : 1} * (rings_[i] ? rings_[i]->ranks : 1);
      }
      if (waits > kMostRingOps)
        Fail(op,
             fmt::format("up to here the ranks of collectives and those that wait for them make {} waits; "
                         "{} are the most of a graph",
                         waits, kMostRingOps));
    }
  }

  const sim::Output& OutputOf(const TensorRef& tensor) const {
    return graph_.ops[static_cast<std::size_t>(tensor.op)].outputs[static_cast<std::size_t>(tensor.output)];
  }

  // What a ring has no place for; it would be lost.
  static void CheckFields(const sim::Op& op) {
    const auto refuse = [&](bool set, const char* field, const char* why) {
      if (set) Fail(op, fmt::format("has {}, but {} must have none: {}", field, op.type, why));
    };
    const char* priced = "its links price it";
    refuse(op.cost_us || !op.cost_us_by_kind.empty(), "cost_us", priced);
    refuse(op.flops > 0, "flops", priced);
    const char* nowhere = "it becomes a ring of many ops";
    refuse(op.persistent_bytes > 0, "persistent_bytes", nowhere);
    refuse(op.workspace_bytes > 0, "workspace_bytes", nowhere);
    refuse(!op.attributes.empty(), "attributes", nowhere);
    refuse(!op.colocate.empty(), "colocate", "each rank is where its input is made");
    refuse(std::ranges::any_of(
               op.outputs,
               [](const sim::Output& output) { return output.storage != sim::Output::Storage::kOwn; }),
           "an output in another's storage", nowhere);
  }

  void Check(const sim::Op& op, const Ring& ring) const {
    CheckFields(op);
    if (ring.ranks < 2)
      Fail(op, fmt::format("a collective of {} rank; it takes a tensor of each of 2 or more", ring.ranks));
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
                           ring.ranks));
    const Bytes each = OutputOf(op.inputs.front()).bytes;
    for (int rank = 0; rank < ring.ranks; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const Bytes given = OutputOf(op.inputs[at]).bytes;
      if (ring.kind->reduces && given != each)
        Fail(op, fmt::format("adds tensors of {} and {} bytes; they must be alike", each, given));
      const Bytes wanted = !ring.kind->reduces  ? all
                           : ring.kind->gathers ? each
                                                : formats::ChunkOf(each, rank, ring.ranks);
      if (op.outputs[at].bytes != wanted)
        Fail(op, fmt::format("output {} has {} bytes, but must have {}", rank, op.outputs[at].bytes, wanted));
    }
  }

  TensorRef Mapped(const TensorRef& tensor) const {
    const auto at = static_cast<std::size_t>(tensor.op);
    if (!rings_[at]) return {first_[at], tensor.output};
    return {ResultOf(*rings_[at], tensor.output), 0};
  }
  static OpIndex ResultOf(const Ring& ring, int rank) {
    return ring.kind->gathers ? ring.End(rank) : ring.Own(rank);
  }

  std::vector<OpIndex> MappedControl(const std::vector<OpIndex>& control) const {
    std::vector<OpIndex> mapped;
    for (const OpIndex op : control) {
      const auto at = static_cast<std::size_t>(op);
      if (!rings_[at]) {
        mapped.push_back(first_[at]);
        continue;
      }
      for (int rank = 0; rank < rings_[at]->ranks; ++rank) mapped.push_back(ResultOf(*rings_[at], rank));
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

  // A ring's op takes no time: the sums are part of the transfers.
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

  void AddRing(const sim::Op& op, const Ring& ring) {
    AddBeginnings(op, ring);
    if (ring.kind->reduces) AddReduction(op, ring);
    if (ring.kind->gathers) AddGathering(op, ring);
  }

  Bytes ChunkOf(const sim::Op& op, const Ring& ring, int chunk) const {
    if (!ring.kind->reduces) return OutputOf(op.inputs[static_cast<std::size_t>(ring.Wrap(chunk))]).bytes;
    return formats::ChunkOf(OutputOf(op.inputs.front()).bytes, ring.Wrap(chunk), ring.ranks);
  }

  // What a rank has at first: chunks of what is added, or the one that it gives to all.
  void AddBeginnings(const sim::Op& op, const Ring& ring) {
    for (int rank = 0; rank < ring.ranks; ++rank) {
      const TensorRef input = Mapped(op.inputs[static_cast<std::size_t>(rank)]);
      sim::Op& begins = Add(op, "CollectiveBegin", fmt::format("rank{}", rank), {input});
      begins.framework_ops = op.framework_ops;
      begins.control = MappedControl(op.control);
      for (int chunk = 0; chunk < (ring.kind->reduces ? ring.ranks : 1); ++chunk)
        begins.outputs.push_back(View(ChunkOf(op, ring, ring.kind->reduces ? chunk : rank), input));
    }
  }

  // At step s rank r gets from the one before it the sum so far of chunk r - 2 - s, and adds its own.
  void AddReduction(const sim::Op& op, const Ring& ring) {
    for (int step = 0; step < ring.steps(); ++step) {
      for (int rank = 0; rank < ring.ranks; ++rank) {
        const int chunk = ring.Wrap(rank - 2 - step);
        const TensorRef sum = step == 0 ? TensorRef{ring.Beginning(rank - 1), chunk}
                                        : TensorRef{ring.Reduction(step - 1, rank - 1), 0};
        Add(op, "CollectiveAdd", fmt::format("add{}/rank{}", step, rank),
            {sum, {ring.Beginning(rank), chunk}})
            .outputs.push_back(Own(ChunkOf(op, ring, chunk)));
      }
    }
  }

  // At step s rank r gets from the one before it the whole chunk r - 1 - s, which is passed on as it is.
  void AddGathering(const sim::Op& op, const Ring& ring) {
    for (int step = 0; step < ring.steps(); ++step) {
      for (int rank = 0; rank < ring.ranks; ++rank) {
        const TensorRef from = {step == 0 ? ring.Own(rank - 1) : ring.Gathering(step - 1, rank - 1), 0};
        Add(op, "CollectiveCopy", fmt::format("copy{}/rank{}", step, rank), {from})
            .outputs.push_back(View(ChunkOf(op, ring, rank - 1 - step), from));
      }
    }
    for (int rank = 0; rank < ring.ranks; ++rank) {
      const TensorRef input = Mapped(op.inputs[static_cast<std::size_t>(rank)]);
      sim::Op& ends = Add(op, "CollectiveEnd", fmt::format("all/rank{}", rank), {input, {ring.Own(rank), 0}});
      for (int step = 0; step < ring.steps(); ++step) ends.inputs.push_back({ring.Gathering(step, rank), 0});
      const sim::Output& declared = op.outputs[static_cast<std::size_t>(rank)];
      // A sum stands where the rank's tensor stood.
      sim::Output& output =
          ends.outputs.emplace_back(ring.kind->reduces ? View(declared.bytes, input) : Own(declared.bytes));
      output.dtype = declared.dtype;
      output.shape = declared.shape;
    }
  }

  // In an order in which the tensors of a collective that another one makes have their device already.
  void Colocate(const sim::Op& op, const Ring& ring) {
    for (int rank = 0; rank < ring.ranks; ++rank) {
      const OpIndex producer = Mapped(op.inputs[static_cast<std::size_t>(rank)]).op;
      std::string& set = made_.ops[static_cast<std::size_t>(producer)].colocate;
      if (set.empty()) set = UnusedSet(fmt::format("{}/rank{}", op.name, rank));
      const std::string value = set;
      for (int block = 0; block < ring.blocks(); ++block)
        made_.ops[static_cast<std::size_t>(ring.first + block * ring.ranks + rank)].colocate = value;
    }
  }

  std::string UnusedSet(std::string name) {
    while (!sets_.insert(name).second) name += '\'';
    return name;
  }

  const OpGraph& graph_;
  std::set<std::string> sets_;              // of colocation
  std::vector<std::optional<Ring>> rings_;  // by op
  std::vector<OpIndex> first_;              // by op: where it, or its ring, is in the new graph
  OpGraph made_;
};

}  // namespace

bool IsCollective(const sim::Op& op) {
  return KindOf(op) != nullptr;
}

bool HasCollectives(const OpGraph& graph) {
  return std::ranges::any_of(graph.ops, IsCollective);
}

Bytes ChunkOf(Bytes bytes, int of, int ranks) {
  const auto up_to = [&](int i) { return bytes / ranks * i + bytes % ranks * i / ranks; };
  return up_to(of + 1) - up_to(of);
}

OpGraph ExpandCollectives(const OpGraph& graph) {
  return IsRankProgram(graph) ? Expansion(OfAllRanks(graph)).Run() : Expansion(graph).Run();
}

}  // namespace berth::formats
