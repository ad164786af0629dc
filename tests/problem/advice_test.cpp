// What is advised: the plainest of what is about as fast as the best, beside what needs no search.
#include "problem/advice/advice.h"

#include <nlohmann/json.hpp>

#include "agents/agent.h"
#include "output/console.h"
#include "problem/loaded_problem.h"
#include "sim/formats/formats.h"
#include "tests/sim/no_cost_model.h"
#include "tests/testing.h"

namespace stowplan::problem {
namespace {

struct Sample {
  agents::UnitPlacement placement;
  sim::Picos runtime;
  agents::Plainness plainness;
};

// A search of every placement: its samples that fit, and what is advised.
class Searched {
 public:
  Searched(const sim::Problem& problem, double within, const std::vector<std::string>& devices = {})
      : task_(agents::MakeTask(problem, "colocation", devices)) {
    agents::Evaluator evaluator(task_, {.budget = 1'000'000, .within = within});
    evaluator.observer = [&](std::int64_t, const agents::UnitPlacement& placement,
                             const agents::Evaluation& evaluation) {
      if (evaluation.feasible && !evaluation.stopped)
        samples_.push_back(
            {placement, evaluation.runtime, agents::PlainnessOf(task_, placement, evaluation.peak)});
    };
    agents::MakeAgent("brute_force")->Search(task_, evaluator, {});
    advice_ = Advise(task_, evaluator);
  }
  const agents::Task& task() const { return task_; }
  const std::vector<Sample>& samples() const { return samples_; }
  const Advice& advice() const { return advice_; }
  const agents::FittingPlacement& chosen() const { return advice_.chosen; }

 private:
  agents::Task task_;
  std::vector<Sample> samples_;
  Advice advice_;
};

// GPUs that a switch joins; ops cost the same on each.
class Machine {
 public:
  explicit Machine(int gpus, sim::Bytes memory = sim::kMaxBytes) {
    cluster_.name = "machine";
    for (int i = 0; i < gpus; ++i) {
      cluster_.devices.push_back({.name = "gpu" + std::to_string(i), .kind = "gpu", .memory = memory});
      cluster_.links.push_back({.name = "link" + std::to_string(i),
                                .ends = {i, gpus},
                                .bandwidth = 100'000'000'000,
                                .latency = sim::FromMicros(0.1)});
    }
    cluster_.switches = {"switch"};
    cluster_.dispatch.per = sim::Dispatch::Per::kProcess;
    cluster_.dispatch.order = sim::Dispatch::Order::kProgram;
    cluster_.Finish();
  }
  void Add(const std::string& name, double us, const std::vector<sim::OpIndex>& inputs,
           sim::Bytes persistent = 0) {
    sim::Op& op = graph_.ops.emplace_back();
    op.name = name;
    op.type = "MatMul";
    op.cost_us = us;
    op.persistent_bytes = persistent;
    op.outputs = {{.bytes = 1024}};
    for (const sim::OpIndex input : inputs) op.inputs.push_back({input, 0});
  }
  const sim::Problem& Finish() {
    graph_.name = "graph";
    graph_.Finish();
    problem_ =
        std::make_unique<sim::Problem>(graph_, cluster_, sim::PriceOps(graph_, cluster_, sim::NoCostModel()));
    return *problem_;
  }

