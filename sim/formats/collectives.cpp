#include "sim/formats/collectives.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/collectives.h"
#include "sim/formats/rank_program.h"

namespace stowplan::formats {
namespace {

using sim::Bytes;
using sim::CollectiveType;
using sim::OpGraph;
using sim::OpIndex;
using sim::TensorRef;

// Members of a graph's collectives, and waits of and for them.
constexpr std::int64_t kMostMembers = std::int64_t{1} << 20;

[[noreturn]] void Fail(const sim::Op& op, const std::string& what) {
  throw InputError(fmt::format("op '{}': {}", op.name, what));
}

class Splitting {
 public:
  explicit Splitting(const OpGraph& graph) : graph_(graph), members_(graph.ops.size(), 0) {
    std::int64_t next = 0, bytes = 0;
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
      const sim::Op& op = graph.ops[i];
      first_.push_back(static_cast<OpIndex>(next));
      if (IsWholeCollective(op)) {
        Check(op);
        members_[i] = static_cast<std::int32_t>(op.inputs.size());
        made_members_ += members_[i];
        bytes += members_[i] * BytesOfCopy(Common(op));
        if (made_members_ > kMostMembers)
          Fail(op, fmt::format("the collectives up to here have {} ranks; {} are the most of a graph",
                               made_members_, kMostMembers));
        if (bytes > kMostCopiedBytes)
          Fail(op, fmt::format("the names and attributes of the ranks of the collectives up to here take {} "
                               "bytes; {} are the "
                               "most of a graph",
                               bytes, kMostCopiedBytes));
      }
      next += std::max(members_[i], 1);
    }
    CheckWaits();
  }

  OpGraph Run() {
    for (const sim::Op& op : graph_.ops) sets_.insert(op.colocate);
    made_.name = graph_.name;
    made_.attributes = graph_.attributes;
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      if (members_[i] == 0) {
        Add(graph_.ops[i]);
      } else {
        AddMembers(graph_.ops[i], members_[i]);
      }
    }
    // In an order in which the tensors of a collective that another one makes have their device already.
    for (const OpIndex op : graph_.topological_order()) Colocate(op);
    made_.Finish();
    return std::move(made_);
  }

 private:
  static void Check(const sim::Op& op) {
    if (op.outputs.size() != op.inputs.size())
      Fail(op, fmt::format("has {} outputs, but must have one for each of its {} ranks", op.outputs.size(),
                           op.inputs.size()));
    const bool whole = sim::FindAttribute(op.attributes, sim::kStrideAttribute) == nullptr;
    if (op.inputs.size() < (whole ? 2 : 1))
      Fail(op, fmt::format("a collective of {} rank{}; it takes a tensor of each of 2 or more",
                           op.inputs.size(), op.inputs.size() == 1 ? "" : "s"));
    const bool shares = std::ranges::any_of(
        op.outputs, [](const sim::Output& output) { return output.storage != sim::Output::Storage::kOwn; });
    if (shares)
      Fail(op,
           fmt::format("has an output in another's storage, but {} says itself where results are", op.type));
    if (!op.colocate.empty())
      Fail(op,
           fmt::format("has colocate, but {} must have none: each rank is where its input is made", op.type));
  }

  // Whoever waits for a collective waits for each of its ranks, and each of its ranks for all that it waits for.
  void CheckWaits() const {
    std::int64_t waits = 0;
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      for (const OpIndex before : graph_.ops[i].control) {
        const std::int64_t of = members_[static_cast<std::size_t>(before)];
        if (of > 0 || members_[i] > 0) waits += std::max<std::int64_t>(of, 1) * std::max(members_[i], 1);
      }
      if (waits > kMostMembers)
        Fail(graph_.ops[i],
             fmt::format("up to here the ranks of collectives and those that wait for them make {} waits; "
                         "{} are the most of a graph",
                         waits, kMostMembers));
    }
  }

  TensorRef Mapped(const TensorRef& tensor) const {
    const auto at = static_cast<std::size_t>(tensor.op);
    if (members_[at] == 0) return {first_[at], tensor.output};
    return {first_[at] + tensor.output, 0};
  }
  std::vector<OpIndex> MappedControl(const std::vector<OpIndex>& control) const {
    std::vector<OpIndex> mapped;
    for (const OpIndex op : control) {
      const auto at = static_cast<std::size_t>(op);
      for (std::int32_t member = 0; member < std::max(members_[at], 1); ++member)
        mapped.push_back(first_[at] + member);
    }
    return mapped;
  }

  void Add(const sim::Op& op) {
    sim::Op& copy = made_.ops.emplace_back(op);
    if (op.collective >= 0) {
      const auto [found, fresh] = numbers_.emplace(op.collective, next_number_);
      if (fresh) ++next_number_;
      copy.collective = found->second;
    }
    for (TensorRef& input : copy.inputs) input = Mapped(input);
    copy.control = MappedControl(op.control);
    for (sim::Output& output : copy.outputs)
      if (output.storage == sim::Output::Storage::kInput) output.alias = Mapped(output.alias);
  }
  // What all members have.
  static sim::Op Common(const sim::Op& op) {
    sim::Op common = op;
    common.inputs = {};
    common.outputs = {};
    common.control = {};
    return common;
  }
  void AddMembers(const sim::Op& op, std::int32_t members) {
    const sim::Op common = Common(op);
    const std::vector<OpIndex> control = MappedControl(op.control);
    const std::int32_t number = next_number_++;
    for (std::int32_t rank = 0; rank < members; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      sim::Op& member = made_.ops.emplace_back(common);
      if (members > 1) member.name = fmt::format("{}/rank{}", op.name, rank);
      member.collective = number;
      member.inputs = {Mapped(op.inputs[at])};
      member.control = control;
      member.outputs = {op.outputs[at]};
      ShareInPlace(member);
    }
  }

  void Colocate(OpIndex op) {
    const auto at = static_cast<std::size_t>(op);
    std::set<OpIndex> producers;
    for (std::int32_t rank = 0; rank < members_[at]; ++rank) {
      sim::Op& member = made_.ops[static_cast<std::size_t>(first_[at] + rank)];
      sim::Op& producer = made_.ops[static_cast<std::size_t>(member.inputs.front().op)];
      if (!producers.insert(member.inputs.front().op).second)
        Fail(graph_.ops[at],
             fmt::format("two ranks read tensors of '{}'; each rank's must be made by an op of its own",
                         producer.name));
      if (producer.colocate.empty())
        producer.colocate = UnusedSet(fmt::format("{}/rank{}", graph_.ops[at].name, rank));
      member.colocate = producer.colocate;
    }
  }
  std::string UnusedSet(std::string name) {
    while (!sets_.insert(name).second) name += '\'';
    return name;
  }

  const OpGraph& graph_;
  std::set<std::string> sets_;         // of colocation
  std::vector<std::int32_t> members_;  // by op: that it becomes; 0 = it stays as it is
  std::vector<OpIndex> first_;         // by op: where it, or what it becomes, is in the new graph
  std::int64_t made_members_ = 0;
  std::int32_t next_number_ = 0;                  // of a collective
  std::map<std::int32_t, std::int32_t> numbers_;  // of those that have members already: the new ones
  OpGraph made_;
};

