// Earliest task first against a second, plain implementation that looks at every pair before every step.
#include "agents/classical/earliest_first.h"

#include "agents/random_numbers.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

using sim::DeviceIndex;
using sim::OpIndex;
using sim::Picos;

class PlainEarliestFirst {
 public:
  PlainEarliestFirst(const Task& task, const std::vector<OpIndex>& favourite)
      : task_(task), graph_(task.problem->graph()), list_(task, task.devices), favourite_(favourite) {
    list_.Start(-1);
    const std::vector<OpIndex>& order = graph_.topological_order();
    for (std::size_t i = 0; i < order.size(); ++i) position_[order[i]] = static_cast<Picos>(i);
  }

  UnitPlacement Place() {
    while (true) {
      EndSources();
      Pair best = kNothing;
      DeviceIndex device = -1;
      for (const DeviceIndex d : task_.devices) {
        if (const Pair pair = BestOn(d); pair < best) {
          best = pair;
          device = d;
        }
      }
      if (best == kNothing) return list_.Finish();
      Run(std::get<2>(best), device);
    }
  }

 private:
  using Pair = std::tuple<Picos, Picos, OpIndex>;  // start, position, op
  static constexpr Pair kNothing = {std::numeric_limits<Picos>::max(), 0, -1};

  DeviceIndex DeviceOf(OpIndex op) const { return list_.DeviceOf(list_.UnitOf(op)); }

  bool IsReady(OpIndex op) const {
    if (end_.contains(op)) return false;
    const auto& dependencies = list_.DependenciesOf(op);
    return std::all_of(dependencies.begin(), dependencies.end(),
                       [&](const Dependency& dependency) { return end_.contains(dependency.producer); });
  }

  void EndSources() {
    for (const OpIndex op : graph_.topological_order()) {
      if (!IsReady(op) || DeviceOf(op) >= 0 || !graph_.ops[static_cast<std::size_t>(op)].IsSource()) continue;
      end_[op] = ProducersEnd(op);
    }
  }

  Picos ProducersEnd(OpIndex op) const {
    Picos end = 0;
    for (const Dependency& dependency : list_.DependenciesOf(op))
      end = std::max(end, end_.at(dependency.producer));
    return end;
  }

  Picos Start(OpIndex op, DeviceIndex d) {
    Picos start = free_[d];
    std::map<OpIndex, Picos> sending;
    for (const Dependency& dependency : list_.DependenciesOf(op)) {
      const OpIndex producer = dependency.producer;
      const DeviceIndex from = DeviceOf(producer);
      Picos there = end_.at(producer);
      if (from >= 0 && from != d) {
        const Picos transfer = task_.TransferEstimate(dependency.bytes, from, d);
        if (const auto sent = arrival_.find({producer, dependency.output, d}); sent != arrival_.end()) {
          there = sent->second;
        } else if (dependency.bytes == 0) {
          there += transfer;
        } else {
          sending[producer] += transfer;
          there = std::max({there, channel_[from], channel_[d]}) + sending[producer];
        }
      }
      start = std::max(start, there);
    }
    return start;
  }

  Pair BestOn(DeviceIndex d) {
    Pair any = kNothing;
    Pair bound = kNothing;
    Pair urgent = kNothing;
    for (OpIndex op = 0; op < graph_.size(); ++op) {
      if (!IsReady(op) || (DeviceOf(op) >= 0 && DeviceOf(op) != d)) continue;
      const Pair here = {Start(op, d), position_.at(op), op};
      any = std::min(any, here);
      if (DeviceOf(op) == d) {
        bound = std::min(bound, here);
        continue;
      }
      Picos everywhere = 0;
      for (const DeviceIndex other : task_.devices) everywhere = std::max(everywhere, Start(op, other));
      urgent = std::min(urgent, {everywhere, position_.at(op), op});
    }
    if (any == kNothing || favourite_.empty() || !last_.contains(d)) return any;
    const OpIndex child = favourite_[static_cast<std::size_t>(last_[d])];
    if (child < 0 || !IsReady(child) || DeviceOf(child) >= 0 || ProducersEnd(child) > std::get<0>(any))
      return any;
    for (const DeviceIndex other : task_.devices) {
      if (Start(child, other) < Start(child, d)) return any;
    }
    const Pair kept = {Start(child, d), position_.at(child), child};
    const Pair others = std::min(bound, urgent);
    return child != std::get<2>(any) && std::get<0>(others) > std::get<0>(kept) ? kept
           : child == std::get<2>(any)                                          ? any
                                                                                : others;
  }

  void Run(OpIndex op, DeviceIndex d) {
    if (DeviceOf(op) < 0) list_.Assign(list_.UnitOf(op), d);
    list_.BringSources(op);
    Picos start = free_[d];
    for (const Dependency& dependency : list_.DependenciesOf(op)) {
      const DeviceIndex from = DeviceOf(dependency.producer);
      Picos there = end_.at(dependency.producer);
      if (from != d) {
        const auto [arrival, is_new] = arrival_.try_emplace({dependency.producer, dependency.output, d});
        if (is_new) {
          const Picos transfer = task_.TransferEstimate(dependency.bytes, from, d);
          if (dependency.bytes == 0) {
            arrival->second = there + transfer;
          } else {
            const Picos sent = std::max(there, channel_[from]);
            const Picos received = std::max(sent, channel_[d]);
            channel_[from] = sent + transfer;
            channel_[d] = received + transfer;
            arrival->second = received + transfer;
          }
        }
        there = arrival->second;
      }
      start = std::max(start, there);
    }
    free_[d] = start + list_.Length(op, d);
    end_[op] = start + task_.problem->costs().at(op, d);
    last_[d] = op;
  }

  const Task& task_;
  const sim::OpGraph& graph_;
  ListSchedule list_;
  const std::vector<OpIndex>& favourite_;
  std::map<OpIndex, Picos> position_, end_;
  std::map<DeviceIndex, Picos> free_, channel_;
  std::map<DeviceIndex, OpIndex> last_;
  std::map<std::tuple<OpIndex, std::int32_t, DeviceIndex>, Picos> arrival_;
};

TEST(EarliestFirst, EqualsThePlainImplementation) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const auto c = RandomCase(seed, {.ops = 40,
                                     .gpus = 3,
                                     .colocate = seed % 3 == 0,
                                     .rules = seed % 5 == 0 ? sim::Rules::kPublished : sim::Rules::kNative});
    const Task task = MakeTask(*c->problem, "");
    ListSchedule list(task, task.devices);
    EXPECT_EQ(PlaceEarliestFirst(list, {}, -1), PlainEarliestFirst(task, {}).Place());

    Rng rng(seed, "favourites");
    std::vector<OpIndex> favourite;
    for (OpIndex op = 0; op < c->graph.size(); ++op) {
      const std::vector<OpIndex>& consumers = c->graph.consumers(op);
      favourite.push_back(consumers.empty() ? -1 : rng.Pick(consumers));
    }
    EXPECT_EQ(PlaceEarliestFirst(list, favourite, -1), PlainEarliestFirst(task, favourite).Place());
  }
}

}  // namespace
}  // namespace stowplan::agents
