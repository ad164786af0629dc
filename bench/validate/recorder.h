// stowplan validate --record: probes the ops of a workload alone, copies and dispatch, then times whole steps
// under many placements. Every workload is a file of its own, written after each placement, so that a run that was
// stopped goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace stowplan::bench {

struct RecorderOptions {
  std::string folder;
  int placements = 30;
  int steps = 30;             // undisturbed ones wanted of each placement
  int at_most = 1000;         // steps in all
  double probe_seconds = 60;  // for the probes of a workload
  double memory_share = 0;    // of each device: so much of what the whole program takes on one; 0 = no limit
  double seconds = 5;         // of steps of one placement, at most; a placement has 10 steps all the same
  // For measuring disturbed placements again, all of a workload's together; the one that is under way is ended.
  double again_seconds = 60;
  int pause_us = 0;  // asleep before each step: for busy machines
  // profiler::QuietShare() of half a second that both cores must have before anything is recorded.
  double least_quiet = 0.75;
  // Takes a few probes at any pace, disturbed ones too: figures of no use, from a machine that is never quiet.
  bool rehearsal = false;
  std::uint64_t seed = 1;  // of the placements
  bool quiet = false;
};

// Measures on two devices of one core each: the first two that the process may use. Throws RunError where
// there is one core only, and where the machine is too busy, before anything is written (a first recording compares with
// the pace of the half second before, so it cannot see what slows both alike); InputError where the workload's file is
// another machine's. Ops that only a stand-in can run are measured and named as such. A workload whose file is there with
// as many placements is left alone, one with fewer goes on; false if the user stopped it before it was done.
bool RecordWorkload(const std::string& workload, const RecorderOptions& options);

// What is measured where nothing else is asked for: workloads at reduced sizes, with steps of some milliseconds.
const std::vector<std::string>& DefaultWorkloads();

}  // namespace stowplan::bench
