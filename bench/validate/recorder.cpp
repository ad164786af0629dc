#include "bench/validate/recorder.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "bench/console.h"
#include "bench/interrupt.h"
#include "bench/provenance.h"
#include "bench/validate/placements.h"
#include "bench/validate/recording.h"
#include "bench/validate/statistics.h"
#include "cost_models/calibration/copy_fit.h"
#include "cost_models/op_work.h"
#include "cost_models/parameters.h"
#include "profiler/cpu/cpu_executor.h"
#include "profiler/cpu/pace.h"
#include "profiler/cpu/probes.h"
#include "profiler/host_machine.h"
#include "sim/error.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"

namespace berth::bench {
namespace {

namespace fs = std::filesystem;
using profiler::ProbeOptions;
using Cores = profiler::CoresByDevice;

constexpr const char* kKind = "cpu";
constexpr double kMicro = 1e-3;  // [us/ns]

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double LoadAverage() {
  double load[1] = {0};
  return ::getloadavg(load, 1) == 1 ? load[0] : 0;
}

Cores TwoCores() {
  const std::vector<int> cores = profiler::AvailableCores();
  if (cores.size() < 2)
    throw RunError("two devices of one core each are measured, but this process may use one core only");
  return {{cores[0]}, {cores[1]}};
}

std::vector<double> Micros(const std::vector<std::int64_t>& ns) {
  std::vector<double> us;
  for (const auto value : ns) us.push_back(static_cast<double>(value) * kMicro);
  return us;
}

// Two CPUs and what joins them; the link's curve and the cost of dispatch as given. A copy is the receiver's
// work: it stands still meanwhile, the sender goes on. The model has one rate for the devices at both ends of a
// copy, so each is given half.
std::string ClusterText(const std::string& curve, const std::string& dispatch) {
  return fmt::format(
      "format: berth.cluster\nversion: 1\nname: two-cores\ndevices:\n"
      "  - {{name: cpu0, kind: cpu, memory: 64GiB, overlap_copy: 0.5}}\n"
      "  - {{name: cpu1, kind: cpu, memory: 64GiB, overlap_copy: 0.5}}\n"
      "links:\n  - {{name: copies, ends: [cpu0, cpu1]{}}}\n{}",
      curve, dispatch);
}

sim::Cluster Parse(const std::string& yaml) {
  return formats::ParseCluster(yaml, "the cluster of the recorder", cost_models::BuiltinCatalogue());
}

class Recorder {
 public:
  Recorder(std::string workload, const RecorderOptions& options)
      : options_(options), graph_(LoadMeasuredGraph(workload)), cores_(TwoCores()) {
    const fs::path folder(options.folder);
    path_ = (folder / (FileStem(workload) + ".json.zst")).string();
    costs_path_ = (folder / (FileStem(workload) + ".cost_model.json")).string();
    recording_.workload = std::move(workload);
  }

  bool Record() {
    if (Done()) return true;
    const Provenance now = CurrentProvenance();
    recording_.origin = {.machine = now.machine,
                         .date = now.date,
                         .commit = now.revision,
                         .dirty = now.dirty,
                         .command = now.command,
                         .software = {}};
    recording_.load_before = LoadAverage();
    recording_.wanted_steps = options_.steps;
    parameters_.name = "ops of " + recording_.workload + ", each alone";
    parameters_.provenance = {.machine = recording_.origin.machine,
                              .driver = "none",
                              .library = "oneDNN 2.6, plain loops",
                              .date = recording_.origin.date.substr(0, 10),
                              .commit = recording_.origin.commit,
                              .command = recording_.origin.command};
    constexpr int kPaceMilliseconds = 500;
    pace_ = profiler::FindPace(cores_, kPaceMilliseconds);
    recording_.pace_ns = pace_.ns;
    ProbeMachine();
    ProbeGraph();
    if (!Measure()) return false;
    recording_.load_after = LoadAverage();
    formats::MakeFolder(options_.folder);
    cost_models::WriteParameters(costs_path_, parameters_);
    formats::WriteFile(path_, profiler::PrintStepRecording(recording_));
    return true;
  }

