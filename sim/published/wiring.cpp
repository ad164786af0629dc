#include "sim/published/wiring.h"

#include <algorithm>
#include <set>

#include "sim/published_rules.h"

namespace stowplan::sim {

// By producer, in the order of consumers. Counts `producers` on the way.
std::vector<std::vector<PublishedWiring::Reader>> PublishedWiring::NamedReaders(const OpGraph& graph) {
  std::vector<std::vector<Reader>> named(graph.ops.size());
  producers.resize(graph.ops.size());
  for (OpIndex c = 0; c < graph.size(); ++c) {
    const auto name = [&](OpIndex producer, std::int32_t output) {
      auto& list = named[static_cast<std::size_t>(producer)];
      if (!list.empty() && list.back().consumer == c) {
        list.back().output = output;
      } else {
        list.push_back({c, output});
        ++producers[static_cast<std::size_t>(c)];
      }
    };
    const Op& op = graph.ops[static_cast<std::size_t>(c)];
    for (const TensorRef& input : op.inputs) name(input.op, input.output);
    for (const OpIndex control : op.control) name(control, 0);
  }
  return named;
}

void PublishedWiring::AddOp(const OpGraph& graph, OpIndex op, const std::vector<Reader>& readers_of_op) {
  const auto& outputs = graph.ops[static_cast<std::size_t>(op)].outputs;
  const auto first_transfer = static_cast<std::uint32_t>(durations.size());
  transfers.push_back(first_transfer);
  std::set<std::int32_t> read;
  for (const Reader& reader : readers_of_op) read.insert(reader.output);
  for (const std::int32_t output : read) {
    const auto o = static_cast<std::size_t>(output);
    durations.push_back(
        SendTime(o < outputs.size() ? outputs[o].bytes : 0));  // a control input of an op without
    tensors.push_back({op, output});
  }
  const auto count = static_cast<std::uint32_t>(readers_of_op.size());
  ops.push_back({static_cast<std::uint32_t>(readers.size()), count,
                 read.empty()      ? 0
                 : read.size() > 1 ? kSeveral
                                   : durations.back()});
  for (const Reader& reader : readers_of_op) readers.push_back(reader.consumer);
  readers.resize(ops.back().reader + InGroups(count), graph.size());
  first_edge.push_back(static_cast<std::uint32_t>(edges.size()));
  if (read.size() < 2) return;
  for (const Reader& reader : readers_of_op) {
    const auto transfer =
        std::find(tensors.begin() + first_transfer, tensors.end(), TensorRef{op, reader.output});
    edges.push_back({reader.consumer, static_cast<std::uint32_t>(transfer - tensors.begin())});
  }
}

PublishedWiring::PublishedWiring(const OpGraph& graph, const CostTable& costs) {
  const auto named = NamedReaders(graph);
  for (OpIndex op = 0; op < graph.size(); ++op) {
    AddOp(graph, op, named[static_cast<std::size_t>(op)]);
    Bytes sum = 0;
    for (const Output& output : graph.ops[static_cast<std::size_t>(op)].outputs) sum += output.bytes;
    output_bytes.push_back(sum);
    if (producers[static_cast<std::size_t>(op)] == 0) sources.push_back(op);
  }
  transfers.push_back(static_cast<std::uint32_t>(durations.size()));
  first_edge.push_back(static_cast<std::uint32_t>(edges.size()));
  SetTails(graph, costs);
}

// The longest path of readers, each where it takes least.
void PublishedWiring::SetTails(const OpGraph& graph, const CostTable& costs) {
  tails.resize(graph.ops.size());
  const std::vector<OpIndex>& order = graph.topological_order();
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    Picos& tail = tails[static_cast<std::size_t>(*op)];
    for (const OpIndex reader : graph.consumers(*op)) {
      const Picos least = std::ranges::min(costs.PricesOf(reader));
      tail = std::max({tail, least + tails[static_cast<std::size_t>(reader)], least + PauseAfterOp(least)});
    }
  }
}

UInt128 PublishedWiring::LatestTime(const CostTable& costs) const {
  UInt128 sum = 0;
  for (std::size_t op = 0; op < tails.size(); ++op)
    sum += UInt128(std::ranges::max(costs.PricesOf(static_cast<OpIndex>(op)))) + kOpPause;
  for (const Picos duration : durations) sum += UInt128(duration) + kSendPause;
  return sum;
}

}  // namespace stowplan::sim
