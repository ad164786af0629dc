#include "cli/validate/recorder.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "cli/validate/placements.h"
#include "cli/validate/probed_workload.h"
#include "cli/validate/recording.h"
#include "output/console.h"
#include "output/interrupt.h"
#include "output/progress.h"
#include "problem/provenance.h"
#include "profiler/cpu/cpu_executor.h"
#include "profiler/cpu/cpu_kernels.h"
#include "profiler/cpu/pace.h"
#include "profiler/host_machine.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"
#include "sim/simulator.h"

namespace stowplan::cli {
namespace {

namespace fs = std::filesystem;
using Cores = profiler::CoresByDevice;

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
    if (Resume()) {
      if (static_cast<int>(recording_.placements.size()) >= std::min(options_.placements, MostPlacements()))
        return true;
      pace_ = {.ns = recording_.pace_ns};
      RefuseBusy(pace_);
    } else {
      RefuseBusy({});
      formats::MakeFolder(options_.folder);
      Start();
      if (!Probe()) return false;
    }
    return Measure();
  }

 private:
  // Half a second decides; one that gets busy later is told by the share of undisturbed steps. `then`: what a recording that
  // goes on was measured at; without it a machine that is slow all of the time, and alike, passes.
  void RefuseBusy(profiler::Pace then) const {
    if (options_.rehearsal) return;
    constexpr int kMilliseconds = 500;
    const profiler::Pace pace = then.ns > 0 ? then : profiler::FindPace(cores_, kMilliseconds);
    const double quiet = profiler::QuietShare(cores_, pace, kMilliseconds);
    if (quiet >= options_.least_quiet) return;
    throw RunError(fmt::format(
        "the machine is too busy to measure: in half a second one of its {} cores did {:.0f} % of "
        "what it does at {} pace, and {:.0f} % is wanted (load average {:.1f}); nothing was recorded: end "
        "other programs, or come back when it is quiet",
        cores_.size(), 100 * quiet, then.ns > 0 ? "the recording's" : "its usual", 100 * options_.least_quiet,
        LoadAverage()));
  }

  // What is there already; false where there is nothing. What was probed then prices what is measured now.
  bool Resume() {
    if (!fs::exists(path_)) return false;
    const auto other = [this](const std::string& what) {
      return InputError(path_ + ": was recorded " + what +
                        ", and recordings are not mixed; give another --out.");
    };
    Recording there = ReadValidation(path_);
    const problem::Provenance now = problem::CurrentProvenance();
    if (there.workload != recording_.workload) throw other("of " + there.workload);
    if (there.origin.machine != now.machine) throw other("on another machine (" + there.origin.machine + ")");
    if (there.wanted_steps != options_.steps) throw other(fmt::format("with --steps {}", there.wanted_steps));
    recording_ = std::move(there);
    return true;
  }

  void Start() {
    const problem::Provenance now = problem::CurrentProvenance();
    recording_.origin = {.machine = now.machine,
                         .date = now.date,
                         .commit = now.revision,
                         .dirty = now.dirty,
                         .command = now.command,
                         .software = {{"onednn", {profiler::DnnlVersion()}}}};
    recording_.load_before = LoadAverage();
    recording_.wanted_steps = options_.steps;
  }

  // A graph of few ops has few placements; what was found then is all there is.
  int MostPlacements() const {
    return graph_.colocation_sets() > 20 ? 1 << 20 : 1 << graph_.colocation_sets() / 2;
  }

  // False if the user stopped it.
  bool Probe() {
    const std::optional<ProbedWorkload> probed = ProbeWorkload(recording_.workload, graph_, cores_, options_);
    if (!probed) return false;
    pace_ = probed->pace;
    recording_.pace_ns = pace_.ns;
    recording_.cluster = probed->cluster.Text();
    cost_models::WriteParameters(costs_path_, probed->parameters);
    if (options_.memory_share > 0) LimitMemory(probed->cluster);
    return true;
  }

  sim::Problem Priced(const sim::Cluster& cluster) const {  // keeps a reference to it
    return {graph_, cluster, sim::PriceOps(graph_, cluster, *cost_models::MakeCostModel(costs_path_))};
  }

  // So much of what the whole program takes on one device, simulated.
  void LimitMemory(TwoCoreCluster limited) {
    const sim::Cluster cluster = ParseTwoCores(recording_.cluster);
    const sim::Problem problem = Priced(cluster);
    sim::Placement one;
    one.device.assign(graph_.ops.size(), 0);
    const auto peak = static_cast<double>(sim::MakeSimulator(problem)->Run(one).devices[0].peak);
    limited.memory = static_cast<sim::Bytes>(options_.memory_share * peak);
    recording_.cluster = limited.Text();
  }

  bool Has(const sim::Placement& placement) const {
    return std::ranges::any_of(recording_.placements, [&](const MeasuredPlacement& measured) {
      return measured.placement.device == placement.device;
    });
  }

  // The placements are chosen with the costs that were probed; false if the user wants to stop.
  bool Measure() {
    const sim::Cluster cluster = ParseTwoCores(recording_.cluster);
    const sim::Problem problem = Priced(cluster);
    const std::vector<profiler::FamilyPlacement> chosen =
        ChoosePlacements(problem, options_.placements, options_.seed);
    const auto executor = profiler::MakeCpuExecutor(graph_, cluster, cores_);
    recording_.stand_ins = profiler::TypesOf(graph_, executor->stand_ins());
    output::Progress progress(recording_.workload, static_cast<std::int64_t>(chosen.size()), options_.quiet);
    for (const profiler::FamilyPlacement& choice : chosen) {
      if (output::StopRequested()) return false;
      if (Has(choice.placement)) continue;
      const MeasuredPlacement& made = recording_.placements.emplace_back(MeasureOne(*executor, choice));
      Write();
      progress.Update(
          static_cast<std::int64_t>(recording_.placements.size()),
          fmt::format("{} {}", made.family,
                      made.oom ? "does not fit" : output::TimeText(Quantile(made.steps_us, 0.5))));
    }
    progress.Finish();
    const profiler::TimeBudget again(options_.again_seconds);
    profiler::MeasureDisturbedAgain(
        [&](std::size_t p) -> std::optional<MeasuredPlacement> {
          if (output::StopRequested() || again.Spent()) return std::nullopt;
          const MeasuredPlacement& measured = recording_.placements[p];
          return MeasureOne(*executor, {measured.family, measured.placement});
        },
        options_.steps, &recording_.placements);
    Trace(*executor);
    Write();
    return !output::StopRequested();
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
  Recording recording_;
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

}  // namespace stowplan::cli