 private:
  bool Done() const {
    if (!fs::exists(path_)) return false;
    const Recording there = ReadValidation(path_);
    return there.workload == recording_.workload &&
           static_cast<int>(there.placements.size()) >= std::min<int>(options_.placements, MostPlacements());
  }
  // A graph of few ops has few placements; what was found then is all there is.
  int MostPlacements() const {
    return graph_.colocation_sets() > 20 ? 1 << 20 : 1 << graph_.colocation_sets() / 2;
  }

  void ProbeMachine() {
    const sim::Cluster bare = Parse(ClusterText(", bandwidth: 1GB/s", ""));
    const ProbeOptions often{.warm_up = 10, .repeats = 60, .at_most = 2000, .pace = pace_};
    const std::vector<sim::Bytes> sizes = {0,       1 << 10, 1 << 12, 1 << 14, 1 << 16,
                                           1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22};
    std::vector<cost_models::CopySample> copies;
    for (const profiler::ProbedCopy& copy : profiler::ProbeCopies(bare, cores_, sizes, often)) {
      const std::vector<double> us = Micros(Enough(copy.ns, "copies"));
      copies.push_back({copy.bytes, std::max(Quantile(us, 0.5), kMicro), Spread(us)});
    }
    const cost_models::LinkParameters link = cost_models::FitCopies("copies", copies).link;
    std::vector<std::string> knots;
    for (const auto& [bytes, us] : link.knots) knots.push_back(fmt::format("[{}B, {:.3f}us]", bytes, us));
    const std::vector<double> dispatch =
        Micros(Enough(profiler::ProbeDispatch(bare, cores_, often), "dispatch"));
    const double cost = Quantile(dispatch, 0.5);
    recording_.cluster =
        ClusterText(fmt::format(", bandwidth: {}B/s, curve: [{}]", link.bandwidth, fmt::join(knots, ", ")),
                    fmt::format("dispatch: {{per: device, order: ready, cost: {:.3f}us}}\n", cost));
    cost_models::KindParameters kind;
    kind.kind = kKind;
    kind.dispatch_us = cost_models::FittedNumber{
        .value = cost,
        .evidence = {.samples = static_cast<std::int64_t>(dispatch.size()), .spread = Spread(dispatch)}};
    parameters_.kinds.push_back(kind);
  }

  static const std::vector<std::int64_t>& Enough(const std::vector<std::int64_t>& ns,
                                                 const std::string& what) {
    if (ns.empty()) throw RunError("no measurement of " + what + " was undisturbed: the machine is too busy");
    return ns;
  }

  // By signature; where its ops find the caches in different ways, the mean over ops.
  void ProbeGraph() {
    std::map<std::string, std::size_t> seen;
    std::vector<std::vector<sim::OpIndex>> ops;
    std::vector<std::string> signatures;
    for (sim::OpIndex op = 0; op < graph_.size(); ++op) {
      if (graph_.ops[static_cast<std::size_t>(op)].IsSource()) continue;
      const std::string signature = cost_models::Signature(graph_, op);
      const auto [found, is_new] = seen.emplace(signature, ops.size());
      if (is_new) {
        ops.emplace_back();
        signatures.push_back(signature);
      }
      ops[found->second].push_back(op);
    }
    parameters_.table.resize(ops.size());
    for (std::size_t i = 0; i < ops.size(); ++i) {
      parameters_.table[i].kind = kKind;
      parameters_.table[i].signature = signatures[i];
    }
    const ProbeOptions options{.warm_up = 3, .repeats = 20, .at_most = 400, .pace = pace_};
    for (const profiler::ProbedOp& probed : profiler::ProbeOps(graph_, ops, cores_, options)) {
      const std::vector<double> us = Micros(Enough(probed.ns, signatures[probed.set]));
      const double share = probed.stands_for / static_cast<double>(ops[probed.set].size());
      auto& measured = parameters_.table[probed.set];
      measured.us += share * Quantile(us, 0.5);
      measured.low_us += share * Quantile(us, 0.05);
      measured.high_us += share * Quantile(us, 0.95);
      measured.samples += static_cast<std::int64_t>(us.size());
    }
  }

