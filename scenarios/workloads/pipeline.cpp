// pipeline: a training step of any graph over micro-batches, in the order of GPipe or of 1F1B (micro_batches.h).
//
//   of: a workload, which is built for batch / micro_batches, or a graph file, whose batch is shared out by a rule
//
// Sources: Huang et al., GPipe, NeurIPS 2019; 1F1B: Narayanan et al., PipeDream, SOSP 2019, and Megatron-LM, SC 2021.
#include <algorithm>

#include "scenarios/builder/workload_options.h"
#include "scenarios/scenarios.h"
#include "scenarios/workloads/micro_batches.h"
#include "scenarios/workloads/workloads.h"
#include "sim/base/error.h"
#include "sim/base/rows.h"

namespace stowplan::scenarios {
namespace {

// The workload that `of` names where it has a batch; null = a file, or it has none.
const WorkloadRow* FindBatched(const std::string& name) {
  const WorkloadRow* row = FindRow(Workloads(), name);
  return row != nullptr && row->settings.Find("batch") != nullptr ? row : nullptr;
}

}  // namespace

sim::OpGraph ShareOf(const std::string& of, std::int64_t k, const std::string& what) {
  const WorkloadRow* row = FindBatched(of.substr(0, of.find('(')));
  if (row == nullptr) {
    sim::OpGraph whole = LoadGraph(of);
    if (sim::FindAttribute(whole.attributes, "schedule") != nullptr)
      throw InputError(what.substr(0, what.find(':')) + ": of=" + of +
                       " is over micro-batches already; give the graph of a whole step");
    if (k == 1) return whole;
    sim::OpGraph share = ShareBatch(whole, k, what);
    share.Finish();
    return share;
  }
  sim::OpGraph whole = row->build({Spec::Parse(of), row->settings});
  const auto batch = static_cast<std::int64_t>(sim::FindNumber(whole.attributes, "batch").value_or(1));
  if (k == 1) return whole;
  if (batch % k != 0) {
    throw InputError(what + "=" + std::to_string(k) + " does not divide the batch of " + of + ", which is " +
                     std::to_string(batch) + "; write " + std::string(row->name) +
                     "(batch=" + std::to_string((batch / k + 1) * k) + ",…), or another number");
  }
  Spec spec = Spec::Parse(of);
  std::erase_if(spec.named, [](const auto& parameter) { return parameter.first == "batch"; });
  spec.named.emplace_back("batch", std::to_string(batch / k));
  return row->build({spec, row->settings});
}

sim::OpGraph BuildPipeline(const Settings& read) {
  const std::string of = read.Text("of");
  const std::int64_t k = read.Int("micro_batches");
  const std::string schedule = read.Text("schedule");
  // What agents read of the graph that is repeated.
  const sim::OpGraph one = ShareOf(of, k, "pipeline: micro_batches");
  const auto layers = static_cast<std::int64_t>(sim::FindNumber(one.attributes, "layers").value_or(0));
  const sim::Attributes attributes =
      Describe(read, layers, sim::FindString(one.attributes, "expert").value_or("stage"));
  sim::OpGraph graph = RepeatMicroBatch(one, k, schedule);
  graph.name = read.name();
  graph.attributes = attributes;
  for (const char* key : {"streams", "traced_ranks", "traced_step_us", "traced_device_us"})
    if (const sim::Attribute* told = sim::FindAttribute(one.attributes, key))
      graph.attributes.emplace_back(key, *told);
  graph.Finish();
  return graph;
}

}  // namespace stowplan::scenarios
