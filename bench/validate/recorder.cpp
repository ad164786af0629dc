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
#include "profiler/cpu/cpu_kernels.h"
#include "profiler/cpu/pace.h"
#include "profiler/cpu/probes.h"
#include "profiler/host_machine.h"
#include "sim/error.h"
#include "sim/formats/formats.h"
#include "sim/simulator.h"

namespace berth::bench {
namespace {

namespace fs = std::filesystem;
using profiler::ProbeOptions;
using Cores = profiler::CoresByDevice;

constexpr const char* kKind = "cpu";
constexpr double kMicro = 1e-3;          // [us/ns]
constexpr double kLeastOverlap = 0.001;  // what a cluster file can say

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

// Two CPUs and what joins them; what was measured as it stands in a cluster file.
struct MeasuredCluster {
  sim::Bytes memory = sim::Bytes{64} << 30;  // of each device
  double overlap = 1;                        // the model has one rate for both ends of a copy
  std::string curve = "bandwidth: 1GB/s";    // of the link
  std::string dispatch;

  std::string Text() const {
    std::string devices;
    for (const char* name : {"cpu0", "cpu1"})
      devices += fmt::format("  - {{name: {}, kind: {}, memory: {}B, overlap_copy: {:.3f}}}\n", name, kKind,
                             memory, overlap);
    return fmt::format(
        "format: berth.cluster\nversion: 1\nname: two-cores\ndevices:\n{}"
        "links:\n  - {{name: copies, ends: [cpu0, cpu1], {}}}\n{}",
        devices, curve, dispatch);
  }
};

sim::Cluster Parse(const std::string& yaml) {
  return formats::ParseCluster(yaml, "the cluster of the recorder", cost_models::BuiltinCatalogue());
}

class Recorder {
 public:
  Recorder(std::string workload, const RecorderOptions& options)
      : options_(options), graph_(LoadMeasuredGraph(workload)), cores_(TwoCores()) {
    const fs::path folder(options.folder);
    path_ = (folder / (FileStem(workload) + ".json.zst")).string();
    costs_path_ = CostsBeside(path_);
    recording_.workload = std::move(workload);
  }

  bool Record() {
    fs::create_directories(options_.folder);
    if (Resume()) {
      if (static_cast<int>(recording_.placements.size()) >= std::min(options_.placements, MostPlacements()))
        return true;
      pace_ = {.ns = recording_.pace_ns};
    } else {
      Start();
      if (!ProbeAtSomePace()) return false;
    }
    return Measure();
  }

 private:
  // What is there already; false where there is nothing. What was probed then prices what is measured now.
  bool Resume() {
    if (!fs::exists(path_)) return false;
    const auto other = [this](const std::string& what) {
      return InputError(path_ + ": was recorded " + what +
                        ", and recordings are not mixed; give another --out.");
    };
    Recording there = ReadValidation(path_);
    const Provenance now = CurrentProvenance();
    if (there.workload != recording_.workload) throw other("of " + there.workload);
    if (there.origin.machine != now.machine) throw other("on another machine (" + there.origin.machine + ")");
    if (there.wanted_steps != options_.steps) throw other(fmt::format("with --steps {}", there.wanted_steps));
    recording_ = std::move(there);
    return true;
  }

  void Start() {
    const Provenance now = CurrentProvenance();
    recording_.origin = {.machine = now.machine,
                         .date = now.date,
                         .commit = now.revision,
                         .dirty = now.dirty,
                         .command = now.command,
                         .software = {{"onednn", {profiler::DnnlVersion()}}}};
    recording_.load_before = LoadAverage();
    recording_.wanted_steps = options_.steps;
    parameters_.name = "ops of " + recording_.workload + ", each alone";
    parameters_.provenance = {.machine = now.machine,
                              .driver = "none",
                              .library = "onednn " + profiler::DnnlVersion(),
                              .date = now.date.substr(0, 10),
                              .commit = now.revision,
                              .command = now.command};
  }

  // A graph of few ops has few placements; what was found then is all there is.
  int MostPlacements() const {
    return graph_.colocation_sets() > 20 ? 1 << 20 : 1 << graph_.colocation_sets() / 2;
  }

  struct Signatures {
    std::vector<std::string> names;
    std::vector<std::vector<sim::OpIndex>> ops;  // by name
  };
  Signatures FindSignatures() const {
    Signatures made;
    std::map<std::string, std::size_t> seen;
    for (sim::OpIndex op = 0; op < graph_.size(); ++op) {
      if (graph_.ops[static_cast<std::size_t>(op)].IsSource()) continue;
      const std::string signature = cost_models::Signature(graph_, op);
      const auto [found, is_new] = seen.emplace(signature, made.ops.size());
      if (is_new) {
        made.ops.emplace_back();
        made.names.push_back(signature);
      }
      made.ops[found->second].push_back(op);
    }
    return made;
  }

