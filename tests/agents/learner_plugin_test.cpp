#include "agents/learner_plugin.h"

#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.h"

namespace berth::agents {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class PluginPath {
 public:
  explicit PluginPath(const char* path) { setenv("BERTH_RL_PLUGIN", path, 1); }
  ~PluginPath() { unsetenv("BERTH_RL_PLUGIN"); }
};

TEST(LearnerPlugin, LearnersAreListedWithoutIt) {
  const PluginPath nowhere("/nowhere/libberth_rl.so");
  int learners = 0;
  for (const AgentRow& row : Agents()) learners += row.kind == AgentKind::kLearner;
  EXPECT_GE(learners, 1);
}

TEST(LearnerPlugin, SaysWhyItCannotBeOpened) {
  const PluginPath nowhere("/nowhere/libberth_rl.so");
  EXPECT_THAT([] { MakeAgent("placeto"); },
              ThrowsMessage<RunError>(HasSubstr("/nowhere/libberth_rl.so: cannot open shared object file")));
}

TEST(LearnerPlugin, RefusesAnotherLibrary) {
  const PluginPath other("libm.so.6");
  EXPECT_THAT([] { MakeAgent("placeto"); },
              ThrowsMessage<RunError>(HasSubstr("does not export berth_rl_agents")));
}

// The rows of the table are the module's own.
TEST(LearnerPlugin, TableSaysWhatTheModuleSays) {
  const std::vector<AgentRow>* learners = nullptr;
  try {
    learners = &Learners();
  } catch (const RunError& error) {
    GTEST_SKIP() << error.what();
  }
  for (const AgentRow& row : Agents()) {
    if (row.kind != AgentKind::kLearner) continue;
    const auto own = std::find_if(learners->begin(), learners->end(),
                                  [&](const AgentRow& other) { return std::string(other.name) == row.name; });
    ASSERT_NE(own, learners->end()) << row.name;
    EXPECT_STREQ(own->what, row.what);
    EXPECT_STREQ(own->source, row.source);
    EXPECT_STREQ(own->parameters, row.parameters);
  }
}

}  // namespace
}  // namespace berth::agents
