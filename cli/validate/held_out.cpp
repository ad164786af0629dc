#include "cli/validate/held_out.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "cli/validate/recording.h"
#include "cli/validate/score.h"
#include "cost_models/calibration/errors.h"
#include "cost_models/calibration/line_fit.h"
#include "cost_models/ops/op_work.h"
#include "sim/formats/formats.h"

namespace stowplan::cli {
namespace {

using cost_models::LineSample;

constexpr std::string_view kStandIn = "stand-in";

// The probed ops of one workload, each signature once, and in `signatures` which. Their number formats point into `graph`.
// What a stand-in ran is a family of its own, whatever its type.
void AddSamples(const sim::OpGraph& graph, const Recording& recording,
                const cost_models::Parameters& parameters, int group, std::vector<LineSample>* samples,
                std::vector<std::string>* signatures) {
  std::map<std::string_view, double> times;
  for (const cost_models::TableEntry& entry : parameters.table) times.emplace(entry.signature, entry.us);
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    const std::string& type = graph.ops[static_cast<std::size_t>(op)].type;
    const auto found = times.find(cost_models::Signature(graph, op));
    if (found == times.end()) continue;
    cost_models::OpWork work = cost_models::WorkOf(graph, op);
    if (std::ranges::count(recording.stand_ins, type) > 0) work.family = kStandIn;
    if (work.op_class != cost_models::OpClass::kNothing && found->second > 0) {
      samples->push_back({work, found->second, 0, group});
      signatures->emplace_back(found->first);
    }
    times.erase(found);
  }
}

// Prices by signature.
class BySignature : public sim::CostModel {
 public:
  explicit BySignature(std::map<std::string, double> us) : us_(std::move(us)) {}
  std::string name() const override { return "probes of other workloads"; }
  std::optional<sim::Price> Predict(const sim::OpGraph& graph, sim::OpIndex op,
                                    const sim::Device& /*device*/) const override {
    if (cost_models::WorkOf(graph, op).op_class == cost_models::OpClass::kNothing)
      return sim::Price{0, sim::Tier::kInterpolated, 0, 0};
    const auto found = us_.find(cost_models::Signature(graph, op));
    if (found == us_.end()) return std::nullopt;
    return sim::Price{found->second, sim::Tier::kInterpolated, found->second, found->second};
  }

 private:
  std::map<std::string, double> us_;
};

// One workload of the folder.
struct Held {
  Recording recording;
  std::unique_ptr<sim::OpGraph> graph;
  std::map<std::string, double> us;  // by signature: probed, then predicted where it is
  bool unknown = false;              // no other workload tells what its stand-ins take
};

}  // namespace

HeldOut HoldWorkloadsOut(const std::string& folder) {
  std::vector<Held> workloads;
  std::vector<LineSample> samples;
  std::vector<std::string> signatures;
  for (const std::string& path : FindRecordings(folder)) {
    if (!std::filesystem::exists(CostsBeside(path))) continue;
    const Recording recording = ReadValidation(path);
    const sim::Cluster cluster =
        formats::ParseCluster(recording.cluster, path, cost_models::BuiltinCatalogue());
    if (std::ranges::any_of(cluster.devices, [](const sim::Device& device) {
          return device.device_class != sim::DeviceClass::kCpu;
        }))
      return {};
    Held& held = workloads.emplace_back();
    held.graph = std::make_unique<sim::OpGraph>(LoadMeasuredGraph(recording.workload, folder));
    const auto probed = cost_models::ReadParameters(CostsBeside(path), cost_models::BuiltinCatalogue());
    for (const cost_models::TableEntry& entry : probed.table) held.us[entry.signature] = entry.us;
    AddSamples(*held.graph, recording, probed, static_cast<int>(workloads.size()) - 1, &samples, &signatures);
    held.recording = recording;
  }
  if (workloads.size() < 2) return {};
  const std::vector<double> predicted =
      cost_models::HeldOutLineMicros(samples, static_cast<int>(workloads.size()));
  std::map<std::string, std::vector<std::pair<double, double>>> families;
  std::vector<std::pair<double, double>> all;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Held& held = workloads[static_cast<std::size_t>(samples[i].group)];
    if (predicted[i] <= 0) {
      held.unknown = held.unknown || samples[i].work.family == kStandIn;
      continue;
    }
    all.emplace_back(samples[i].us, predicted[i]);
    families[std::string(samples[i].work.family)].push_back(all.back());
    held.us[signatures[i]] = predicted[i];
  }
  HeldOut made;
  for (const auto& [family, pairs] : families) made.ops.push_back({family, cost_models::Errors(pairs)});
  made.ops.push_back({"all", cost_models::Errors(all)});
  for (const Held& held : workloads) {
    if (held.unknown) {
      made.steps.push_back({held.recording.workload, {}, {}});
      continue;
    }
    const Score score = ScoreRecording(held.recording, BySignature(held.us), folder);
    made.steps.push_back({score.workload, score.median_error, score.tau});
  }
  return made;
}

}  // namespace stowplan::cli
