#include "sim/formats/rank_program.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/collectives.h"
#include "sim/formats/collective_types.h"

namespace stowplan::formats {
namespace {

using sim::OpGraph;
using sim::OpIndex;
using sim::TensorRef;

constexpr std::int64_t kMostOps = std::int64_t{1} << 20;

[[noreturn]] void Fail(const sim::Op& op, const std::string& what) {
  throw InputError(fmt::format("op '{}': {}", op.name, what));
}

// 0 where it does not say.
std::int64_t RanksOf(const sim::Op& op) {
  const sim::Attribute* const found = sim::FindAttribute(op.attributes, sim::kRanksAttribute);
  const auto* ranks = found != nullptr ? std::get_if<std::int64_t>(&found->value) : nullptr;
  if (found != nullptr && (ranks == nullptr || *ranks < 2 || *ranks > sim::kMostRanks))
    Fail(op, fmt::format("`ranks` must be a whole number from 2 to {}", sim::kMostRanks));
  return ranks != nullptr ? *ranks : 0;
}

std::int64_t BytesOf(const sim::Attributes& attributes);

std::int64_t BytesOf(const sim::Attribute& attribute) {
  std::int64_t bytes = sizeof(attribute);
  if (const auto* text = std::get_if<std::string>(&attribute.value)) bytes += std::ssize(*text);
  if (const auto* object = std::get_if<sim::Attribute::Object>(&attribute.value)) bytes += BytesOf(*object);
  if (const auto* list = std::get_if<sim::Attribute::List>(&attribute.value))
    for (const sim::Attribute& item : *list) bytes += BytesOf(item);
  return bytes;
}

std::int64_t BytesOf(const sim::Attributes& attributes) {
  std::int64_t bytes = 0;
  for (const auto& [key, attribute] : attributes)
    bytes += std::int64_t{sizeof(key)} + std::ssize(key) + BytesOf(attribute);
  return bytes;
}

// Of ranks that are to be written out, not of the symmetric form.
bool IsOfOneRank(const sim::Op& op) {
  return IsWholeCollective(op) && sim::FindAttribute(op.attributes, sim::kStrideAttribute) == nullptr;
}

// Of all collectives that are to be written out.
int CommonRanks(const OpGraph& graph) {
  const sim::Op* first = nullptr;
  for (const sim::Op& op : graph.ops) {
    if (!IsOfOneRank(op)) continue;
    if (first == nullptr) first = &op;
    if (RanksOf(op) != RanksOf(*first))
      Fail(op,
           fmt::format(
               "is of {} ranks, '{}' of {}; the program of one rank is written out for ranks of one group "
               "(none: `ranks` is missing)",
               RanksOf(op), first->name, RanksOf(*first)));
    if (op.inputs.size() != 1 || op.outputs.size() != 1)
      Fail(op, fmt::format("says its `ranks`, so it takes and gives the tensor of one rank, not {} and {}",
                           op.inputs.size(), op.outputs.size()));
  }
  return static_cast<int>(RanksOf(*first));
}

class Writer {
 public:
  explicit Writer(const OpGraph& graph) : graph_(graph), ranks_(CommonRanks(graph)) {
    for (const std::vector<OpIndex>& members : graph.collectives())
      first_member_.emplace(graph.ops[static_cast<std::size_t>(members.front())].collective, members.front());
    std::int64_t next = 0, bytes = 0;
    for (const sim::Op& op : graph.ops) {
      next += ranks_;
      if (next > kMostOps)
        Fail(op, fmt::format("up to here {} ranks have more than {} ops", ranks_, kMostOps));
      bytes += BytesOfCopy(op) * ranks_;
      if (bytes > kMostCopiedBytes)
        Fail(op, fmt::format("up to here the names, attributes and tensors of {} ranks take {} bytes; {} are "
                             "the most of a graph",
                             ranks_, bytes, kMostCopiedBytes));
    }
  }

