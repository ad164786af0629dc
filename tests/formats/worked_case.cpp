#include "tests/formats/worked_case.h"

#include "sim/formats/formats.h"
#include "tests/formats/testing.h"
#include "tests/sim/no_cost_model.h"

namespace stowplan::formats {
WorkedCase::WorkedCase(const std::string& extra, const std::string& memory)
    : graph(ParseGraph(R"({"format": "stowplan.graph", "version": 1, "name": "two", "ops": [
        {"name": "a", "type": "T", "outputs": [{"bytes": 1000000}], "cost_us": 10},
        {"name": "b c", "type": "T", "inputs": ["a"], "control": ["a"], "outputs": [{"bytes": 8}], "cost_us": 10,
         "workspace_bytes": 100}]})",
                       "two.json")),
      cluster(
          ParseCluster("format: stowplan.cluster\nversion: 1\nname: pair\n"
                       "devices: [{name: gpu0, kind: gpu-a, memory: " +
                           memory + "}, {name: gpu1, kind: gpu-a, memory: " + memory +
                           "}]\n"
                           "links: [{name: wire, ends: [gpu0, gpu1], bandwidth: 10GB/s, latency: 5us}]\n" +
                           extra,
                       "pair.yaml", SampleCatalogue())) {
  placement.device = {0, 1};
  problem = std::make_unique<sim::Problem>(graph, cluster, PriceOps(graph, cluster, sim::NoCostModel()));
}

sim::Outcome WorkedCase::Run(sim::RunOptions::Record record) const {
  return sim::MakeSimulator(*problem)->Run(placement, {.record = record});
}

}  // namespace stowplan::formats
