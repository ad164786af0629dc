// What a search for a format keeps to: whatever it may find, the format says it.
#include "problem/advice/plan_space.h"

#include <map>
#include <random>

#include "agents/agent.h"
#include "agents/groupers/chain.h"
#include "problem/loaded_problem.h"
#include "sim/formats/formats.h"
#include "tests/testing.h"

namespace stowplan::problem {
namespace {

const std::string kSizes = "layers=3,hidden=64,heads=4,kv_heads=2,feed_forward=128,sequence=16,vocabulary=64";

agents::UnitPlacement RandomPlan(const scenarios::ExporterRow& format, const agents::Task& task,
                                 std::mt19937& rng) {
  agents::UnitPlacement placement(task.units.ops.size());
  if (!format.space->stages) {
    for (sim::DeviceIndex& device : placement) device = task.devices[rng() % task.devices.size()];
    return placement;
  }
  const auto chain = agents::ChainOfUnits(task);
  std::vector<sim::DeviceIndex> devices = task.devices;
  std::shuffle(devices.begin(), devices.end(), rng);
  std::size_t stage = 0, left = std::min(devices.size(), chain.size());
  for (std::size_t piece = 0; piece < chain.size(); ++piece) {
    // Two stages at least.
    const bool must = stage == 0 && piece + 1 == chain.size();
    if (piece > 0 && stage + 1 < left && (must || rng() % 3 == 0)) ++stage;
    for (const agents::UnitIndex unit : chain[piece])
      placement[static_cast<std::size_t>(unit)] = devices[stage];
  }
  return placement;
}

// The formats that take the model, after many plans of each were exported.
std::vector<std::string> FormatsOf(const std::string& graph) {
  const LoadedProblem loaded({.graph = graph, .cluster = "a100(gpus=3)"});
  std::vector<std::string> taken;
  for (const scenarios::ExporterRow& format : scenarios::Exporters()) {
    if (!format.space) continue;
    SCOPED_TRACE(graph + " for " + format.name);
    const agents::Task task =
        agents::MakeTask(loaded.problem(), format.space->grouper, PlanDevices(format, loaded.cluster(), {}));
    try {
      CheckPlanFormat(format, task, graph);
    } catch (const InputError& error) {
      continue;
    }
    taken.emplace_back(format.name);
    std::mt19937 rng(7);
    for (int draw = 0; draw < 30; ++draw) {
      const sim::Placement placement = agents::Expand(task, RandomPlan(format, task, rng));
      EXPECT_NO_THROW(format.print({.problem = *task.problem, .placement = placement, .graph_file = graph}));
    }
  }
  return taken;
}

TEST(PlanSpace, WhatItHoldsIsExported) {
  const std::map<std::string, std::vector<std::string>> models = {
      {"llama(mode=inference," + kSizes + ")",
       {"device-map", "pipeline", "megatron", "vllm", "onnxruntime", "llama.cpp"}},
      {"llama(" + kSizes + ")", {"device-map", "pipeline", "megatron"}},
      {"pipeline(of=llama(batch=4,gradients=colocated," + kSizes + "),micro_batches=4)",
       {"device-map", "pipeline", "megatron"}},
      {"moe(mode=inference," + kSizes + ")",
       {"device-map", "pipeline", "megatron", "vllm", "onnxruntime", "llama.cpp"}},
      {"resnet_152(mode=inference)", {"device-map", "pipeline", "onnxruntime"}},
      {"inception_v3", {"device-map", "pipeline"}},
      {"bert(layers=2,hidden=64,heads=2,sequence=16)", {"device-map", "pipeline", "megatron"}},
      {"nmt(steps=3)", {"device-map", "pipeline"}},
  };
  for (const auto& [graph, formats] : models)
    EXPECT_THAT(FormatsOf(graph), ::testing::ElementsAreArray(formats)) << graph;
}

// As a captured model has them: a table that the head shares, ops of the model itself beside its layers, some of them read by
// nobody, a gradient of a view in another module than its name says.
std::string Captured() {
  std::string ops = R"({"name":"tokens","type":"Placeholder","outputs":[{"bytes":64}]},
    {"name":"embed.weight","type":"Variable","persistent_bytes":64,"outputs":[{"bytes":64}]},
    {"name":"model.rotary.inv_freq","type":"Variable","persistent_bytes":64,"outputs":[{"bytes":64}]},
    {"name":"model/arange","type":"Fill","outputs":[{"bytes":64}],"attributes":{"module":"model"}},
    {"name":"model/dead","type":"Add","inputs":["model/arange"],"outputs":[{"bytes":64}],"attributes":{"module":"model"}},
    {"name":"model/positions","type":"Fill","outputs":[{"bytes":64}],"attributes":{"module":"model"}},
    {"name":"embed/gather","type":"GatherV2","inputs":["embed.weight","tokens"],"outputs":[{"bytes":64}]})";
  std::string x = "embed/gather";
  const auto op = [&](const std::string& name, const std::string& inputs, const std::string& more = "") {
    ops += ",\n{\"name\":\"" + name + "\",\"type\":\"MatMul\",\"inputs\":[" + inputs +
           "],\"outputs\":[{\"bytes\":64}]" + more + "}";
  };
  for (const std::string layer : {"model.layers.0", "model.layers.1", "model.layers.2"}) {
    ops += ",\n{\"name\":\"" + layer +
           ".mlp.gate.weight\",\"type\":\"Variable\",\"persistent_bytes\":64,\"outputs\":[{\"bytes\":64}]}";
    op(layer + ".attn/rotate", "\"" + x + "\",\"model/positions\"");
    op(layer + "/add", "\"" + layer + ".attn/rotate\",\"" + x + "\"");
    op(layer + ".mlp.gate/view", "\"" + layer + "/add\"");
    op(layer + ".mlp.gate/mm", "\"" + layer + ".mlp.gate/view\",\"" + layer + ".mlp.gate.weight\"");
    op(layer + ".mlp.up/mm", "\"" + layer + ".mlp.gate/view\"");
    op(layer + "/add#1", "\"" + layer + ".mlp.gate/mm\",\"" + layer + ".mlp.up/mm\",\"" + layer + "/add\"");
    x = layer + "/add#1";
  }
  op("head/mm", "\"" + x + "\",\"embed.weight\"");
  const std::string layer = "model.layers.1.mlp.";
  op("gradients/" + layer + "gate/view/view", "\"head/mm\"",
     R"(,"phase":"backward","attributes":{"module":")" + layer + "up\"}");
  return R"({"format":"stowplan.graph","version":1,"name":"captured","ops":[)" + ops + "]}";
}

