// What a cluster reader needs to know of the hardware catalogue. cost_models/ implements it from its data
// files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/cluster.h"

namespace stowplan::sim {

struct DeviceKind {
  std::string name;
  DeviceClass device_class = DeviceClass::kGpu;
  std::optional<Bytes> memory;
  int copy_engines = 2;
  Picos launch_cost = 0;                         // `dispatch: {cost: auto}`
  std::vector<std::int64_t> concurrency_ppm;     // `concurrency: auto`; empty = not measured
  std::optional<std::int64_t> overlap_copy_ppm;  // `overlap_copy: auto`
};

struct LinkKind {
  std::string name;
  std::int64_t bandwidth = 0;  // [B/s], each direction
  Picos latency = 0;
  std::vector<std::pair<Bytes, Picos>> curve;
  std::int64_t both_ppm = kPpm;
};

// Read-only; any thread.
class HardwareCatalogue {
 public:
  virtual ~HardwareCatalogue() = default;
  virtual const DeviceKind* FindDevice(const std::string& kind) const = 0;  // null if absent
  virtual const LinkKind* FindLink(const std::string& kind) const = 0;
  virtual std::vector<std::string> DeviceNames() const = 0;
  virtual std::vector<std::string> LinkNames() const = 0;
};

}  // namespace stowplan::sim
