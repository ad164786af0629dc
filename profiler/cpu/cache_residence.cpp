#include "profiler/cpu/cache_residence.h"

#include <map>

#include <unistd.h>

#include "profiler/executor/plan.h"

namespace stowplan::profiler {
namespace {

sim::Cluster OneDevice() {
  sim::Cluster cluster;
  cluster.name = "one";
  cluster.devices.push_back({.name = "cpu0", .kind = "cpu", .device_class = sim::DeviceClass::kCpu});
  cluster.Finish();
  return cluster;
}

// Ops in the order in which one device runs them: that of becoming issuable.
std::vector<sim::OpIndex> IssueOrder(const sim::OpGraph& graph, const Plan& plan) {
  std::vector<sim::OpIndex> order;
  std::vector<std::int32_t> waits;
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    waits.push_back(plan.ops[static_cast<std::size_t>(op)].waits_for);
    if (waits.back() == 0 && !graph.ops[static_cast<std::size_t>(op)].IsSource()) order.push_back(op);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const sim::OpIndex consumer : plan.ops[static_cast<std::size_t>(order[i])].consumers)
      if (--waits[static_cast<std::size_t>(consumer)] == 0) order.push_back(consumer);
  }
  return order;
}

// What a program touches, one thing after the other.
class Walk {
 public:
  explicit Walk(const Plan& plan)
      : plan_(plan), block_(plan.storages.size()), holders_(plan.storages.size()) {
    for (std::size_t i = 0; i < plan.storages.size(); ++i)
      if (!InPool(plan.storages[i])) block_[i] = NewThing(plan.storages[i].bytes);
  }

  void StartStep() {
    for (std::size_t i = 0; i < plan_.storages.size(); ++i) holders_[i] = plan_.storages[i].holders;
  }

  CacheResidence Run(sim::OpIndex op, std::int32_t set) {
    const PlannedOp& planned = plan_.ops[static_cast<std::size_t>(op)];
    for (const auto storage : planned.allocates) Allocate(static_cast<std::size_t>(storage));
    const std::size_t code = code_.emplace(set, things_.size()).first->second;
    if (code == things_.size()) NewThing(0);
    const std::int64_t oldest = OldestHeld();
    const auto cached = [&](std::size_t thing) { return things_[thing].touched >= oldest; };
    const auto block = [&](std::int32_t storage) { return block_[static_cast<std::size_t>(storage)]; };
    CacheResidence made{.inputs = {}, .outputs = {}, .code = cached(code)};
    for (const auto storage : planned.inputs) made.inputs.push_back(cached(block(storage)));
    for (const auto storage : planned.outputs) made.outputs.push_back(cached(block(storage)));
    Touch(code);
    for (const auto storage : planned.inputs) Touch(block(storage));
    for (const auto storage : planned.outputs) Touch(block(storage));
    for (const auto storage : planned.releases) Release(static_cast<std::size_t>(storage));
    return made;
  }

 private:
  // A block, or the code of a set.
  struct Thing {
    sim::Bytes bytes = 0;
    std::int64_t touched = -1;  // -1: never
  };

  static bool InPool(const Storage& storage) {
    return storage.kind == Storage::Kind::kOutput && storage.bytes > 0;
  }
  std::size_t NewThing(sim::Bytes bytes) {
    things_.push_back({.bytes = bytes});
    return things_.size() - 1;
  }

  // The tick since which nothing that was touched has been dropped.
  std::int64_t OldestHeld() const {
    sim::Bytes held = 0;
    std::int64_t oldest = now_ + 1;
    for (auto touch = last_.rbegin(); touch != last_.rend(); ++touch) {
      held += things_[touch->second].bytes;
      if (held > holds_) break;
      oldest = touch->first;
    }
    return oldest;
  }

  void Touch(std::size_t thing) {
    last_.erase(things_[thing].touched);
    things_[thing].touched = ++now_;
    last_.emplace(now_, thing);
  }

  void Allocate(std::size_t storage) {
    if (!InPool(plan_.storages[storage])) return;
    auto& free = free_[plan_.storages[storage].bytes];
    if (free.empty()) free.push_back(NewThing(plan_.storages[storage].bytes));
    block_[storage] = free.back();
    free.pop_back();
  }
  void Release(std::size_t storage) {
    if (--holders_[storage] == 0 && InPool(plan_.storages[storage]))
      free_[plan_.storages[storage].bytes].push_back(block_[storage]);
  }

  const sim::Bytes holds_ = CacheBytes() / 4 * 3;
  const Plan& plan_;
  std::vector<std::size_t> block_;     // by storage
  std::vector<std::int32_t> holders_;  // by storage
  std::vector<Thing> things_;
  std::map<std::int32_t, std::size_t> code_;  // by set
  std::map<std::int64_t, std::size_t> last_;  // things by their last touch
  std::map<sim::Bytes, std::vector<std::size_t>> free_;
  std::int64_t now_ = 0;
};

}  // namespace

sim::Bytes CacheBytes() {
  const long cache = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
  return cache > 0 ? cache : 1 << 20;
}

sim::Bytes TrafficOf(const sim::OpGraph& graph, sim::OpIndex op) {
  sim::Bytes bytes = 0;
  for (const sim::TensorRef input : graph.ops[static_cast<std::size_t>(op)].inputs)
    bytes +=
        graph.ops[static_cast<std::size_t>(input.op)].outputs[static_cast<std::size_t>(input.output)].bytes;
  for (const sim::Output& output : graph.ops[static_cast<std::size_t>(op)].outputs) bytes += output.bytes;
  return bytes;
}

std::vector<CacheResidence> FindCacheResidence(const sim::OpGraph& graph,
                                               const std::vector<std::int32_t>& set_of) {
  sim::Placement placement;
  placement.device.assign(graph.ops.size(), 0);
  const Plan plan = MakePlan(graph, OneDevice(), placement);
  const std::vector<sim::OpIndex> order = IssueOrder(graph, plan);
  std::vector<CacheResidence> cached(graph.ops.size());
  Walk walk(plan);
  for (int step = 0; step < 2; ++step) {
    walk.StartStep();
    for (const sim::OpIndex op : order)
      cached[static_cast<std::size_t>(op)] = walk.Run(op, set_of[static_cast<std::size_t>(op)]);
  }
  return cached;
}

}  // namespace stowplan::profiler
