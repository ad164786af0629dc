// What the table says of every agent's settings is what the agent takes and does.
#include <fmt/format.h>

#include "agents/agent.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

class AgentSettingsTest : public ::testing::TestWithParam<AgentRow> {
 protected:
  void SetUp() override {
    if (GetParam().kind != AgentKind::kLearner) return;
    try {
      MakeAgent(GetParam().name);
    } catch (const RunError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  std::string name() const { return GetParam().name; }

  std::string With(const std::string& setting, const std::string& value) const {
    const Setting& row = *GetParam().settings.Find(setting);
    const std::string given = setting + "=" + value;
    std::string condition = row.only.substr(0, row.only.find('|'));
    return fmt::format("{}({}{})", name(), condition.empty() ? "" : condition + ",", given);
  }

  // What an agent makes of a value in range: a setting, or a sentence of how it must go with another.
  static void ExpectTaken(const std::string& spec) {
    EXPECT_NO_THROW(AgentSettings(spec)) << spec;
    try {
      MakeAgent(spec);
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), ::testing::Not(HasSubstr("but must be"))) << spec;
    }
  }

  void ExpectRefused(const std::string& setting, const std::string& value, const std::string& range) const {
    const std::string spec = With(setting, value);
    try {
      MakeAgent(spec);
      ADD_FAILURE() << spec << " was taken";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(name() + ": setting '" + setting + "' is '" + value + "'")) << spec;
      EXPECT_THAT(error.what(), HasSubstr(range)) << spec;
    }
  }
};

std::string NumberText(const SettingValues& values, double number) {
  return values.kind == SettingValues::Kind::kWhole ? fmt::format("{:.0f}", number)
                                                    : fmt::format("{}", number);
}

TEST_P(AgentSettingsTest, BothEndsOfEveryRangeAreTakenAndNothingBeyond) {
  for (const Setting& row : GetParam().settings.rows) {
    const SettingValues& values = row.values;
    EXPECT_NE(row.what, "") << row.name;
    for (const std::string& choice : values.choices) ExpectTaken(With(row.name, choice));
    if (values.kind == SettingValues::Kind::kChoice) ExpectRefused(row.name, "bogus", values.choices.front());
    if (values.kind == SettingValues::Kind::kYesNo) {
      ExpectTaken(With(row.name, "yes"));
      ExpectTaken(With(row.name, "no"));
      ExpectRefused(row.name, "maybe", "yes or no");
    }
    if (values.kind != SettingValues::Kind::kWhole && values.kind != SettingValues::Kind::kNumber) continue;
    const bool whole = values.kind == SettingValues::Kind::kWhole;
    for (const double end : {values.low, values.high}) {
      if (!std::isfinite(end)) continue;
      const std::string text = NumberText(values, end);
      ExpectTaken(With(row.name, text));
      const double away = end == values.low ? -1 : 1;
      const double beyond =
          whole ? end + away : std::nextafter(end, away * std::numeric_limits<double>::infinity());
      ExpectRefused(row.name, NumberText(values, beyond), NumberText(values, end));
    }
    ExpectRefused(row.name, "x", whole ? "a whole number" : "a number");
  }
}

// Of every preset and size: canonical names say every setting, each made again from them is the same.
TEST_P(AgentSettingsTest, NamesSayEverySettingOfEveryPresetAndSize) {
  if (name() == "external") return;  // nothing without a program
  const auto choices = [&](const char* setting) {
    const Setting* row = GetParam().settings.Find(setting);
    return row == nullptr ? std::vector<std::string>{""} : row->values.choices;
  };
  for (const std::string& preset : choices("preset")) {
    for (const std::string& size : choices("size")) {
      std::string given = preset.empty() ? "" : "preset=" + preset;
      if (!size.empty()) given += ",size=" + size;
      const std::string canonical = MakeAgent(name() + "(" + given + ")")->name();
      EXPECT_EQ(canonical, AgentSettings(name() + "(" + given + ")").Canonical());
      EXPECT_EQ(MakeAgent(canonical)->name(), canonical);
      std::vector<std::string> listed, said;
      const Settings in_force = AgentSettings(canonical);
      for (const Setting& row : GetParam().settings.rows) {
        if (in_force.Has(row.name)) listed.push_back(row.name);
      }
      for (const auto& [setting, value] : Spec::Parse(canonical).named) said.push_back(setting);
      EXPECT_EQ(said, listed) << canonical;
    }
  }
}

// Rows of results are found again by these names: every agent of results/*/rows.csv, and what it was called in full when this
// file was written.
TEST(AgentNames, StayAsTheyWereRecorded) {
  std::ifstream lines(STOWPLAN_SOURCE_DIR "/tests/agents/recorded_names.txt");
  int kept = 0;
  for (std::string agent, name; std::getline(lines, agent, ' ') && std::getline(lines, name); ++kept)
    EXPECT_EQ(AgentSettings(agent).Canonical(), name);
  EXPECT_EQ(kept, 115);
}

INSTANTIATE_TEST_SUITE_P(Agents, AgentSettingsTest, ::testing::ValuesIn(Agents()),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace stowplan::agents
