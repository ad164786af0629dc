#include "cli/validate/probed_workload.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "cost_models/calibration/copy_fit.h"
#include "cost_models/calibration/host_fit.h"
#include "cost_models/calibration/observations.h"
#include "cost_models/ops/op_work.h"
#include "output/console.h"
#include "output/interrupt.h"
#include "output/progress.h"
#include "problem/provenance.h"
#include "profiler/cpu/cpu_kernels.h"
#include "profiler/cpu/pace.h"
#include "profiler/cpu/probes.h"
#include "profiler/step_recording.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"
#include "sim/formats/formats.h"

namespace stowplan::cli {
namespace {

using profiler::ProbeOptions;

constexpr const char* kKind = "cpu";
constexpr double kMicro = 1e-3;  // [us/ns]

template <typename T>
std::vector<double> Micros(const std::vector<T>& ns) {
  std::vector<double> us;
  for (const T value : ns) us.push_back(static_cast<double>(value) * kMicro);
  return us;
}

class Prober {
 public:
  Prober(const std::string& workload, const sim::OpGraph& graph, const profiler::CoresByDevice& cores,
         const RecorderOptions& options)
      : workload_(workload), graph_(graph), cores_(cores), options_(options) {
    const problem::Provenance now = problem::CurrentProvenance();
    made_.parameters.name = "ops of " + workload_ + ", each alone";
    made_.parameters.provenance = {.machine = now.machine,
                                   .driver = "none",
                                   .library = "onednn " + profiler::DnnlVersion(),
                                   .date = now.date.substr(0, 10),
                                   .commit = now.RevisionText(),
                                   .command = now.command};
  }

  // A machine may be at one pace when it is looked for and at another one for as long as it is probed: then it is looked
  // for again.
  std::optional<ProbedWorkload> Run() {
    constexpr int kPaceMilliseconds = 500, kTries = 3;
    for (int i = 1;; ++i) {
      if (!options_.rehearsal) made_.pace = profiler::FindPace(cores_, kPaceMilliseconds);
      const Probes probes = Probe();
      if (output::StopRequested()) return std::nullopt;
      const std::string lacking = Lacking(probes);
      if (lacking.empty()) {
        Keep(probes);
        return std::move(made_);
      }
      if (i == kTries)
        throw RunError(fmt::format(
            "{}: {} trials of {:g} s had no undisturbed measurement of {}: the machine is too busy",
            workload_, kTries, options_.probe_seconds, lacking));
    }
  }

 private:
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

  struct Probes {
    std::vector<profiler::ProbedCopy> copies;
    std::vector<std::int64_t> dispatch_ns;
    std::vector<profiler::ProbedOverlap> overlap;
    Signatures signatures;
    std::vector<profiler::ProbedOp> ops;
  };

  Probes Probe() const {
    output::Progress progress("probes of " + workload_, 4, options_.quiet);
    const profiler::TimeBudget budget(options_.probe_seconds);
    const auto stop = [&budget] { return output::StopRequested() || budget.Spent(); };
    ProbeOptions often{.warm_up = 10, .repeats = 60, .at_most = 2000, .pace = made_.pace, .stop = stop};
    ProbeOptions seldom{.warm_up = 3, .repeats = 20, .at_most = 400, .pace = made_.pace, .stop = stop};
    if (options_.rehearsal) often = seldom = {.warm_up = 1, .repeats = 1, .at_most = 1, .disturbed = true};
    const sim::Cluster bare = ParseTwoCores(made_.cluster.Text());
    Probes made;
    progress.Update(0, "copies");
    made.copies = profiler::ProbeCopies(bare, cores_, profiler::ProbedCopySizes(), often);
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
    if (std::ranges::any_of(probes.overlap,
                            [](const auto& end) { return end.alone.empty() || end.both.empty(); }))
      return "ops beside copies";
    const auto op = std::ranges::find_if(probes.ops, empty);
    return op == probes.ops.end() ? "" : probes.signatures.names[op->set];
  }

  void Keep(const Probes& probes) {
    AddLink(probes.copies);
    AddKind(probes.dispatch_ns, probes.overlap);
    AddTable(probes.signatures, probes.ops);
  }

