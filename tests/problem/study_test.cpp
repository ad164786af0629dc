// What bounds a placement, on runs short enough to be worked out by hand, and how it is shown.
#include "problem/explain/study.h"

#include <nlohmann/json.hpp>

#include "sim/formats/formats.h"
#include "tests/problem/two_ops.h"
#include "tests/testing.h"

namespace stowplan::problem {
namespace {

using testing::TwoOps;
using Json = nlohmann::json;

TEST(Study, PathIsSharedOut) {
  const TwoOps two;
  const Study study = two.Explain();
  EXPECT_EQ(study.path.devices, (std::vector<sim::Picos>{sim::FromMicros(10), sim::FromMicros(10)}));
  EXPECT_EQ(study.path.transfers, sim::FromMicros(105));
  EXPECT_EQ(study.path.links, std::vector<sim::Picos>{sim::FromMicros(105)});
  ASSERT_EQ(study.path.routes.size(), 1u);
  EXPECT_EQ(study.path.routes[0].transfers, 1);
  EXPECT_EQ(study.path.types.size(), 2u);
  EXPECT_EQ(study.path.dispatch + study.path.waiting, 0);
  const Bottleneck most = FindBottleneck(study.path);
  EXPECT_EQ(most.kind, sim::CriticalStep::Kind::kTransfer);
  EXPECT_EQ(most.time, sim::FromMicros(105));
}

// Both ops on one device take 20 us: no placement is faster.
TEST(Study, GapAndGain) {
  const TwoOps two;
  const Study study = two.Explain();
  EXPECT_NEAR(*study.gap(), 125.0 / 20, 1e-9);
  EXPECT_EQ(study.what_ifs.front().change, sim::WhatIf::Change::kTransfers);
  EXPECT_NEAR(study.Gain(study.what_ifs.front()), 105.0 / 125, 1e-9);
  EXPECT_EQ(WithoutEffect(study), "Without effect (less than 0.1 %): unlimited memory.");
}

// Of 40 devices and 40 links the ten that are longest in use are asked about, of a small machine all.
TEST(Study, OfALargeMachineTheBusiestAreAskedAbout) {
  sim::Cluster cluster;
  sim::Outcome outcome;
  for (std::int32_t i = 0; i < 40; ++i) {
    cluster.devices.push_back({.name = "gpu" + std::to_string(i), .kind = "gpu"});
    cluster.links.push_back({.name = "link" + std::to_string(i), .ends = {i, 40}, .bandwidth = 1});
    outcome.devices.push_back({.busy = 100 + i});
    outcome.links.push_back({.busy = i % 10 == 0 ? 1000 + i : 0});
  }
  const sim::WhatIfOptions large = WhatIfsWorthAsking(cluster, outcome);
  EXPECT_EQ(large.links, (std::vector<std::int32_t>{30, 20, 10, 0}));
  EXPECT_EQ(large.devices, (std::vector<sim::DeviceIndex>{39, 38, 37, 36, 35, 34}));
  cluster.links.resize(20);
  outcome.links.resize(20);
  EXPECT_EQ(WhatIfsWorthAsking(cluster, outcome).devices.size(), 40U);
  EXPECT_EQ(WhatIfsWorthAsking(cluster, outcome).links.size(), 20U);
}

TEST(Study, ALongOpIsTheBottleneck) {
  const TwoOps two(sim::kMaxBytes, 500);
  const Bottleneck most = FindBottleneck(two.Explain().path);
  EXPECT_EQ(most.kind, sim::CriticalStep::Kind::kOp);
  EXPECT_EQ(most.device, 1);
}

TEST(Study, WhatDoesNotFitSaysWhatWouldMakeItFit) {
  const TwoOps two(1'000'000 - 1);
  const Study study = two.Explain();
  const std::string text = PrintStudy(study);
  EXPECT_THAT(text, HasSubstr("out of memory on gpu1"));
  EXPECT_THAT(text, HasSubstr("unlimited memory"));
  EXPECT_THAT(text, HasSubstr(" fits\n"));
  const Json json = Json::parse(StudyJson(study));
  EXPECT_FALSE(json["feasible"]);
  EXPECT_TRUE(json["runtime_us"].is_null());
  EXPECT_EQ(json["unlimited_runtime_us"], 125);
  EXPECT_EQ(json["oom"]["device"], "gpu1");
}

// Every object has what the schema requires and nothing that it does not know.
void ExpectAsSchema(const Json& value, const Json& schema, const std::string& where) {
  if (value.is_array() && schema.contains("items")) {
    for (const Json& item : value) ExpectAsSchema(item, schema["items"], where + "[]");
  }
  if (!value.is_object() || !schema.contains("properties")) return;
  for (const Json& key : schema["required"])
    EXPECT_TRUE(value.contains(key.get<std::string>())) << where << " " << key;
  for (const auto& [key, member] : value.items()) {
    ASSERT_TRUE(schema["properties"].contains(key)) << where << " " << key;
    ExpectAsSchema(member, schema["properties"][key], where + "." + key);
  }
}

TEST(Study, JsonIsAsItsSchemaSays) {
  const TwoOps two;
  const Json json = Json::parse(StudyJson(two.Explain()));
  const Json schema =
      Json::parse(formats::ReadFile(std::string(STOWPLAN_SOURCE_DIR) + "/docs/schema/explanation.json"));
  ExpectAsSchema(json, schema, "");
  EXPECT_EQ(json["runtime_us"], 125);
  EXPECT_EQ(json["critical_path"]["routes"][0]["us"], 105);
  EXPECT_EQ(json["critical_path"]["routes"][0]["links"], Json({"wire"}));
  EXPECT_EQ(json["links"][0]["critical_us"], 105);
  EXPECT_EQ(json["devices"][1]["idle"]["transfer_us"], 105);
  EXPECT_EQ(json["devices"][1]["peak"]["copy_bytes"], 1'000'192);  // rounded up to 256
}

}  // namespace
}  // namespace stowplan::problem
