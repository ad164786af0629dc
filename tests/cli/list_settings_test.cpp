// What `stowplan list` tells of settings is what is in force.
#include <nlohmann/json.hpp>

#include "agents/agent.h"
#include "cli/commands/listing.h"
#include "tests/cli/program.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

using testing::JsonOf;
using testing::RunStowplan;

// As a canonical name has it.
std::string TextOf(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  const auto& number = value.is_number_integer() ? std::to_string(value.get<std::int64_t>()) : value.dump();
  const SettingTable table = {{{"n", "", value.is_number_integer() ? Whole(0) : Number(0, 1e300), "0"}}};
  const std::string name = Settings(Spec::Parse("x(n=" + number + ")"), table).Canonical();
  return name.substr(4, name.size() - 5);
}

TEST(ListSettings, DefaultsOfEveryPresetAndSizeAreThoseInForce) {
  int told = 0;
  for (const auto& row : JsonOf(RunStowplan({"list", "agents", "--json", "-"}))) {
    const std::string agent = row["name"];
    std::set<std::string> presets = {""};
    for (const auto& setting : row["settings"]) {
      const nlohmann::json defaults = setting.value("defaults", nlohmann::json::object());
      for (const auto& [preset, value] : defaults.items()) presets.insert(preset);
    }
    for (const std::string& preset : presets) {
      std::vector<std::pair<std::string, std::string>> listed;
      for (const auto& setting : row["settings"]) {
        const nlohmann::json value =
            preset.empty() ? setting["default"] : setting["defaults"].value(preset, nlohmann::json());
        if (!value.is_null()) listed.emplace_back(setting["name"], TextOf(value));
      }
      const std::string name = agents::AgentSettings(agent + "(" + preset + ")").Canonical();
      EXPECT_EQ(Spec::Parse(name).named, listed) << name;
      told += static_cast<int>(listed.size());
    }
  }
  EXPECT_GT(told, 1000);
}

TEST(ListSettings, OneIsShownWithItsOwn) {
  const std::string rnn = RunStowplan({"list", "agents", "rnn"}).out;
  for (const char* part :
       {"\nwidth ", " from 2 to 8192\n", "otherwise: preset=paper|code: 128; size=full: 512\n",
        "no more than lr\n", "source: Mirhoseini"})
    EXPECT_THAT(rnn, HasSubstr(part));
  EXPECT_THAT(RunStowplan({"list", "agents"}).out, HasSubstr("With the settings of one: stowplan list"));
  const auto json = JsonOf(RunStowplan({"list", "agents", "placeto", "--json", "-"}));
  ASSERT_EQ(json.size(), 1u);
  const auto& lr = json[0]["settings"][10];
  EXPECT_EQ(lr["name"], "lr");
  EXPECT_EQ(lr["type"], "number");
  EXPECT_EQ(lr["low"], 0);
  EXPECT_EQ(lr["high"], 10);
  EXPECT_EQ(lr["default"], 0.003);
  EXPECT_EQ(lr["defaults"]["preset=walk"], 0.01);
  EXPECT_FALSE(json[0]["settings"][9]["defaults"].contains("preset=walk")) << "offers are not there";
}

}  // namespace
}  // namespace stowplan::cli