  // A machine may be at one pace when it is looked for and at another one for as long as it is probed: then it is looked
  // for again. False if the user stopped it.
  bool ProbeAtSomePace() {
    constexpr int kPaceMilliseconds = 500, kTries = 3;
    for (int i = 1;; ++i) {
      if (!options_.rehearsal) pace_ = profiler::FindPace(cores_, kPaceMilliseconds);
      recording_.pace_ns = pace_.ns;
      const Probes probes = Probe();
      if (StopRequested()) return false;
      const std::string lacking = Lacking(probes);
      if (lacking.empty()) {
        Keep(probes);
        return true;
      }
      if (i == kTries)
        throw RunError(fmt::format(
            "{}: {} tries of {:g} s had no undisturbed measurement of {}: the machine is too busy",
            recording_.workload, kTries, options_.probe_seconds, lacking));
    }
  }

  struct Probes {
    std::vector<profiler::ProbedCopy> copies;
    std::vector<std::int64_t> dispatch_ns;
    profiler::ProbedOverlap overlap;
    Signatures signatures;
    std::vector<profiler::ProbedOp> ops;
  };

  Probes Probe() const {
    Progress progress("probes of " + recording_.workload, 4, options_.quiet);
    const profiler::TimeBudget budget(options_.probe_seconds, SteadySeconds);
    const auto stop = [&budget] { return StopRequested() || budget.Spent(); };
    ProbeOptions often{.warm_up = 10, .repeats = 60, .at_most = 2000, .pace = pace_, .stop = stop};
    ProbeOptions seldom{.warm_up = 3, .repeats = 20, .at_most = 400, .pace = pace_, .stop = stop};
    if (options_.rehearsal) often = seldom = {.warm_up = 1, .repeats = 1, .at_most = 1, .disturbed = true};
    const sim::Cluster bare = Parse(cluster_.Text());
    Probes made;
    progress.Update(0, "copies");
    made.copies = profiler::ProbeCopies(bare, cores_, CopySizes(), often);
    progress.Update(1, "dispatch");
    made.dispatch_ns = profiler::ProbeDispatch(bare, cores_, often);
    progress.Update(2, "ops beside copies");
    made.overlap = profiler::ProbeOverlap(bare, cores_, seldom);
    progress.Update(3, "ops");
    made.signatures = FindSignatures();
    made.ops = profiler::ProbeOps(graph_, made.signatures.ops, cores_, seldom);
    progress.Update(4);
    progress.Finish();
    return made;
  }

  // What was never measured undisturbed; empty where all was.
  static std::string Lacking(const Probes& probes) {
    const auto empty = [](const auto& probed) { return probed.ns.empty(); };
    if (std::ranges::any_of(probes.copies, empty)) return "copies";
    if (probes.dispatch_ns.empty()) return "dispatch";
    if (probes.overlap.receiver.empty()) return "ops beside copies";
    const auto op = std::ranges::find_if(probes.ops, empty);
    return op == probes.ops.end() ? "" : probes.signatures.names[op->set];
  }

  void Keep(const Probes& probes) {
    AddLink(probes.copies);
    AddKind(probes.dispatch_ns, probes.overlap);
    AddTable(probes.signatures, probes.ops);
    recording_.cluster = cluster_.Text();
    cost_models::WriteParameters(costs_path_, parameters_);
    if (options_.memory_share > 0) LimitMemory();
  }

  static std::vector<sim::Bytes> CopySizes() {
    return {0, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22};
  }

  void AddLink(const std::vector<profiler::ProbedCopy>& probed) {
    std::vector<cost_models::CopySample> copies;
    for (const profiler::ProbedCopy& copy : probed) {
      const std::vector<double> us = Micros(copy.ns);
      copies.push_back({copy.bytes, std::max(Quantile(us, 0.5), kMicro), Spread(us)});
    }
    const cost_models::LinkParameters link = cost_models::FitCopies("copies", copies).link;
    std::vector<std::string> knots;
    for (const auto& [bytes, us] : link.knots) knots.push_back(fmt::format("[{}B, {:.3f}us]", bytes, us));
    cluster_.curve = fmt::format("bandwidth: {}B/s, curve: [{}]", link.bandwidth, fmt::join(knots, ", "));
  }

  void AddKind(const std::vector<std::int64_t>& dispatch_ns, const profiler::ProbedOverlap& overlap) {
    const auto fitted = [](const std::vector<double>& samples) {
      return cost_models::FittedNumber{
          .value = Quantile(samples, 0.5),
          .evidence = {.samples = static_cast<std::int64_t>(samples.size()), .spread = Spread(samples)}};
    };
    cost_models::KindParameters& kind = parameters_.kinds.emplace_back();
    kind.kind = kKind;
    kind.dispatch_us = fitted(Micros(dispatch_ns));
    std::vector<double> ends = overlap.receiver;
    ends.insert(ends.end(), overlap.sender.begin(), overlap.sender.end());
    kind.overlap_copy = fitted(ends);
    kind.overlap_copy->value =
        std::clamp((Quantile(overlap.receiver, 0.5) + Quantile(overlap.sender, 0.5)) / 2, kLeastOverlap, 1.0);
    cluster_.overlap = kind.overlap_copy->value;
    cluster_.dispatch =
        fmt::format("dispatch: {{per: device, order: ready, cost: {:.3f}us}}\n", kind.dispatch_us->value);
  }