// What members give must follow from what they take.
class MemberCheck {
 public:
  MemberCheck(const OpGraph& graph, const sim::Collective& collective)
      : graph_(graph), collective_(collective) {
    for (const OpIndex member : collective.members) all_ += InputOf(member) * collective.copies;
  }

  void Run() const {
    for (std::size_t i = 0; i < collective_.members.size(); ++i) {
      const sim::Op& op = OpAt(collective_.members[i]);
      CheckFields(op);
      const bool alike = IsInPlace(op) || collective_.type == CollectiveType::kReduceScatter;
      const Bytes first = InputOf(collective_.members.front()), own = InputOf(collective_.members[i]);
      if (alike && own != first)
        Fail(op, fmt::format("takes {} bytes, but '{}', another rank of it, {}; they must be alike", own,
                             OpAt(collective_.members.front()).name, first));
      CheckResult(op, i);
    }
  }

 private:
  const sim::Op& OpAt(OpIndex op) const { return graph_.ops[static_cast<std::size_t>(op)]; }
  Bytes InputOf(OpIndex member) const {
    const TensorRef& input = OpAt(member).inputs.front();
    return OpAt(input.op).outputs[static_cast<std::size_t>(input.output)].bytes;
  }

  static void CheckFields(const sim::Op& op) {
    const auto refuse = [&](bool set, const char* field) {
      if (set) Fail(op, fmt::format("has {}, but {} must have none: its cluster prices it", field, op.type));
    };
    refuse(op.cost_us || !op.cost_us_by_kind.empty(), "cost_us");
    refuse(op.flops > 0, "flops");
    refuse(op.persistent_bytes > 0, "persistent_bytes");
    refuse(op.workspace_bytes > 0, "workspace_bytes");
  }

  void CheckResult(const sim::Op& op, std::size_t rank) const {
    const bool symmetric = collective_.copies > 1;
    if (symmetric && collective_.type == CollectiveType::kAllToAll) return;  // experts are not chosen alike
    const Bytes given = op.outputs.front().bytes, wanted = Wanted(rank);
    // Of the symmetric form no rank is one in particular.
    const bool another = symmetric && collective_.type == CollectiveType::kReduceScatter &&
                         given == wanted + 1 && InputOf(collective_.members[rank]) % collective_.ranks() > 0;
    if (given != wanted && !another)
      Fail(op, fmt::format("its output has {} bytes, but must have {}", given, wanted));
  }
  Bytes Wanted(std::size_t rank) const {
    const auto ranks = collective_.ranks();
    const Bytes own = InputOf(collective_.members[rank]);
    switch (collective_.type) {
      case CollectiveType::kAllGather:
        return all_;
      case CollectiveType::kReduceScatter:
        return collective_.copies > 1 ? own / ranks
                                      : sim::ChunkOf(own, static_cast<std::int64_t>(rank), ranks);
      case CollectiveType::kAllToAll: {
        Bytes sum = 0;
        for (const OpIndex from : collective_.members)
          sum += sim::ChunkOf(InputOf(from), static_cast<std::int64_t>(rank), ranks);
        return sum;
      }
      default:
        return own;
    }
  }

  const OpGraph& graph_;
  const sim::Collective& collective_;
  Bytes all_ = 0;  // of all ranks' tensors
};

}  // namespace

OpGraph SplitCollectives(const OpGraph& graph) {
  OpGraph made;
  if (IsRankProgram(graph)) {
    made = Splitting(OfAllRanks(graph)).Run();
  } else {
    made = Splitting(graph).Run();
  }
  for (const sim::Collective& collective : sim::CollectivesOf(made)) MemberCheck(made, collective).Run();
  return made;
}

}  // namespace stowplan::formats