  // The placements are chosen with the costs that were just probed; false if the user wants to stop.
  bool Measure() {
    const sim::Cluster cluster = Parse(recording_.cluster);
    const auto executor = profiler::MakeCpuExecutor(graph_, cluster, cores_);
    recording_.stand_ins = profiler::TypesOf(graph_, executor->stand_ins());
    const std::vector<ChosenPlacement> chosen = Choose(cluster);
    Progress progress(recording_.workload, static_cast<std::int64_t>(chosen.size()), options_.quiet);
    for (const ChosenPlacement& choice : chosen) {
      if (StopRequested()) return false;
      recording_.placements.push_back(MeasureOne(*executor, choice));
      progress.Update(static_cast<std::int64_t>(recording_.placements.size()),
                      fmt::format("{} {}", choice.family,
                                  TimeText(Quantile(recording_.placements.back().steps_us, 0.5))));
    }
    progress.Finish();
    const profiler::TimeBudget again(options_.again_seconds, SteadySeconds);
    profiler::MeasureDisturbedAgain(
        [&](std::size_t p) -> std::optional<MeasuredPlacement> {
          if (StopRequested() || again.Spent()) return std::nullopt;
          return MeasureOne(*executor, chosen[p]);
        },
        options_.steps, &recording_.placements);
    Trace(*executor);
    return true;
  }

  std::vector<ChosenPlacement> Choose(const sim::Cluster& cluster) {
    formats::MakeFolder(options_.folder);
    cost_models::WriteParameters(costs_path_, parameters_);
    const auto model = cost_models::MakeCostModel(costs_path_);
    const sim::Problem problem(graph_, cluster, sim::PriceOps(graph_, cluster, *model));
    return ChoosePlacements(problem, options_.placements, options_.seed);
  }

  MeasuredPlacement MeasureOne(profiler::Executor& executor, const ChosenPlacement& choice) const {
    MeasuredPlacement made{.family = choice.family, .placement = choice.placement};
    // One step tells how many there is time for.
    const auto first = executor.Run(choice.placement, {.warm_up = 2, .steps = 1, .at_most = 1});
    const double seconds = static_cast<double>(first.back().ns) * 1e-9;
    const int possible = std::max(10, static_cast<int>(options_.seconds / std::max(seconds, 1e-6)));
    const auto steps = executor.Run(choice.placement, {.warm_up = 10,
                                                       .steps = std::min(options_.steps, possible),
                                                       .at_most = std::min(options_.at_most, possible),
                                                       .pause_us = options_.pause_us,
                                                       .pace = pace_});
    profiler::Summarise(steps, options_.steps, &made);
    return made;
  }

  // The fastest placement that uses both devices.
  void Trace(profiler::Executor& executor) {
    MeasuredPlacement* fastest = nullptr;
    double best = 0;
    for (MeasuredPlacement& measured : recording_.placements) {
      const double us = Quantile(measured.steps_us, 0.5);
      if (measured.family == "one device" || (fastest != nullptr && us >= best)) continue;
      best = us;
      fastest = &measured;
    }
    if (fastest == nullptr) return;
    fastest->traced = profiler::MiddleStep(executor.Run(fastest->placement, {.warm_up = 10,
                                                                             .steps = 9,
                                                                             .at_most = 200,
                                                                             .pause_us = options_.pause_us,
                                                                             .pace = pace_,
                                                                             .traced = true}));
  }

  RecorderOptions options_;
  sim::OpGraph graph_;
  Cores cores_;
  profiler::Pace pace_;
  std::string path_, costs_path_;
  Recording recording_;
  cost_models::Parameters parameters_;
};

}  // namespace

bool RecordWorkload(const std::string& workload, const RecorderOptions& options) {
  return Recorder(workload, options).Record();
}

const std::vector<std::string>& DefaultWorkloads() {
  static const std::vector<std::string> workloads = {
      "random_dag(ops=60,us=5,bytes=20000,cost=flops)",
      "chain(ops=16,us=10,bytes=50000,cost=flops)",
      "diamond(width=4,depth=4,us=10,bytes=50000,cost=flops)",
      "rnnlm(batch=4,hidden=128,steps=6,vocabulary=500)",
      "rnnlm(batch=16,hidden=192,steps=4,layers=4,vocabulary=200,mode=inference)",
      "nmt(batch=8,hidden=64,steps=6,vocabulary=500)",
      "nmt(batch=16,hidden=128,steps=4,vocabulary=300,mode=inference)",
      "cifar10(batch=1,mode=inference)",
      "nasnet_a(batch=1,mode=inference)",
      "inception_v3(batch=1,mode=inference)",
  };
  return workloads;
}

}  // namespace berth::bench