  OpGraph Run() {
    OpGraph made;
    made.name = graph_.name;
    made.attributes = graph_.attributes;
    made.ops.reserve(graph_.ops.size() * static_cast<std::size_t>(ranks_));
    for (OpIndex op = 0; op < graph_.size(); ++op) {
      for (int rank = 0; rank < ranks_; ++rank) made.ops.push_back(Copied(op, rank));
    }
    made.Finish();
    return made;
  }

 private:
  OpIndex Mapped(OpIndex op, int rank) const { return op * ranks_ + rank; }
  TensorRef Mapped(const TensorRef& tensor, int rank) const {
    return {Mapped(tensor.op, rank), tensor.output};
  }

  sim::Op Copied(OpIndex index, int rank) const {
    const sim::Op& op = graph_.ops[static_cast<std::size_t>(index)];
    sim::Op copy = op;
    const std::string prefix = fmt::format("rank{}", rank);
    copy.name = prefix + "/" + op.name;
    copy.group = op.group.empty() ? prefix : prefix + "/" + op.group;
    copy.colocate = prefix;
    for (TensorRef& input : copy.inputs) input = Mapped(input, rank);
    for (OpIndex& control : copy.control) control = Mapped(control, rank);
    for (sim::Output& output : copy.outputs)
      if (output.storage == sim::Output::Storage::kInput) output.alias = Mapped(output.alias, rank);
    if (op.collective >= 0) copy.collective = Mapped(first_member_.at(op.collective), rank);
    if (IsOfOneRank(op)) BecomeMember(index, rank, copy);
    return copy;
  }

  // A framework's `root` of another meaning would be taken for ours.
  void BecomeMember(OpIndex index, int rank, sim::Op& member) const {
    member.collective = (graph_.size() + index) * ranks_;
    std::erase_if(member.attributes, [](const auto& attribute) {
      return attribute.first == sim::kRootAttribute &&
             !std::holds_alternative<std::int64_t>(attribute.second.value);
    });
    sim::Output& output = member.outputs.front();
    const sim::Bytes whole = InputBytes(graph_.ops[static_cast<std::size_t>(index)]);
    // The parts of a tensor that does not divide differ by a byte.
    const bool exchanges = member.type == "AllToAll" && output.bytes == whole;
    if (member.type == "ReduceScatter" || exchanges)
      output.bytes = sim::ChunkOf(whole, rank, ranks_) * (exchanges ? ranks_ : 1);
    ShareInPlace(member);
  }
  sim::Bytes InputBytes(const sim::Op& op) const {
    const TensorRef& input = op.inputs.front();
    return graph_.ops[static_cast<std::size_t>(input.op)]
        .outputs[static_cast<std::size_t>(input.output)]
        .bytes;
  }

  const OpGraph& graph_;
  const int ranks_;
  std::map<std::int32_t, OpIndex> first_member_;  // of collectives that have members already
};

}  // namespace

std::int64_t BytesOfCopy(const sim::Op& op) {
  std::int64_t bytes =
      std::ssize(op.name) + std::ssize(op.type) + std::ssize(op.group) + std::ssize(op.phase);
  bytes += std::ssize(op.inputs) * std::int64_t{sizeof(TensorRef)};
  bytes += std::ssize(op.control) * std::int64_t{sizeof(OpIndex)};
  for (const sim::Output& output : op.outputs)
    bytes += std::int64_t{sizeof(output)} + std::ssize(output.dtype) +
             std::ssize(output.shape) * std::int64_t{sizeof(std::int64_t)};
  for (const auto& cost : op.cost_us_by_kind) bytes += std::int64_t{sizeof(cost)} + std::ssize(cost.first);
  return bytes + BytesOf(op.attributes);
}

bool IsRankProgram(const OpGraph& graph) {
  return std::ranges::any_of(graph.ops, [](const sim::Op& op) {
    return IsOfOneRank(op) && sim::FindAttribute(op.attributes, sim::kRanksAttribute) != nullptr;
  });
}

OpGraph OfAllRanks(const OpGraph& graph) {
  return Writer(graph).Run();
}

}  // namespace stowplan::formats
