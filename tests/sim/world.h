// A small problem written down by hand, for tests whose numbers are derived in a comment: costs in
// microseconds, and by default links of 10 GB/s (10 kB a microsecond) and 5 us.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "sim/cost_model.h"
#include "sim/op_graph.h"
#include "sim/outcome.h"
#include "sim/placement.h"
#include "sim/simulator.h"

namespace stowplan::sim {

inline constexpr Picos kUs = kPicosPerMicro;
inline constexpr Bytes kMB = 1'000'000;

class World {
 public:
  OpGraph graph;
  Cluster cluster;
  Placement placement;

  // One stream, two copy engines, granularity 1, 1 TB.
  DeviceIndex Gpu() { return AddDevice(DeviceClass::kGpu); }
  DeviceIndex Cpu() { return AddDevice(DeviceClass::kCpu); }
  Device& device(DeviceIndex d) { return cluster.devices[static_cast<std::size_t>(d)]; }
  // Ends are devices, or SwitchEnd(); all devices must be there before.
  std::int32_t AddSwitch();
  Link& Connect(std::int32_t a, std::int32_t b);

  OpIndex Add(DeviceIndex where, double cost_us, std::initializer_list<Bytes> outputs = {},
              std::initializer_list<TensorRef> inputs = {}, std::initializer_list<OpIndex> control = {});
  Op& op(OpIndex i) { return graph.ops[static_cast<std::size_t>(i)]; }
  // A view of an input, as one more output of the op.
  TensorRef AddView(OpIndex i, TensorRef input);
  // Cost on one device other than that given to Add().
  void SetCost(OpIndex i, DeviceIndex d, double cost_us);

  // Everything recorded. A native run is compared with the oracle event by event. The world must not change
  // afterwards.
  Outcome Run(const RunOptions& options = {RunOptions::Record::kTimeline, {}});

  const CostTable& costs() const { return costs_; }

 private:
  DeviceIndex AddDevice(DeviceClass device_class);
  void Finish();

  struct OtherCost {
    OpIndex op;
    DeviceIndex device;
    Picos cost;
  };
  std::vector<OtherCost> other_costs_;
  CostTable costs_;
  bool finished_ = false;
};

// gpu0 and gpu1 with one link of 10 GB/s and 5 us, full duplex: the machine of docs/model.md, section 7.
struct TwoGpus : World {
  TwoGpus() {
    Gpu();
    Gpu();
    Connect(0, 1);
  }
};

}  // namespace stowplan::sim
