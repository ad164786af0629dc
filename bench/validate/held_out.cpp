#include "bench/validate/held_out.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "bench/validate/recording.h"
#include "cost_models/calibration/errors.h"
#include "cost_models/calibration/line_fit.h"
#include "cost_models/op_work.h"
#include "sim/formats/formats.h"

namespace berth::bench {
namespace {

using cost_models::LineSample;

// The probed ops of one workload, each signature once. Their number formats point into `graph`.
void AddSamples(const sim::OpGraph& graph, const Recording& recording,
                const cost_models::Parameters& parameters, int group, std::vector<LineSample>* samples) {
  std::map<std::string_view, double> times;
  for (const cost_models::TableEntry& entry : parameters.table) times.emplace(entry.signature, entry.us);
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    const std::string& type = graph.ops[static_cast<std::size_t>(op)].type;
    const auto found = times.find(cost_models::Signature(graph, op));
    if (found == times.end() || std::ranges::count(recording.stand_ins, type) > 0) continue;
    const cost_models::OpWork work = cost_models::WorkOf(graph, op);
    if (work.op_class != cost_models::OpClass::kNothing && found->second > 0)
      samples->push_back({work, found->second, 0, group});
    times.erase(found);
  }
}

HeldOutOps Summary(const std::string& family, const std::vector<std::pair<double, double>>& pairs) {
  const cost_models::ErrorSummary errors = cost_models::Errors(pairs);
  return {family, errors.n, errors.mape, errors.median, errors.p95, errors.time_weighted};
}

}  // namespace

std::vector<HeldOutOps> HoldWorkloadsOut(const std::string& folder) {
  std::vector<std::unique_ptr<sim::OpGraph>> graphs;
  std::vector<LineSample> samples;
  int group = 0;
  for (const std::string& path : FindRecordings(folder)) {
    if (!std::filesystem::exists(CostsBeside(path))) continue;
    const Recording recording = ReadValidation(path);
    const sim::Cluster cluster =
        formats::ParseCluster(recording.cluster, path, cost_models::BuiltinCatalogue());
    if (std::ranges::any_of(cluster.devices, [](const sim::Device& device) {
          return device.device_class != sim::DeviceClass::kCpu;
        }))
      return {};
    graphs.push_back(std::make_unique<sim::OpGraph>(LoadMeasuredGraph(recording.workload, folder)));
    AddSamples(*graphs.back(), recording,
               cost_models::ReadParameters(CostsBeside(path), cost_models::BuiltinCatalogue()), group++,
               &samples);
  }
  if (group < 2) return {};
  const std::vector<double> predicted = cost_models::HeldOutLineMicros(samples, group);
  std::map<std::string, std::vector<std::pair<double, double>>> families;
  std::vector<std::pair<double, double>> all;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (predicted[i] <= 0) continue;
    all.emplace_back(samples[i].us, predicted[i]);
    families[std::string(samples[i].work.family)].push_back(all.back());
  }
  std::vector<HeldOutOps> made;
  for (const auto& [family, pairs] : families) made.push_back(Summary(family, pairs));
  made.push_back(Summary("all", all));
  return made;
}

}  // namespace berth::bench
