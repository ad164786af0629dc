// Two towers of products that meet in a loss, on one CPU and two GPUs: simulated on one GPU, then placed by an agent.
#include <cstdio>

#include "agents/agent.h"
#include "agents/plugin.h"
#include "cost_models/cost_models.h"
#include "scenarios/clusters/framework.h"
#include "scenarios/scenarios.h"

using namespace stowplan;

int main(int arguments, char** argument) {
  sim::OpGraph graph;
  for (int i = 0; i < 8; ++i) {  // op i reads op i - 2, so even and odd ones are a tower each
    sim::Op& op = graph.ops.emplace_back(sim::Op{.name = "product" + std::to_string(i), .type = "MatMul"});
    op.flops = 2e11;
    op.outputs = {{.bytes = 4 << 20, .dtype = "f32", .shape = {1024, 1024}}};
    if (i >= 2) op.inputs = {{i - 2, 0}};
  }
  graph.ops.push_back({.name = "loss", .type = "Add", .inputs = {{6, 0}, {7, 0}}});
  graph.Finish();

  const auto& catalogue = cost_models::BuiltinCatalogue();
  sim::Cluster cluster = scenarios::LoadCluster("p100(gpus=2)", catalogue);  // or the path of a file
  scenarios::FillFromFramework(cluster,
                               graph);  // host processes, order, reserve, where the cluster leaves them open
  const auto prices = cost_models::MakeCostModel("");  // the default chain
  const sim::Problem problem(graph, cluster, sim::PriceOps(graph, cluster, *prices));

  const sim::DeviceIndex gpu = cluster.Find("gpu0");
  const sim::Placement alone{.device = std::vector<sim::DeviceIndex>(graph.ops.size(), gpu)};
  std::printf("one GPU: %.1f ms\n", sim::ToMicros(sim::MakeSimulator(problem)->Run(alone).runtime) / 1e3);

  agents::SetPluginFolder(STOWPLAN_PLUGIN_FOLDER);  // for learners: ./towers placeto
  const agents::Task task = agents::MakeTask(problem, "colocation");
  agents::Evaluator evaluator(task, {.budget = 200});
  agents::MakeAgent(arguments > 1 ? argument[1] : "local_search")->Search(task, evaluator, {.seed = 1});
  std::printf("after %ld samples: %.1f ms\n", evaluator.samples(),
              sim::ToMicros(evaluator.best_runtime()) / 1e3);
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    std::printf("%-9s %s\n", graph.ops[op].name.c_str(),
                task.device(evaluator.best()[task.units.unit_of_op[op]]).name.c_str());
  }
}
