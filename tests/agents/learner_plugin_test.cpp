#include "agents/learner_plugin.h"

#include <dlfcn.h>

#include "tests/testing.h"

namespace stowplan::agents {
namespace {

using testing::UnorderedElementsAreArray;

class PluginPath {
 public:
  explicit PluginPath(const char* path) { setenv("STOWPLAN_RL_PLUGIN", path, 1); }
  ~PluginPath() { unsetenv("STOWPLAN_RL_PLUGIN"); }
};

TEST(LearnerPlugin, LearnersAreListedWithoutIt) {
  const PluginPath nowhere("/nowhere/libstowplan_rl.so");
  int learners = 0;
  for (const AgentRow& row : Agents()) learners += row.kind == AgentKind::kLearner;
  EXPECT_GE(learners, 1);
}

TEST(LearnerPlugin, SaysWhyItCannotBeOpened) {
  const PluginPath nowhere("/nowhere/libstowplan_rl.so");
  EXPECT_THAT([] { MakeAgent("placeto"); },
              ThrowsMessage<RunError>(HasSubstr("/nowhere/libstowplan_rl.so: No such file or directory")));
}

TEST(LearnerPlugin, RefusesAnotherLibrary) {
  Dl_info libc;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&std::abort), &libc), 0);
  const PluginPath other(libc.dli_fname);
  EXPECT_THAT([] { MakeAgent("placeto"); }, ThrowsMessage<RunError>(HasSubstr("is no plug-in of stowplan")));
}

// A name without a folder is a file here, not one that the loader finds.
TEST(LearnerPlugin, LooksForNoLibraryElsewhere) {
  const PluginPath other("libm.so.6");
  EXPECT_THAT([] { MakeAgent("placeto"); }, ThrowsMessage<RunError>(HasSubstr("libm.so.6: No such file")));
}

// Whose start would end this process.
TEST(LearnerPlugin, RefusesAModuleOfAnotherBuildBeforeItRuns) {
  const PluginPath other(STOWPLAN_OTHER_BUILD);
  EXPECT_THAT(
      [] { MakeAgent("placeto"); },
      ThrowsMessage<InputError>(AllOf(HasSubstr(STOWPLAN_OTHER_BUILD), HasSubstr("(interface 0123456789ab,"),
                                      HasSubstr("build both together"))));
}

// What is printed of a learner stands in the table, its factory in the module: neither may know one that the other lacks.
TEST(LearnerPlugin, ModuleHasJustTheLearnersOfTheTable) {
  const std::vector<AgentRow>* learners = nullptr;
  try {
    learners = &Learners();
  } catch (const RunError& error) {
    GTEST_SKIP() << error.what();
  }
  std::vector<std::string> listed, made;
  for (const AgentRow& row : Agents()) {
    if (row.kind == AgentKind::kLearner) listed.push_back(row.name);
  }
  for (const AgentRow& row : *learners) {
    EXPECT_NE(row.make, nullptr) << row.name;
    made.push_back(row.name);
  }
  EXPECT_THAT(made, UnorderedElementsAreArray(listed));
}

}  // namespace
}  // namespace stowplan::agents
