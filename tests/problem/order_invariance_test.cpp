// The lines of a graph file may stand in any order: it changes no work, no price and no group, and no time where the rules do
// not go by it.
#include <nlohmann/json.hpp>

#include "agents/task.h"
#include "cost_models/ops/op_work.h"
#include "problem/loaded_problem.h"
#include "problem/plausibility.h"
#include "scenarios/scenarios.h"
#include "sim/formats/formats.h"
#include "tests/testing.h"

namespace stowplan::problem {
namespace {

sim::OpGraph Shuffled(const sim::OpGraph& graph, unsigned seed) {
  auto json = nlohmann::ordered_json::parse(formats::PrintGraph(graph));
  std::mt19937 random(seed);
  std::shuffle(json["ops"].begin(), json["ops"].end(), random);
  return formats::ParseGraph(json.dump(), "shuffled.json");
}

const std::string& NameOf(const sim::OpGraph& graph, sim::OpIndex op) {
  return graph.ops[static_cast<std::size_t>(op)].name;
}

struct Told {
  double flops, bytes;
  std::vector<double> us;  // by device
  bool operator==(const Told&) const = default;
};

std::map<std::string, Told> ByName(const LoadedProblem& loaded) {
  std::map<std::string, Told> told;
  for (sim::OpIndex op = 0; op < loaded.graph().size(); ++op) {
    const auto work = cost_models::WorkOf(loaded.graph(), op);
    Told one{work.flops, work.bytes, {}};
    for (sim::DeviceIndex d = 0; d < loaded.cluster().size(); ++d)
      one.us.push_back(sim::ToMicros(loaded.problem().costs().at(op, d)));
    told.emplace(NameOf(loaded.graph(), op), one);
  }
  return told;
}

std::set<std::set<std::string>> Groups(const LoadedProblem& loaded, const std::string& grouper) {
  std::set<std::set<std::string>> groups;
  for (const auto& unit : agents::MakeUnits(grouper, loaded.problem()).ops) {
    std::set<std::string> names;
    for (const sim::OpIndex op : unit) names.insert(NameOf(loaded.graph(), op));
    groups.insert(std::move(names));
  }
  return groups;
}

constexpr const char* kWorkloads[] = {"inception_v3(batch=2)", "nmt(layers=2,batch=4)",
                                      "moe(layers=2,batch=1)", "llama(layers=2,batch=1,sequence=64)",
                                      "cifar10(batch=32)"};

TEST(OrderOfTheFile, ChangesNoWorkNoPriceAndNoGroup) {
  for (const char* workload : kWorkloads) {
    const sim::OpGraph graph = scenarios::LoadGraph(workload);
    const ProblemSource source{.graph = workload, .cluster = "a100(gpus=2)"};
    const LoadedProblem loaded(graph, source);
    for (const unsigned seed : {1U, 2U}) {
      const LoadedProblem shuffled(Shuffled(graph, seed), source);
      EXPECT_TRUE(ByName(loaded) == ByName(shuffled)) << workload;
      EXPECT_EQ(ImplausibleWork(loaded.graph()).size(), ImplausibleWork(shuffled.graph()).size());
      for (const agents::GrouperRow& row : agents::Groupers()) {
        // These merge what exchanges most, or join what has no name of its own to its first reader: of equals the one that
        // stands first. A chain is of the program's order.
        if (std::set<std::string>{"chain", "layer", "module", "neighbour", "tied", "whole_module"}.contains(
                row.name))
          continue;
        EXPECT_TRUE(Groups(loaded, row.name) == Groups(shuffled, row.name)) << workload << " " << row.name;
      }
    }
  }
}

sim::DeviceIndex DeviceOf(int op) {
  return op * 7 / 3 % 2;
}

// Of ops that become ready together the rules take the one that stands first, so none do here: one op is at the start, costs are
// all different, and an op has one reader on each of the two devices at most.
sim::OpGraph WithoutTies(unsigned seed) {
  std::mt19937 random(seed);
  nlohmann::ordered_json json = {{"format", "stowplan.graph"}, {"version", 1}, {"name", "without_ties"}};
  std::vector<std::array<bool, 2>> is_read;
  for (int i = 0; i < 60; ++i) {
    std::vector<std::string> inputs;
    for (int from = i - 1; from >= 0 && inputs.size() < 1 + random() % 3; --from) {
      bool& taken = is_read[static_cast<std::size_t>(from)][static_cast<std::size_t>(DeviceOf(i))];
      if (taken) continue;
      taken = true;
      inputs.push_back("op" + std::to_string(from));
    }
    is_read.push_back({});
    if (i > 0 && inputs.empty()) break;
    json["ops"].push_back({{"name", "op" + std::to_string(i)},
                           {"type", "Op"},
                           {"inputs", inputs},
                           {"cost_us", 1 + static_cast<double>(random() % 1'000'000) / 1e4},
                           {"outputs", {{{"bytes", 1 + random() % 10'000'000}}}}});
  }
  return formats::ParseGraph(json.dump(), "without_ties.json");
}

sim::Picos TimeOf(const sim::OpGraph& graph, const ProblemSource& source) {
  const LoadedProblem loaded(graph, source);
  sim::Placement placement;
  const auto first = loaded.cluster().size() - 2;
  for (const sim::Op& op : graph.ops)
    placement.device.push_back(first + DeviceOf(std::stoi(op.name.substr(2))));
  return sim::MakeSimulator(loaded.problem())->Run(placement).runtime;
}

TEST(OrderOfTheFile, ChangesNoTimeWhereRulesDoNotGoByIt) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const sim::OpGraph graph = WithoutTies(seed);
    for (const char* rules : {"native", "published"}) {
      const ProblemSource source{
          .graph = "without_ties", .cluster = "k40(gpus=2,order=ready)", .rules = rules};
      EXPECT_EQ(TimeOf(graph, source), TimeOf(Shuffled(graph, seed), source)) << rules << " " << seed;
    }
  }
}

}  // namespace
}  // namespace stowplan::problem
