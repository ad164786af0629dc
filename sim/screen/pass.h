// One pass of a screen over a graph, for kAbreast placements at once. Internal to sim/.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/screen/plan.h"

namespace stowplan::sim {

// A number for each of them.
struct alignas(64) ScreenRow {
  std::array<std::int64_t, ScreenPlan::kAbreast> of{};
};

// What a pass reads and leaves behind; made once, used for one pass after another.
struct ScreenState {
  explicit ScreenState(const ScreenPlan& plan);

  std::vector<ScreenPlan::Word> place;  // [unit * words]: which placements have it on each device

  // By op; 0 between passes.
  struct Inbox {
    ScreenRow ready;    // when the last of what is sent to it arrives
    ScreenRow release;  // storage on its device that it is the last to hold
  };
  std::vector<Inbox> inbox;

  // By device.
  std::vector<ScreenRow> thread;                      // of its host: free from; with one for all, the first
  std::vector<ScreenRow> free;                        // itself
  std::vector<ScreenRow> out;                         // what it sends: free from
  std::vector<ScreenRow> receives_from, receives_to;  // the last transfer to it
  std::vector<ScreenRow> arrival;                     // of what an op sends
  std::vector<ScreenRow> live, peak;
  ScreenRow runtime;
};

// The same pass for each kind of vector that processors have; results are the same.
struct ScreenPass {
  const char* vectors;  // "avx512", "avx2", "portable"
  void (*run)(const ScreenPlan& plan, ScreenState& state);
};
void RunPortable(const ScreenPlan& plan, ScreenState& state);
#if defined(__x86_64__)
void RunAvx2(const ScreenPlan& plan, ScreenState& state);
void RunAvx512(const ScreenPlan& plan, ScreenState& state);
#endif
// Those that this processor can run, the fastest first; never empty.
std::span<const ScreenPass> ScreenPasses();

}  // namespace stowplan::sim