  // By signature; where its ops find the caches in different ways, the mean over ops.
  void AddTable(const Signatures& signatures, const std::vector<profiler::ProbedOp>& probed_ops) {
    parameters_.table.resize(signatures.names.size());
    for (std::size_t i = 0; i < signatures.names.size(); ++i) {
      parameters_.table[i].kind = kKind;
      parameters_.table[i].signature = signatures.names[i];
    }
    for (const profiler::ProbedOp& probed : probed_ops) {
      const std::vector<double> us = Micros(probed.ns);
      const double share = probed.stands_for / static_cast<double>(signatures.ops[probed.set].size());
      auto& measured = parameters_.table[probed.set];
      measured.us += share * Quantile(us, 0.5);
      measured.low_us += share * Quantile(us, 0.05);
      measured.high_us += share * Quantile(us, 0.95);
      measured.samples += static_cast<std::int64_t>(us.size());
    }
  }

  sim::Problem Priced(const sim::Cluster& cluster) const {  // keeps a reference to it
    return {graph_, cluster, sim::PriceOps(graph_, cluster, *cost_models::MakeCostModel(costs_path_))};
  }

  // So much of what the whole program takes on one device, simulated.
  void LimitMemory() {
    const sim::Cluster cluster = Parse(recording_.cluster);
    const sim::Problem problem = Priced(cluster);
    sim::Placement one;
    one.device.assign(graph_.ops.size(), 0);
    const auto peak = static_cast<double>(sim::MakeSimulator(problem)->Run(one).devices[0].peak);
    cluster_.memory = static_cast<sim::Bytes>(options_.memory_share * peak);
    recording_.cluster = cluster_.Text();
  }

  bool Has(const sim::Placement& placement) const {
    return std::ranges::any_of(recording_.placements, [&](const MeasuredPlacement& measured) {
      return measured.placement.device == placement.device;
    });
  }

  // The placements are chosen with the costs that were probed; false if the user wants to stop.
  bool Measure() {
    const sim::Cluster cluster = Parse(recording_.cluster);
    const sim::Problem problem = Priced(cluster);
    const std::vector<ChosenPlacement> chosen = ChoosePlacements(problem, options_.placements, options_.seed);
    const auto executor = profiler::MakeCpuExecutor(graph_, cluster, cores_);
    recording_.stand_ins = profiler::TypesOf(graph_, executor->stand_ins());
    Progress progress(recording_.workload, static_cast<std::int64_t>(chosen.size()), options_.quiet);
    for (const ChosenPlacement& choice : chosen) {
      if (StopRequested()) return false;
      if (Has(choice.placement)) continue;
      const MeasuredPlacement& made =
          recording_.placements.emplace_back(MeasureOne(*executor, {choice.family, choice.placement}));
      Write();
      progress.Update(static_cast<std::int64_t>(recording_.placements.size()),
                      fmt::format("{} {}", made.family,
                                  made.oom ? "does not fit" : TimeText(Quantile(made.steps_us, 0.5))));
    }
    progress.Finish();
    const profiler::TimeBudget again(options_.again_seconds, SteadySeconds);
    profiler::MeasureDisturbedAgain(
        [&](std::size_t p) -> std::optional<MeasuredPlacement> {
          if (StopRequested() || again.Spent()) return std::nullopt;
          const MeasuredPlacement& measured = recording_.placements[p];
          return MeasureOne(*executor, {measured.family, measured.placement});
        },
        options_.steps, &recording_.placements);
    Trace(*executor);
    Write();
    return !StopRequested();
  }

  profiler::StepPlan Plan() const {
    return {.steps = options_.steps,
            .at_most = options_.at_most,
            .seconds = options_.seconds,
            .pause_us = options_.pause_us,
            .pace = pace_};
  }

  MeasuredPlacement MeasureOne(profiler::Executor& executor, const profiler::FamilyPlacement& which) const {
    return profiler::MeasurePlacement(executor, graph_, which, Plan());
  }

  // The fastest placement that uses both devices.
  void Trace(profiler::Executor& executor) {
    MeasuredPlacement* fastest = nullptr;
    double best = 0;
    for (MeasuredPlacement& measured : recording_.placements) {
      measured.traced.reset();
      if (measured.oom || measured.family == "one device") continue;
      const double us = Quantile(measured.steps_us, 0.5);
      if (fastest != nullptr && us >= best) continue;
      best = us;
      fastest = &measured;
    }
    profiler::StepPlan plan = Plan();
    plan.traced = 9;
    if (fastest != nullptr) fastest->traced = profiler::TraceStep(executor, fastest->placement, plan);
  }

  void Write() {
    recording_.load_after = LoadAverage();
    formats::WriteFile(path_, profiler::PrintStepRecording(recording_));
  }

  RecorderOptions options_;
  sim::OpGraph graph_;
  Cores cores_;
  profiler::Pace pace_;
  std::string path_, costs_path_;
  MeasuredCluster cluster_;
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
