#include "tables/derive/gate_cases.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "TableData.h"
#include "agents/agent.h"
#include "problem/fingerprint.h"
#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/formats/document/document.h"
#include "sim/formats/document/yaml_reader.h"

namespace stowplan::tables {
namespace {

// Empty where this build lacks the agent's plug-in: its rows are then shown as they are.
std::string ExperimentOf(const GateCase& gate, const std::string& name) {
  if (name.empty()) return "";
  problem::Fingerprint fingerprint;
  for (const std::string& text : {gate.graph, gate.cluster, gate.grouper, name}) fingerprint.Add(text);
  fingerprint.Add(gate.samples);
  return fingerprint.ToString();
}

// With all its parameters; empty where this build lacks it.
std::string FullName(const std::string& agent) {
  try {
    return agents::MakeAgent(agent)->name();
  } catch (const RunError&) {
    return "";
  }
}

struct SanitySuite {
  std::vector<GateCase> cases;
  std::vector<GateAgent> agents;
};

constexpr std::string_view kTop[] = {"format", "version", "name", "title", "samples", "cases", "agents"};
constexpr std::string_view kCase[] = {"key", "title", "graph", "cluster", "grouper", "optimum"};
constexpr std::string_view kAgent[] = {"title", "agent", "untrained", "control", "learner", "seeds", "walks"};

GateCase ReadCase(const formats::Value& value, std::int64_t samples) {
  const formats::Fields fields(value, kCase);
  GateCase gate{.key = fields.Require("key").Name(),
                .title = fields.Require("title").Name(),
                .graph = fields.Require("graph").Name(),
                .cluster = fields.Require("cluster").Name(),
                .grouper = fields.Name("grouper", "colocation"),
                .samples = samples};
  if (const auto optimum = fields.Find("optimum")) {
    gate.exhaustive = optimum->Text() == "search";
    if (!gate.exhaustive) gate.goal_s = sim::ToMicros(optimum->Time()) / 1e6;
  }
  return gate;
}

GateAgent ReadAgent(const formats::Value& value) {
  constexpr int kMostSeeds = 100;
  const formats::Fields fields(value, kAgent);
  return {.title = fields.Require("title").Name(),
          .spec = fields.Require("agent").Name(),
          .untrained = fields.Require("untrained").Name(),
          .control = fields.Bool("control", false),
          .seeds = static_cast<int>(fields.Int("seeds", 3, 1, kMostSeeds)),
          .walks = fields.Bool("walks", false)};
}

const SanitySuite& Suite() {
  static const SanitySuite suite = [] {
    const formats::Document document = formats::ParseYaml(TableData("gate.yaml"), "gate.yaml");
    const formats::Fields top(document.root(), kTop);
    const std::int64_t samples = top.Int("samples", 0, 1, 1'000'000);
    SanitySuite read;
    for (const formats::Value one : top.Require("cases").items())
      read.cases.push_back(ReadCase(one, samples));
    for (const formats::Value one : top.Require("agents").items()) read.agents.push_back(ReadAgent(one));
    return read;
  }();
  return suite;
}

}  // namespace

const std::vector<GateCase>& GateCases() {
  return Suite().cases;
}

const std::vector<GateAgent>& GateAgents() {
  return Suite().agents;
}

int SeedsOf(const GateCase& gate, const GateAgent& agent) {
  return gate.real() ? std::max(agent.seeds, 2) : agent.seeds;
}

std::vector<GateRun> PlanGate(const std::vector<GateCase>& cases, const std::vector<GateAgent>& agents) {
  std::vector<GateRun> runs;
  std::set<std::pair<std::string, std::string>> planned;  // random without learning is random
  for (const GateAgent& agent : agents) {
    const std::map<std::string, std::string> names = {{agent.spec, FullName(agent.spec)},
                                                      {agent.untrained, FullName(agent.untrained)}};
    for (const GateCase& gate : cases) {
      for (const std::string& spec : {agent.spec, agent.untrained}) {
        if (!planned.emplace(gate.key, spec).second) continue;
        const std::string experiment = ExperimentOf(gate, names.at(spec));
        for (int seed = 1; seed <= SeedsOf(gate, agent); ++seed)
          runs.push_back({.gate_case = gate.key, .agent = spec, .seed = seed, .experiment = experiment});
      }
    }
  }
  return runs;
}

}  // namespace stowplan::tables
