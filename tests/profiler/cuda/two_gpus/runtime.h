// Two made-up GPUs in place of CUDA's: the functions of the runtime that the probes of copies call, in virtual time.
// What CUDA refuses they refuse: events and kernels on streams of another device, times between events of two devices.
#pragma once

namespace stowplan::profiler::cuda {

struct MadeUpGpus {
  int devices = 2;
  bool reach = true;               // each other's memory
  double latency_us = 8;           // of every copy
  double there_gigabytes = 20;     // [GB/s], from the first to the second
  double back_gigabytes = 25;      // [GB/s]
  double both = 0.8;               // share of it while the other direction copies
  double through_host = 0.25;      // share of it where they do not reach each other
  double pinned_gigabytes = 12.5;  // [GB/s], from and to the host
};
MadeUpGpus& Gpus();

}  // namespace stowplan::profiler::cuda
