// libFuzzer's entry for sim/incremental.h: the bytes are the draws that make a small problem, a base and a search
// from there, every step of which must equal a run from scratch.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/sim/incremental_search.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using berth::sim::Rules;
  berth::sim::Dice dice({data, size});
  const Rules rules = dice.OneOf<Rules>({Rules::kPublished, Rules::kNative});
  berth::sim::RandomCase c = berth::sim::MakeRandomCase(dice, {.max_ops = 40});
  c.cluster.rules = rules;
  const std::string difference = berth::sim::DifferenceOfSearch(c, 12, dice);
  if (difference.empty()) return 0;
  std::fputs(difference.c_str(), stderr);
  std::abort();
}
