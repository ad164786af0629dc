// What the control group of this process lets it have: the limits of a container, or of a unit of systemd.
#pragma once

#include <string>

#include "sim/base/units.h"

namespace stowplan::problem {

struct CgroupLimits {
  double cpus = 0;        // processor time for each second; 0 = no limit
  sim::Bytes memory = 0;  // 0 = no limit
};

// By `root`/proc/self/cgroup and what is mounted at `root`/sys/fs/cgroup, version 1, 2 or both; the least of the group's and
// of those around it that can be seen. What is not there or cannot be read is no limit. The root of this machine is "".
CgroupLimits ReadCgroupLimits(const std::string& root);

}  // namespace stowplan::problem
