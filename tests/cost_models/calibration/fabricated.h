// Recordings of a made-up H200 whose truth is known: what a fit must find again.
#pragma once

#include <string>
#include <vector>

#include "cost_models/calibration/observations.h"
#include "cost_models/ops/roofline.h"

namespace stowplan::cost_models::testing {

struct Truth {
  double gemm = 0.62;  // efficiencies
  double convolution = 0.48;
  double elementwise = 0.83;
  double others = 0.7;    // of the other classes
  double alpha_us = 2.5;  // of pinned copies: latency
  double gigabytes = 52;  // and bandwidth [GB/s]; to the host a tenth slower. Copies between GPUs the same
  double both = 0.78;
  bool two_gpus = false;
  double peer_both = 0.91;
  double launch_us = 3.1;
  double event_pair_us = 1.4;
  double excess_us = 1.7;        // of the time between events around an op, over its kernel and one gap
  double empty_kernel_us = 1.1;  // on the device
  double gap_us = 0.9;
  double copy_call_us = 3.6;  // the host's part of a copy
  double launch_to_start_us = 5.2;
  double node_us = 1.1;
  double concurrency = 0.64;
  double overlap_copy = 0.9;
  double cpu_dispatch_us = 0.4;
  double cpu_copy_us = 1.5;  // between CPU devices: latency
  double cpu_gigabytes = 6;  // and bandwidth [GB/s]
  double cpu_overlap = 0.5;  // of both ends
  double noise = 0;          // relative, of every number; deterministic
  int outlier_every = 0;     // every n-th op and copy took five times as long; 0 = none

  double EfficiencyOf(OpClass op_class) const;
};

// In probes.trace the recording of `stowplan-profile run all`, split in `files` by parts.
std::vector<NamedRecording> FabricatedProbes(const Truth& truth, int files = 1);

// The host's CPU, as `stowplan-profile run --device cpu` writes it.
NamedRecording FabricatedCpuProbes(const Truth& truth = {.noise = 0.02});

// What these probes say an op takes on the device, the gap included [us]; without noise.
double TrueMicros(const ObservedOp& op, const Truth& truth);

// One step with markers and shapes: a product of 4096 x 768 x 3072 twice, 2 and 4 % slower than alone, a rectifier of as
// many elements 10 % slower, and an op that nobody knows.
NamedRecording FabricatedSteps(const Truth& truth);

}  // namespace stowplan::cost_models::testing
