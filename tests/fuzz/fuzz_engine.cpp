// libFuzzer's entry for the engine: the bytes are the draws that make a small problem with a placement. Under the rules
// `native` its run must equal that of the oracle; under both a cutoff must keep what it promises.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "sim/simulator.h"
#include "tests/sim/compare.h"
#include "tests/sim/oracle.h"
#include "tests/sim/random_case.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::sim;
  Dice dice({data, size});
  const auto rules = dice.OneOf<Rules>({Rules::kPublished, Rules::kNative});
  RandomCase c = MakeRandomCase(dice, {.max_ops = 40});
  c.cluster.rules = rules;
  const Problem problem(c.graph, c.cluster, c.costs);
  const auto simulator = MakeSimulator(problem);
  const Outcome full = simulator->Run(c.placement, {RunOptions::Record::kTimeline, {}});
  std::string difference;
  if (rules == Rules::kNative)
    difference =
        FirstDifference(OracleRun(c.graph, c.cluster, c.costs, c.placement), full, c.graph, c.cluster);
  if (difference.empty()) difference = DifferenceOfCutoffs(*simulator, c, full);
  if (difference.empty()) return 0;
  std::fputs((difference + "\n" + PrintCase(c)).c_str(), stderr);
  std::abort();
}
