// Tests that need the learning agents are skipped where the build has none.
#pragma once

#include "agents/agent.h"
#include "tests/testing.h"

namespace stowplan::testing {

class NeedsLearners : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      agents::MakeAgent("placeto");
    } catch (const RunError& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

}  // namespace stowplan::testing