  void AddLink(const std::vector<profiler::ProbedCopy>& probed) {
    std::vector<cost_models::CopySample> copies;
    for (const profiler::ProbedCopy& copy : probed) {
      const std::vector<double> us = Micros(copy.ns);
      copies.push_back({copy.bytes, std::max(Quantile(us, 0.5), kMicro), Spread(us)});
    }
    const cost_models::LinkParameters link = cost_models::FitCopies("copies", copies).link;
    std::vector<std::string> knots;
    for (const auto& [bytes, us] : link.knots) knots.push_back(fmt::format("[{}B, {:.6f}us]", bytes, us));
    made_.cluster.curve =
        fmt::format("bandwidth: {}B/s, curve: [{}]", link.bandwidth, fmt::join(knots, ", "));
  }

  // As `stowplan calibrate` fits them.
  void AddKind(const std::vector<std::int64_t>& dispatch_ns,
               const std::vector<profiler::ProbedOverlap>& overlap) {
    using End = cost_models::ObservedPair::End;
    cost_models::IssueProbes observed;
    observed.dispatch = cost_models::RepeatsOf(Micros(dispatch_ns));
    for (const profiler::ProbedOverlap& end : overlap)
      observed.pairs.push_back({.name = "ops | copy",
                                .calls = 1,
                                .with_copy = true,
                                .end = end.receives ? End::kReceiver : End::kSender,
                                .first = cost_models::RepeatsOf(Micros(end.alone)),
                                .second = cost_models::RepeatsOf(Micros(end.copying)),
                                .both = cost_models::RepeatsOf(Micros(end.both))});
    made_.parameters.kinds.push_back(
        cost_models::FitHost(observed, sim::DeviceClass::kCpu, kKind).parameters);
    const cost_models::KindParameters& kind = made_.parameters.kinds.back();
    // Chains that did not outlast their copies, however long they were made, tell nothing of overlap.
    made_.cluster.overlap = kind.overlap_copy ? kind.overlap_copy->value : 1;
    made_.cluster.dispatch =
        fmt::format("dispatch: {{per: device, order: ready, cost: {:.3f}us}}\n", kind.dispatch_us->value);
  }

  // By signature; where its ops find the caches in different ways, the mean over ops.
  void AddTable(const Signatures& signatures, const std::vector<profiler::ProbedOp>& probed_ops) {
    made_.parameters.table.resize(signatures.names.size());
    for (std::size_t i = 0; i < signatures.names.size(); ++i) {
      made_.parameters.table[i].kind = kKind;
      made_.parameters.table[i].signature = signatures.names[i];
    }
    for (const profiler::ProbedOp& probed : probed_ops) {
      const std::vector<double> us = Micros(probed.ns);
      const double share = probed.stands_for / static_cast<double>(signatures.ops[probed.set].size());
      auto& measured = made_.parameters.table[probed.set];
      measured.us += share * Quantile(us, 0.5);
      measured.low_us += share * Quantile(us, 0.05);
      measured.high_us += share * Quantile(us, 0.95);
      measured.samples += static_cast<std::int64_t>(us.size());
    }
  }

  const std::string& workload_;
  const sim::OpGraph& graph_;
  const profiler::CoresByDevice& cores_;
  const RecorderOptions& options_;
  ProbedWorkload made_;
};

}  // namespace

std::string TwoCoreCluster::Text() const {
  std::string devices;
  for (const char* name : {"cpu0", "cpu1"})
    devices += fmt::format("  - {{name: {}, kind: {}, memory: {}B, overlap_copy: {:.3f}}}\n", name, kKind,
                           memory, overlap);
  return fmt::format(
      "format: stowplan.cluster\nversion: 1\nname: two-cores\ndevices:\n{}"
      "links:\n  - {{name: copies, ends: [cpu0, cpu1], {}}}\n{}",
      devices, curve, dispatch);
}

sim::Cluster ParseTwoCores(const std::string& yaml) {
  return formats::ParseCluster(yaml, "the cluster of the recorder", cost_models::BuiltinCatalogue());
}

std::optional<ProbedWorkload> ProbeWorkload(const std::string& workload, const sim::OpGraph& graph,
                                            const profiler::CoresByDevice& cores,
                                            const RecorderOptions& options) {
  return Prober(workload, graph, cores, options).Run();
}

}  // namespace stowplan::cli
