// libFuzzer's entry for the engine: the bytes are the draws that make a small problem with a placement, half of the time
// with numbers up to their limits. Under the rules `native` its run must equal that of the oracle; under both a cutoff must
// keep what it promises.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "sim/base/error.h"
#include "sim/simulator.h"
#include "tests/sim/compare.h"
#include "tests/sim/oracle.h"
#include "tests/sim/random_case.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stowplan::sim;
  Dice dice({data, size});
  const auto rules = dice.OneOf<Rules>({Rules::kPublished, Rules::kNative});
  const bool extreme = dice.Percent(50);
  RandomCase c = MakeRandomCase(dice, {.max_ops = 40, .extreme = extreme});
  c.cluster.rules = rules;
  std::unique_ptr<Problem> problem;
  try {
    problem = std::make_unique<Problem>(c.graph, c.cluster, c.costs);
  } catch (const stowplan::InputError&) {
    return extreme ? 0 : (std::abort(), 1);
  }
  const auto simulator = MakeSimulator(*problem);
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
