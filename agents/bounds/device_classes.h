// Machines of many devices have few kinds of them: which pairs of devices are alike to a transfer, and which devices are alike
// to all that goes on. What is computed for each of them need not be for each device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/cluster.h"

namespace stowplan::agents {

// Devices are numbered by their place in `devices`.
class RouteKinds {
 public:
  // Two routes are of one kind where LoneTransferTime() is the same on both for any bytes.
  RouteKinds(const sim::Cluster& cluster, std::span<const sim::DeviceIndex> devices);

  struct Kind {
    sim::DeviceIndex from = 0, to = 0;  // an example, as numbers of the cluster
    std::int64_t pairs = 0;             // how many, with their order
  };
  const std::vector<Kind>& kinds() const { return kinds_; }
  std::size_t devices() const { return devices_; }
  // Of two different devices.
  std::int32_t Of(std::size_t from, std::size_t to) const { return kind_[from * devices_ + to]; }

 private:
  std::size_t devices_;
  std::vector<Kind> kinds_;
  std::vector<std::int32_t> kind_;  // [from * devices + to]
};

// Classes of devices: each device of a class has, for each class, routes of the same kinds to devices of it, and from them.
// So what follows from routes and from `colours` alone is the same for all of a class.
class DeviceClasses {
 public:
  // colours: by device; no two of different colours are of one class.
  DeviceClasses(const RouteKinds& routes, std::vector<std::int32_t> colours);

  struct Class {
    std::size_t first = 0;  // device of it
    std::int64_t devices = 0;
  };
  // In the order of their first devices.
  const std::vector<Class>& classes() const { return classes_; }
  std::size_t size() const { return classes_.size(); }
  // The kinds of routes from a device of one class to another device of another, or of the same.
  const std::vector<std::int32_t>& Between(std::size_t from, std::size_t to) const {
    return between_[from * classes_.size() + to];
  }

 private:
  std::vector<Class> classes_;
  std::vector<std::vector<std::int32_t>> between_;  // [from * classes + to]
};

}  // namespace stowplan::agents
