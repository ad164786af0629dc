// What an agent opens stands in its row: a file may name whoever opens nothing, and no other who starts a program (SECURITY.md).
// A row that says less than its agent does is found here.
#include <unistd.h>

#include "agents/agent.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

// Files that this process has mapped to run them.
std::set<std::string> Libraries() {
  std::set<std::string> libraries;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path != std::string::npos && line.find(" r-xp ") != std::string::npos)
      libraries.insert(line.substr(path));
  }
  return libraries;
}

// That run now.
long StartedPrograms() {
  std::ifstream children("/proc/self/task/" + std::to_string(getpid()) + "/children");
  return static_cast<long>(std::distance(std::istream_iterator<int>(children), std::istream_iterator<int>()));
}

struct Opened {
  bool library = false;
  bool program = false;
};

Opened WhatOpens(const std::string& spec) {
  const auto c = TinyCase();
  const Task task = MakeTask(*c->problem, "");
  const std::set<std::string> before = Libraries();
  long most = 0;
  Evaluator evaluator(task, {.budget = 30});
  evaluator.observer = [&](std::int64_t, const UnitPlacement&, const Evaluation&) {
    most = std::max(most, StartedPrograms());
  };
  const auto agent = MakeAgent(spec);
  agent->Require(task);
  agent->Search(task, evaluator, {});
  const std::set<std::string> after = Libraries();
  return {.library = !std::ranges::includes(before, after), .program = most > 0};
}

TEST(AgentOpens, IsWhatItsRowSays) {
  // Those that say they open nothing come first: what another has opened stays open.
  std::vector<AgentRow> rows = Agents();
  std::ranges::stable_sort(rows, {}, &AgentRow::opens);
  for (const AgentRow& row : rows) {
    if (row.kind == AgentKind::kLearner) {
      EXPECT_EQ(row.opens, AgentOpens::kLibrary) << row.name;
      continue;
    }
    const Opened opened = WhatOpens(SmallSpec(row));
    EXPECT_EQ(opened.program, row.opens == AgentOpens::kProgram) << row.name;
    if (opened.library) {
      EXPECT_EQ(row.opens, AgentOpens::kLibrary) << row.name;
    }
  }
}

// A setting that holds a command by any name belongs to a row that says so.
TEST(AgentOpens, SettingsThatNameCommandsAreOfThoseWhoStartPrograms) {
  for (const AgentRow& row : Agents()) {
    for (const Setting& setting : row.settings.rows) {
      if (setting.name.find("command") != std::string::npos ||
          setting.name.find("program") != std::string::npos) {
        EXPECT_EQ(row.opens, AgentOpens::kProgram) << row.name << " " << setting.name;
      }
    }
  }
}

}  // namespace
}  // namespace stowplan::agents
