// How long an op takes alone on a device: the interface that cost_models/ implements, and the table of
// resolved times that the engine runs on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "sim/op_graph.h"

namespace stowplan::sim {

// How well an answer is founded (docs/calibration.md).
enum class Tier : std::uint8_t {
  kMeasured,      // A: this op was measured
  kInterpolated,  // B: inside the calibrated range
  kStructural,    // C: from the structural model alone
};

struct Price {
  double us = 0;  // time alone on the device, dispatch excluded
  Tier tier = Tier::kStructural;
  double low_us = 0;  // 90 % interval
  double high_us = 0;
};

// Contract: pure (same arguments, same answer), any thread; never negative, never non-finite; monotone in the
// op's flops and bytes where it claims tier C. Empty = this model cannot price the op on that kind.
class CostModel {
 public:
  virtual ~CostModel() = default;
  virtual std::string name() const = 0;  // the round-trip string, with parameters in force
  virtual std::optional<Price> Predict(const OpGraph& graph, OpIndex op, const Device& device) const = 0;
};

// Times of every op on every device of a cluster. Devices that are priced alike share a column.
struct CostTable {
  std::string cost_model;  // name() of what priced the ops
  DeviceIndex devices = 0;
  std::vector<Picos> picos;  // [op * columns + column of the device]
  std::vector<Tier> tier;    // same shape
  // Of the devices' columns how many there are, and which is whose, by device; empty = each has its own.
  DeviceIndex shared_columns = 0;
  std::vector<DeviceIndex> column_of;

  DeviceIndex ColumnOf(DeviceIndex device) const {
    return column_of.empty() ? device : column_of[static_cast<std::size_t>(device)];
  }
  DeviceIndex columns() const { return column_of.empty() ? devices : shared_columns; }
  std::size_t IndexOf(OpIndex op, DeviceIndex device) const {
    return static_cast<std::size_t>(op) * static_cast<std::size_t>(columns()) +
           static_cast<std::size_t>(ColumnOf(device));
  }
  Picos at(OpIndex op, DeviceIndex device) const { return picos[IndexOf(op, device)]; }
  Tier TierAt(OpIndex op, DeviceIndex device) const { return tier[IndexOf(op, device)]; }
  // Of an op, by column: all that it may cost.
  std::span<const Picos> PricesOf(OpIndex op) const {
    const auto count = static_cast<std::size_t>(columns());
    return std::span(picos).subspan(static_cast<std::size_t>(op) * count, count);
  }
  std::span<Picos> PricesOf(OpIndex op) {
    const auto count = static_cast<std::size_t>(columns());
    return std::span(picos).subspan(static_cast<std::size_t>(op) * count, count);
  }
  // The device shares its column with no other from now on.
  void Separate(DeviceIndex device);
};

// The price of an op: cost_us by kind, else by class, else the number, else 0 for variables, constants,
// placeholders and members of collectives (Problem has their prices), else the cost model. Devices of one kind are priced once. Throws InputError naming op and
// kind where nothing can price, or where a price is beyond kMaxMicros.
CostTable PriceOps(const OpGraph& graph, const Cluster& cluster, const CostModel& model);

}  // namespace stowplan::sim
