#include "tests/agents/problems.h"

#include <algorithm>

#include "agents/agent.h"
#include "agents/random_numbers.h"

namespace stowplan::agents {
namespace {

sim::Device MakeDevice(const std::string& name, sim::DeviceClass device_class) {
  sim::Device device;
  device.name = name;
  device.kind = device_class == sim::DeviceClass::kCpu ? "cpu" : "gpu";
  device.device_class = device_class;
  device.memory = sim::Bytes{16} << 30;
  device.granularity = device_class == sim::DeviceClass::kCpu ? 64 : 256;
  return device;
}

void AddOutputs(sim::Op& op, Rng& rng, bool variable) {
  for (std::uint64_t n = rng.Below(3); n > 0; --n) {
    sim::Output output;
    output.bytes = static_cast<sim::Bytes>(rng.Below(4) * 40'000);
    if (variable) {
      output.storage = sim::Output::Storage::kPersistent;
    } else if (!op.inputs.empty() && rng.Below(4) == 0) {
      output.storage = sim::Output::Storage::kInput;
      output.alias = rng.Pick(op.inputs);
    }
    op.outputs.push_back(output);
  }
}

void RandomCluster(sim::Cluster& cluster, Rng& rng, bool tight_memory) {
  const std::vector<std::string> interconnects = {"ideal", "fifo", "fair"};
  cluster.interconnect = rng.Pick(interconnects);
  for (sim::Device& device : cluster.devices) {
    device.streams = 1 + static_cast<int>(rng.Below(3));
    if (rng.Below(2) == 0 && device.streams > 1)
      device.concurrency_ppm = {1'000'000, 800'000};  // two at once do 1.6 times the work
    if (rng.Below(3) == 0) device.overlap_copy_ppm = 900'000;
    device.copy_engines = 1 + static_cast<int>(rng.Below(3));
    device.launch_cost = static_cast<sim::Picos>(rng.Below(4)) * 1'000'000;
    if (tight_memory) device.memory = static_cast<sim::Bytes>(200'000 + rng.Below(8) * 40'000);
  }
  for (sim::Link& link : cluster.links) {
    link.bandwidth = static_cast<std::int64_t>(1 + rng.Below(10)) * 1'000'000'000;
    if (rng.Below(3) == 0) link.both_ppm = 700'000;
    if (rng.Below(4) == 0) link.duplex = sim::Duplex::kHalf;
  }
  if (rng.Below(2) == 0) cluster.dispatch.per = sim::Dispatch::Per::kProcess;
  if (rng.Below(2) == 0) cluster.dispatch.order = sim::Dispatch::Order::kProgram;
  cluster.dispatch.automatic = rng.Below(2) == 0;
  cluster.dispatch.cost = static_cast<sim::Picos>(rng.Below(3)) * 4'000'000;
}

}  // namespace

sim::Op& Case::Add(const std::string& name, std::vector<double> costs, std::vector<sim::OpIndex> inputs,
                   sim::Bytes output_bytes) {
  sim::Op op;
  op.name = name;
  op.type = "MatMul";
  for (const sim::OpIndex input : inputs) op.inputs.push_back({input, 0});
  op.outputs.push_back({});
  op.outputs.back().bytes = output_bytes;
  graph.ops.push_back(std::move(op));
  costs_.push_back(std::move(costs));
  return graph.ops.back();
}

void Case::UseGpus(int gpus, bool cpu) {
  cluster.name = "test";
  if (cpu) cluster.devices.push_back(MakeDevice("cpu0", sim::DeviceClass::kCpu));
  for (int i = 0; i < gpus; ++i) {
    cluster.devices.push_back(MakeDevice("gpu" + std::to_string(i), sim::DeviceClass::kGpu));
  }
  cluster.switches = {"switch"};
  const auto hub = static_cast<std::int32_t>(cluster.devices.size());
  for (std::int32_t d = 0; d < hub; ++d) {
    sim::Link link;
    link.name = "link" + std::to_string(d);
    link.ends = {d, hub};
    link.bandwidth = 10'000'000'000;
    link.latency = 5'000'000;
    cluster.links.push_back(link);
  }
}

const sim::Problem& Case::Finish() {
  graph.name = "test";
  graph.Finish();
  cluster.Finish();
  sim::CostTable table;
  table.cost_model = "test";
  table.devices = cluster.size();
  for (const std::vector<double>& costs : costs_) {
    for (std::size_t d = 0; d < cluster.devices.size(); ++d) {
      table.picos.push_back(sim::FromMicros(costs.size() == 1 ? costs[0] : costs.at(d)));
      table.tier.push_back(sim::Tier::kMeasured);
    }
  }
  problem = std::make_unique<sim::Problem>(graph, cluster, std::move(table));
  return *problem;
}

std::vector<UnitPlacement> Record(const std::string& agent, const Task& task, std::int64_t budget,
                                  std::uint64_t seed) {
  Evaluator evaluator(task, {.budget = budget});
  SearchOptions options;
  options.seed = seed;
  std::vector<UnitPlacement> placements;
  evaluator.observer = [&](std::int64_t, const UnitPlacement& units, const Evaluation&) {
    placements.push_back(units);
  };
  MakeAgent(agent)->Search(task, evaluator, options);
  return placements;
}

std::unique_ptr<Case> TinyCase() {
  auto tiny = std::make_unique<Case>();
  tiny->Add("a", {100, 10, 10});
  tiny->Add("b", {100, 20, 30}, {0});
  tiny->Add("c", {100, 30, 20}, {0});
  tiny->UseGpus(2);
  tiny->Finish();
  return tiny;
}

std::unique_ptr<Case> RandomCase(std::uint64_t seed, const RandomOptions& options) {
  Rng rng(seed, "random case");
  auto result = std::make_unique<Case>();
  result->UseGpus(options.gpus, options.cpu);
  for (int i = 0; i < options.ops; ++i) {
    const bool variable = rng.Below(5) == 0;
    std::vector<double> costs;
    for (std::size_t d = 0; d < result->cluster.devices.size(); ++d) {
      costs.push_back(variable ? 0 : static_cast<double>(rng.Below(6)) * 7.25);
    }
    sim::Op& op = result->Add("op" + std::to_string(i), costs);
    op.outputs.clear();
    for (std::uint64_t n = variable || i == 0 ? 0 : rng.Below(4); n > 0; --n) {
      const auto producer = static_cast<sim::OpIndex>(rng.Below(static_cast<std::uint64_t>(i)));
      const std::size_t outputs = result->graph.ops[static_cast<std::size_t>(producer)].outputs.size();
      if (outputs == 0 || rng.Below(5) == 0) {
        op.control.push_back(producer);
      } else {
        op.inputs.push_back({producer, static_cast<std::int32_t>(rng.Below(outputs))});
      }
    }
    std::sort(op.control.begin(), op.control.end());
    op.control.erase(std::unique(op.control.begin(), op.control.end()), op.control.end());
    if (variable) op.type = "Variable";
    if (variable || rng.Below(6) == 0) op.persistent_bytes = static_cast<sim::Bytes>(rng.Below(5) * 30'000);
    if (rng.Below(3) == 0) op.workspace_bytes = static_cast<sim::Bytes>(rng.Below(3) * 20'000);
    op.framework_ops = 1 + static_cast<std::int32_t>(rng.Below(2));
    AddOutputs(op, rng, variable);
    if (options.colocate && rng.Below(4) == 0) op.colocate = "set" + std::to_string(rng.Below(2));
  }
  RandomCluster(result->cluster, rng, options.tight_memory);
  result->cluster.rules = options.rules;
  result->Finish();
  return result;
}

std::unique_ptr<Case> RecurrentCase(int layers, int steps) {
  auto c = std::make_unique<Case>();
  constexpr sim::Bytes kWeights = 100'000'000;
  constexpr sim::Bytes kState = 1'000'000;
  std::vector<sim::OpIndex> below(static_cast<std::size_t>(steps), -1);
  sim::OpIndex next = 0;
  for (int layer = 0; layer < layers; ++layer) {
    const std::string name = "layer" + std::to_string(layer);
    c->Add(name, {0}, {}, kWeights);
    const sim::OpIndex weights = next++;
    std::vector<sim::OpIndex> gradients;
    sim::OpIndex before = -1;
    for (int step = 0; step < steps; ++step) {
      std::vector<sim::OpIndex> inputs = {weights};
      if (before >= 0) inputs.push_back(before);
      sim::OpIndex& under = below[static_cast<std::size_t>(step)];
      if (under >= 0) inputs.push_back(under);
      c->Add(name + "_" + std::to_string(step), {1000}, inputs, kState);
      before = under = next++;
      c->Add(name + "_gradient" + std::to_string(step), {1000}, {before}, kWeights);
      gradients.push_back(next++);
    }
    c->Add(name + "_sum", {1000}, gradients, 0);
    ++next;
  }
  c->UseGpus(layers, false);
  c->Finish();
  return c;
}

std::string SmallSpec(const AgentRow& row) {
  if (row.name == std::string("external"))
    return "external(command=python3 -B " STOWPLAN_SOURCE_DIR "/examples/outside_agent.py,timeout=60)";
  if (row.name == std::string("pilot") || row.name == std::string("portfolio"))
    return row.name + std::string("(plan=8000)");
  std::string small;
  for (const char* size : {"width=8", "groups=4", "iterations=10"}) {
    const std::string key = std::string(size).substr(0, std::string(size).find('='));
    if (row.kind == AgentKind::kLearner && row.settings.Find(key) != nullptr)
      small += (small.empty() ? "" : ",") + std::string(size);
  }
  return row.name + (small.empty() ? "" : "(" + small + ")");
}

}  // namespace stowplan::agents
