// Rows of results are found again by the canonical names of their agents: what a name says, and in which order, stays.
#include <algorithm>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "agents/agent.h"
#include "output/csv.h"
#include "sim/formats/formats.h"

namespace stowplan::tables {
namespace {

TEST(RecordedAgents, KeepTheirNames) {
  std::set<std::string> names;
  for (const auto& folder : std::filesystem::directory_iterator(STOWPLAN_SOURCE_DIR "/results")) {
    const std::string path = folder.path() / "rows.csv";
    if (!std::filesystem::exists(path)) continue;
    const std::vector<output::CsvLine> lines = output::ParseCsv(formats::ReadFile(path), path, true);
    const auto column = std::ranges::find(lines.at(0), "agent");
    if (column == lines.at(0).end()) continue;
    for (std::size_t i = 1; i < lines.size(); ++i)
      names.insert(lines[i].at(static_cast<std::size_t>(column - lines[0].begin())));
  }
  int kept = 0;
  for (const std::string& name : names) {
    if (agents::FindAgent(name.substr(0, name.find('('))) == nullptr) continue;  // the title of a column
    EXPECT_EQ(agents::AgentSettings(name).Canonical(), name);
    ++kept;
  }
  EXPECT_GT(kept, 100);
}

}  // namespace
}  // namespace stowplan::tables
