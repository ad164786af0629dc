#pragma once

#include <cstdint>
#include <string>

namespace stowplan::cli {

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

}  // namespace stowplan::cli
