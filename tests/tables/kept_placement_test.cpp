#include "tables/kept_placement.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "problem/loaded_problem.h"
#include "tests/testing.h"

namespace stowplan::tables {
namespace {

struct Chain {
  problem::LoadedProblem loaded;
  agents::Task task;
  explicit Chain(int ops)
      : loaded({"chain(ops=" + std::to_string(ops) + ")", "k80(gpus=4)", "", "", "", {}}),
        task(agents::MakeTask(loaded.problem(), "colocation",
                              problem::SelectDevices(loaded.cluster(), "gpu"))) {}
};

RC_GTEST_PROP(KeptPlacement, ReadsBackWhatWasKept, ()) {
  static const Chain chain(24);
  agents::UnitPlacement placement;
  for (agents::UnitIndex unit = 0; unit < chain.task.units.size(); ++unit)
    placement.push_back(*rc::gen::elementOf(chain.task.devices));
  RC_ASSERT(ReadKeptPlacement(KeepPlacement(placement), chain.task, "here") == placement);
}

TEST(KeptPlacement, RunsAreLettersWithTheirLength) {
  EXPECT_EQ(KeepPlacement({0, 0, 0, 1, 2, 2}), "a3bc2");
  EXPECT_EQ(KeepPlacement({}), "");
  EXPECT_EQ(KeepPlacement({51}), "Z");
  EXPECT_EQ(KeepPlacement({1, 52}), "");  // no letter
}

TEST(KeptPlacement, RefusesWhatDoesNotFitTheTask) {
  const Chain chain(8);
  const auto units = static_cast<int>(chain.task.units.size());
  const std::string all = std::to_string(units);
  EXPECT_NO_THROW(ReadKeptPlacement("b" + all, chain.task, "here"));
  for (const std::string& text :
       {std::string(), "b" + std::to_string(units - 1), "b" + std::to_string(units + 1), "a" + all, "?" + all,
        std::string("b99999999999999999999")}) {
    EXPECT_THROW(ReadKeptPlacement(text, chain.task, "here"), InputError) << text;
  }
}

TEST(KeptPlacement, OneDeviceIsOneRun) {
  EXPECT_TRUE(IsOnOneDevice("a"));
  EXPECT_TRUE(IsOnOneDevice("b128"));
  EXPECT_FALSE(IsOnOneDevice("a127b"));
  EXPECT_FALSE(IsOnOneDevice("ab"));
  EXPECT_FALSE(IsOnOneDevice(""));
}

}  // namespace
}  // namespace stowplan::tables