 private:
  sim::OpGraph graph_;
  sim::Cluster cluster_;
  std::unique_ptr<sim::Problem> problem_;
};

// Of a small op beside a long chain a second GPU saves 0.2 %.
TEST(Advice, TakesOneDeviceWhereASecondSavesNextToNothing) {
  Machine machine(2);
  machine.Add("layer0", 1000, {});
  machine.Add("aside", 4, {0});
  machine.Add("layer1", 1000, {0});
  machine.Add("layer2", 1, {1, 2});
  const sim::Problem& problem = machine.Finish();
  const Searched plain(problem, 0.01), fastest(problem, 0);
  EXPECT_EQ(plain.chosen().plainness.devices, 1);
  EXPECT_EQ(fastest.chosen().plainness.devices, 2);
  EXPECT_LT(fastest.chosen().runtime, plain.chosen().runtime);
  EXPECT_EQ(plain.advice().fastest.runtime, fastest.chosen().runtime);
  EXPECT_EQ(plain.advice().name, "all on gpu0");
  EXPECT_THAT(PrintAdvice(plain.advice(), plain.task()), HasSubstr("--within 0"));
}

// Wherever a chain is cut it takes as long, so the halves are alike.
TEST(Advice, BalancesWhatIsCut) {
  Machine machine(3, 3'300'000);
  for (int i = 0; i < 4; ++i)
    machine.Add("layer" + std::to_string(i), 1000,
                i == 0 ? std::vector<sim::OpIndex>{} : std::vector<sim::OpIndex>{i - 1}, 1'000'000);
  const Searched searched(machine.Finish(), 0.01);
  EXPECT_EQ(searched.chosen().plainness.devices, 2);
  std::map<sim::DeviceIndex, int> ops;
  for (const sim::DeviceIndex d : searched.chosen().placement) ++ops[d];
  for (const auto& [device, count] : ops) EXPECT_EQ(count, 2);
  EXPECT_FALSE(searched.advice().rivals.front().fits) << "all on one";
}

// On graphs of which every placement is looked at.
TEST(Advice, NoSampleNearTheFastestIsPlainer) {
  for (int seed = 1; seed <= 12; ++seed) {
    for (const double within : {0.0, 0.01, 0.2}) {
      const LoadedProblem loaded(
          ProblemSource{.graph = "random_dag(ops=7,width=3,us=300,seed=" + std::to_string(seed) + ")",
                        .cluster = "a100(gpus=3)"});
      const Searched searched(loaded.problem(), within, {"gpu0", "gpu1", "gpu2"});
      const auto by_time = [](const Sample& a, const Sample& b) { return a.runtime < b.runtime; };
      const sim::Picos fastest = std::ranges::min_element(searched.samples(), by_time)->runtime;
      EXPECT_EQ(searched.advice().fastest.runtime, fastest);
      EXPECT_LE(static_cast<double>(searched.chosen().runtime), (1 + within) * static_cast<double>(fastest));
      for (const Sample& sample : searched.samples()) {
        if (static_cast<double>(sample.runtime) > (1 + within) * static_cast<double>(fastest)) continue;
        EXPECT_FALSE(sample.plainness < searched.chosen().plainness) << seed << " " << within;
      }
    }
  }
}

// ---- rivals -----------------------------------------------------------------------------------------------

const std::string kDecoder =
    "llama(mode=inference,layers=8,hidden=256,heads=4,kv_heads=2,feed_forward=512,sequence=64,vocabulary="
    "512)";

std::map<std::string, Rival> RivalsOf(const LoadedProblem& loaded) {
  const agents::Task task = agents::MakeTask(loaded.problem(), "colocation");
  std::map<std::string, Rival> rivals;
  for (Rival& rival : SimplestRivals(task)) rivals.emplace(rival.name, rival);
  return rivals;
}

// The layers that stand on each device, in order.
std::map<std::string, std::vector<int>> LayersOf(const LoadedProblem& loaded, const Rival& rival) {
  const agents::Task task = agents::MakeTask(loaded.problem(), "colocation");
  const sim::Placement placement = agents::Expand(task, rival.placement);
  std::map<std::string, std::vector<int>> layers;
  for (int layer = 0; layer < 8; ++layer) {
    const std::string prefix = "layer" + std::to_string(layer) + "/";
    for (std::size_t op = 0; op < loaded.graph().ops.size(); ++op) {
      if (!loaded.graph().ops[op].name.starts_with(prefix)) continue;
      const std::string& device =
          loaded.cluster().devices[static_cast<std::size_t>(placement.device[op])].name;
      std::vector<int>& there = layers[device];
      if (there.empty() || there.back() != layer) there.push_back(layer);
    }
  }
  return layers;
}

// Captured graphs have their weights first; modules without any stand where they run, not behind all that have some.
TEST(Rivals, ModulesWithoutWeightsStandWhereTheyRun) {
  nlohmann::json ops = nlohmann::json::array();
  for (const char* with_weights : {"b", "d"}) {
    ops.push_back({{"name", std::string(with_weights) + ".weight"},
                   {"type", "Variable"},
                   {"outputs", {{{"bytes", 1000}}}},
                   {"attributes", {{"module", with_weights}}}});
  }
  std::string before;
  for (const char* module : {"a", "b", "c", "d"}) {
    nlohmann::json op = {{"name", std::string(module) + "/op"},
                         {"type", "Op"},
                         {"cost_us", 100.0},
                         {"outputs", {{{"bytes", 1000}}}},
                         {"attributes", {{"module", module}}}};
    op["inputs"] = nlohmann::json::array();
    if (!before.empty()) op["inputs"].push_back(before);
    if (*module == 'b' || *module == 'd') op["inputs"].push_back(std::string(module) + ".weight");
    before = op["name"];
    ops.push_back(op);
  }
  const nlohmann::json json = {
      {"format", "stowplan.graph"}, {"version", 1}, {"name", "captured"}, {"ops", ops}};
  const LoadedProblem loaded(formats::ParseGraph(json.dump(), "captured.json"),
                             {.graph = "captured", .cluster = "a100(gpus=2)"});
  const agents::Task task = agents::MakeTask(loaded.problem(), "colocation");
  const auto split = agents::Expand(task, EvenSplit(task, 2)).device;
  const auto on = [&](const char* op) { return split.at(static_cast<std::size_t>(loaded.graph().Find(op))); };
  EXPECT_EQ(on("a/op"), on("b/op"));
  EXPECT_EQ(on("c/op"), on("d/op"));
  EXPECT_NE(on("b/op"), on("c/op"));
}

TEST(Rivals, AreWhatTheirNamesSay) {
  const LoadedProblem loaded(ProblemSource{.graph = kDecoder, .cluster = "a100(gpus=2)"});
  const auto rivals = RivalsOf(loaded);
  ASSERT_TRUE(rivals.contains("all on gpu0") && rivals.contains("even split by layers"));
  EXPECT_EQ(rivals.at("all on gpu0").plainness.devices, 1);
  const auto even = LayersOf(loaded, rivals.at("even split by layers"));
  ASSERT_EQ(even.size(), 2u);
  EXPECT_THAT(even.at("gpu0"), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(even.at("gpu1"), ElementsAre(4, 5, 6, 7));
}

// Shares of accelerate, by hand: layers weigh alike, and the embedding and the head less than one. With four GPUs a share is a quarter and
// 1.25 layers, of which the first keeps one layer free; the last takes what is left.
TEST(Rivals, FillAsAccelerateDoes) {
  const LoadedProblem loaded(ProblemSource{.graph = kDecoder, .cluster = "a100(gpus=4)"});
  const auto rivals = RivalsOf(loaded);
  ASSERT_TRUE(rivals.contains("accelerate's auto"));
  const auto layers = LayersOf(loaded, rivals.at("accelerate's auto"));
  std::size_t sum = 0;
  int next = 0;
  for (const auto& [device, there] : layers) {
    for (const int layer : there) EXPECT_EQ(layer, next++) << device;
    sum += there.size();
  }
  EXPECT_EQ(sum, 8u);
  ASSERT_TRUE(layers.contains("gpu0") && layers.contains("gpu1"));
  EXPECT_LT(layers.at("gpu0").size(), layers.at("gpu1").size());
}

// What does not fit onto one GPU by accelerate's rule goes to the CPU.
TEST(Rivals, LeaveTheRestToTheCpu) {
  const std::string large =
      "llama(mode=inference,layers=8,hidden=1024,heads=8,kv_heads=8,feed_forward=2816,sequence=16,vocabulary="
      "512)";
  const LoadedProblem loaded(ProblemSource{
      .graph = large, .cluster = "workstation(gpus=1)", .memory = {"gpu=300MiB"}, .reserve = "0"});
  const auto rivals = RivalsOf(loaded);
  EXPECT_FALSE(rivals.at("all on gpu0").fits);
  const auto layers = LayersOf(loaded, rivals.at("accelerate's auto"));
  ASSERT_TRUE(layers.contains("cpu0") && layers.contains("gpu0"));
  EXPECT_EQ(layers.at("gpu0").front(), 0);
  EXPECT_EQ(layers.at("cpu0").back(), 7);
}

}  // namespace
}  // namespace stowplan::problem
