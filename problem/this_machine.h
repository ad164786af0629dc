// `--cluster here`: a stowplan.cluster of the machine that the program runs on, from what nvidia-smi and /proc say.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "problem/cgroup.h"
#include "problem/loaded_problem.h"
#include "sim/base/process.h"

namespace stowplan::problem {

// What was found, as the commands and files printed it; empty = not there.
struct MachineFacts {
  std::string
      gpus;  // nvidia-smi --query-gpu=index,name,memory.total,pcie.link.gen.max,pcie.link.width.max,uuid, csv
  std::string topology;                // nvidia-smi topo -m
  std::string gpus_failure;            // why nvidia-smi was killed: "has not ended within 10 s"
  std::string topology_failure;        // and `nvidia-smi topo`
  std::optional<std::string> visible;  // CUDA_VISIBLE_DEVICES
  std::string cpuinfo;                 // /proc/cpuinfo
  std::string meminfo;                 // /proc/meminfo
  std::string status;                  // /proc/self/status
  CgroupLimits limits;
};

// Each of the two calls of nvidia-smi. A driver that is asleep takes seconds to answer.
inline constexpr ProcessLimits kNvidiaSmiLimits{.time = std::chrono::seconds(10), .output = 1 << 20};

// Asks `nvidia-smi`, where the PATH has one, and reads /proc and /sys below `root`.
MachineFacts LookAtMachine(const std::string& root = "", const ProcessLimits& limits = kNvidiaSmiLimits);

struct ThisMachine {
  std::string yaml;                // a stowplan.cluster file; every number with its source
  std::vector<std::string> notes;  // what was assumed: a sentence each
};

// A GPU that the catalogue lacks is priced as the nearest that it has, with its own memory; the note says so, and what to
// write for its own prices. Throws InputError where nvidia-smi prints what cannot be read.
ThisMachine DescribeMachine(const MachineFacts& facts, const cost_models::Catalogue& catalogue);

// Where the cluster of `source` is "here": puts the file in its place and tells the notes.
void ResolveHere(ProblemSource& source);

}  // namespace stowplan::problem