TEST(PlanSpace, HoldsCapturedModels) {
  const tests::TempFolder folder;
  const std::string file = folder / "captured.json";
  formats::WriteFile(file, Captured());
  EXPECT_THAT(FormatsOf(file), ::testing::ElementsAre("device-map", "pipeline", "megatron"));
}

// Of six layers on three devices: with one, two or three stages, and where memory keeps to some of them.
TEST(PlanSpace, StagesAreTheBestOfAllSplits) {
  for (const std::string memory : {"80GiB", "7MiB", "6MiB"}) {
    SCOPED_TRACE(memory);
    const LoadedProblem loaded(
        {.graph = "pipeline(of=llama(layers=6,hidden=64,heads=4,kv_heads=2,feed_forward=128,sequence="
                  "16,vocabulary=512,batch=6,gradients=colocated),micro_batches=6)",
         .cluster = "a100(gpus=3)",
         .memory = {"gpu=" + memory},
         .reserve = "0"});
    const agents::Task task = agents::MakeTask(loaded.problem(), "chain(at=block)", {"gpu0", "gpu1", "gpu2"});
    const auto chain = agents::ChainOfUnits(task);
    ASSERT_EQ(chain.size(), 6);
    const auto simulator = sim::MakeSimulator(loaded.problem());
    std::optional<sim::Picos> least;
    for (std::size_t first = 1; first <= chain.size(); ++first) {
      for (std::size_t second = first; second <= chain.size(); ++second) {
        agents::UnitPlacement placement(chain.size());
        for (std::size_t i = 0; i < chain.size(); ++i) {
          for (const agents::UnitIndex unit : chain[i])
            placement[static_cast<std::size_t>(unit)] = task.devices[i < first ? 0 : i < second ? 1 : 2];
        }
        const sim::Outcome& outcome = simulator->Run(agents::Expand(task, placement));
        if (outcome.feasible() && (!least || outcome.runtime < *least)) least = outcome.runtime;
      }
    }
    agents::Evaluator evaluator(task, {.budget = 60});
    agents::MakeAgent("stages(best=20)")->Search(task, evaluator, {});
    ASSERT_EQ(evaluator.has_best(), least.has_value());
    EXPECT_EQ(evaluator.has_best() ? evaluator.best_runtime() : 0, least.value_or(0));
  }
}

TEST(PlanSpace, RefusesDevicesThatAFormatCannotSay) {
  const LoadedProblem loaded({.graph = "llama(" + kSizes + ")", .cluster = "h100_hosts(hosts=2,gpus=1)"});
  const auto devices = [&](const std::string& format, const std::vector<std::string>& asked) {
    return PlanDevices(FindPlanFormat(format), loaded.cluster(), asked);
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(devices("vllm", {}), ElementsAre("gpu0", "gpu1"));
  EXPECT_THAT(devices("device-map", {}), ElementsAre("cpu0", "gpu0", "gpu1"));
  EXPECT_THAT(devices("onnxruntime", {}), ElementsAre("cpu0", "gpu0"));
  EXPECT_THAT(devices("pipeline", {"cpu0", "cpu1"}), ElementsAre("cpu0", "cpu1"));
  EXPECT_THROW(devices("megatron", {"cpu0", "cpu1"}), InputError);
  EXPECT_THROW(devices("pipeline", {"cpu0", "gpu0"}), InputError);
  EXPECT_THROW(devices("pipeline", {"gpu0"}), InputError);
  EXPECT_THROW(devices("device-map", {"cpu0", "cpu1"}), InputError);
  EXPECT_THROW(devices("onnxruntime", {"gpu0", "gpu1"}), InputError);
  EXPECT_THROW(FindPlanFormat("dot"), InputError);
  EXPECT_THROW(FindPlanFormat("vlm"), InputError);
}

}  // namespace
}  // namespace stowplan::problem
