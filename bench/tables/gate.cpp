#include "bench/tables/gate.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "agents/agent.h"
#include "agents/evaluator.h"
#include "bench/console.h"
#include "bench/csv.h"
#include "bench/interrupt.h"
#include "bench/loaded_problem.h"
#include "bench/provenance.h"
#include "bench/tables/fingerprint.h"
#include "bench/tables/runner.h"
#include "bench/temp_folder.h"
#include "sim/error.h"
#include "sim/formats/formats.h"
#include "sim/parallel.h"

namespace stowplan::bench {
namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity();
constexpr std::int64_t kSamples = 5'000;  // 250 updates of a learner with 20 placements each

// Ops of 10 ms whose copies take microseconds: source, sink and an equal share of the rest.
GateCase Balance(int ops, int devices) {
  const int share = (ops + devices - 1) / devices;
  return {fmt::format("balance_{}_{}", ops, devices),
          fmt::format("{} ops on {}", ops, devices),
          fmt::format("diamond(width={},us=10000,bytes=1000)", ops),
          fmt::format("k80(gpus={})", devices),
          "colocation",
          kSamples,
          (share + 2) * 0.01};
}

// Chains of 16 ops of 10 ms, joined at both ends, whose copies take as long as an op: one on each device.
GateCase Chains(int devices) {
  return {fmt::format("chains_{}", devices),
          fmt::format("{0} chains on {0}", devices),
          fmt::format("diamond(width={},depth=16,us=10000,bytes=100000000)", devices),
          fmt::format("k80(gpus={})", devices),
          "colocation",
          kSamples,
          0,
          false};
}

agents::Task TaskOf(const GateCase& gate, const LoadedProblem& loaded) {
  return agents::MakeTask(loaded.problem(), gate.grouper, SelectDevices(loaded.cluster(), "gpu"));
}

// The last line of a learning log.
void ReadLog(const std::string& path, GateRun& run) {
  run.entropy = run.gradient_norm = std::nan("");
  if (!std::filesystem::exists(path)) return;
  const std::vector<CsvLine> lines = ParseCsv(formats::ReadFile(path), path);
  if (lines.size() < 2) return;
  const CsvLine& header = lines.front();
  const auto column = [&](const char* name) {
    return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  run.entropy = ParseNumber(lines.back().at(column("entropy")), path);
  run.gradient_norm = ParseNumber(lines.back().at(column("gradient_norm")), path);
}

void Search(const GateCase& gate, GateRun& run, const DerivedOptions& options) {
  const LoadedProblem loaded({.graph = gate.graph, .cluster = gate.cluster});
  const agents::Task task = TaskOf(gate, loaded);
  agents::Evaluator evaluator(task, {.budget = gate.samples, .stop = options.stop});
  std::int64_t late = 0, single = 0;
  evaluator.observer = [&](std::int64_t sample, const agents::UnitPlacement& placement,
                           const agents::Evaluation& evaluation) {
    if (sample <= gate.samples - gate.samples / 10) return;
    ++late;
    run.late_s += sim::ToMicros(evaluation.runtime) / 1e6;
    single += std::all_of(placement.begin(), placement.end(), [&](auto d) { return d == placement.front(); });
  };
  const TempFolder folder;
  const std::string checkpoint = folder / "checkpoint";
  agents::MakeAgent(run.agent)->Search(
      task, evaluator, {.seed = static_cast<std::uint64_t>(run.seed), .checkpoint = checkpoint});
  ReadLog(checkpoint + ".log.csv", run);
  run.seconds = evaluator.has_best() ? sim::ToMicros(evaluator.best_runtime()) / 1e6 : kNothing;
  run.single_device = late == 0 ? 0 : static_cast<double>(single) / static_cast<double>(late);
  run.late_s = late == 0 ? std::nan("") : run.late_s / static_cast<double>(late);
  if (run.agent == kGateOneGpu) {  // one sample, and all others would be the same
    run.late_s = run.seconds;
    run.single_device = 1;
  }
  run.goal_s = gate.goal_s;
  if (!gate.exhaustive) return;
  agents::Evaluator all(task, {.budget = 1'000'000, .stop = options.stop});
  agents::MakeAgent("brute_force")->Search(task, all, {});
  run.goal_s = sim::ToMicros(all.best_runtime()) / 1e6;
}

// Empty where this build lacks the agent's plug-in: its rows are then shown as they are.
std::string ExperimentOf(const GateCase& gate, const std::string& name) {
  if (name.empty()) return "";
  Fingerprint fingerprint;
  for (const std::string& text : {gate.graph, gate.cluster, gate.grouper, name}) fingerprint.Add(text);
  fingerprint.Add(gate.samples);
  return fingerprint.ToString();
}

// Throws InputError for a pattern that asks for no run of the plan.
std::vector<GateRun*> AskedFor(std::vector<GateRun>& runs, const std::vector<std::string>& patterns) {
  std::vector<GateRun*> asked;
  std::vector<bool> used(patterns.size());
  for (GateRun& run : runs) {
    bool wanted = patterns.empty();
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (!MatchesGlob(patterns[i], run.gate_case + "/" + run.agent)) continue;
      wanted = used[i] = true;
    }
    if (wanted) asked.push_back(&run);
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (used[i]) continue;
    throw InputError(
        fmt::format("--cells {}: table gate has no such run; wanted CASE/AGENT with *, like chains_2/rnn* or "
                    "*/sgdp(preset=tuned*.",
                    patterns[i]));
  }
  return asked;
}

// With all its parameters; empty where this build lacks it.
std::string FullName(const std::string& agent) {
  try {
    return agents::MakeAgent(agent)->name();
  } catch (const RunError&) {
    return "";
  }
}

}  // namespace

const std::vector<GateCase>& GateCases() {
  static const std::vector<GateCase> cases = [] {
    std::vector<GateCase> all;
    for (const int ops : {8, 64, 256}) {
      for (const int devices : {2, 4}) all.push_back(Balance(ops, devices));
    }
    for (const int devices : {2, 4}) {
      all.push_back(Chains(devices));
      // A copy of 100 MB to a neighbour takes some 7 ms; the ends are on one device, so one chain needs none.
      all.back().goal_s = 18 * 0.01 + 2 * 0.0066;
    }
    for (const int seed : {1, 2, 3, 4}) {
      all.push_back({fmt::format("tiny_{}", seed), fmt::format("tiny graph {}", seed),
                     fmt::format("random_dag(ops=10,width=3,seed={},us=1000,bytes=10000000)", seed),
                     "k80(gpus=2)", "colocation", kSamples, 0, true});
    }
    const char* const k80 = "k80(gpus=2)";
    for (const auto& [key, title, graph] :
         {std::tuple{"nasnet", "NASNet-A", "nasnet_a(batch=16,gradients=colocated)"},
          std::tuple{"amoebanet", "AmoebaNet-D", "amoebanet_d(batch=16,gradients=colocated)"},
          std::tuple{"rnnlm", "RNNLM", "rnnlm(layers=2,batch=32,gradients=colocated)"}}) {
      all.push_back({key, title, graph, k80, "neighbour(groups=96)", kSamples});
    }
    return all;
  }();
  return cases;
}

const std::vector<GateAgent>& GateAgents() {
  static const std::vector<GateAgent> agents = [] {
    std::vector<GateAgent> all = {
        {"control: factored", "factored", "factored(lr=0)", true},
        {"control: copy", "factored(action=copy)", "factored(action=copy,lr=0)", true},
        // Equal ops: the gradient that says which goes where is small until symmetry is broken.
        {"control: fast", "factored(lr=0.3)", "factored(lr=0)", true},
        {"control: copy, fast", "factored(action=copy,lr=0.3)", "factored(action=copy,lr=0)", true},
        {"control: walk", "factored(action=walk)", "factored(action=walk,lr=0)", true, 3, true},
        {"control: walk, fast", "factored(action=walk,lr=0.3)", "factored(action=walk,lr=0)", true, 3, true},
        {"random", kGateRandom, kGateRandom},
        {"one GPU", kGateOneGpu, kGateOneGpu, false, 1}};
    for (const agents::AgentRow& row : agents::Agents()) {
      if (row.kind != agents::AgentKind::kLearner) continue;
      const bool walks = std::string_view(row.name) == "placeto";  // the others draw whole placements
      for (const std::string preset : {"tuned", "paper"}) {
        all.push_back(
            {fmt::format("{}, {}", row.name, preset), fmt::format("{}(preset={})", row.name, preset),
             fmt::format("{}(preset={},lr=0)", row.name, preset), false, preset == "tuned" ? 3 : 1, walks});
      }
    }
    // Who has no verdict when the gate is stopped is best one of the presets that are known to learn little.
    std::stable_partition(all.begin(), all.end(),
                          [](const GateAgent& agent) { return agent.seeds > 1 || !agent.learner(); });
    return all;
  }();
  return agents;
}

int SeedsOf(const GateCase& gate, const GateAgent& agent) {
  return gate.real() ? std::max(agent.seeds, 2) : agent.seeds;
}

std::vector<GateRun> PlanGate(const std::vector<GateCase>& cases, const std::vector<GateAgent>& agents) {
  std::vector<GateRun> runs;
  std::set<std::pair<std::string, std::string>> planned;  // random without learning is random
  for (const GateAgent& agent : agents) {
    const std::map<std::string, std::string> names = {{agent.spec, FullName(agent.spec)},
                                                      {agent.untrained, FullName(agent.untrained)}};
    for (const GateCase& gate : cases) {
      for (const std::string& spec : {agent.spec, agent.untrained}) {
        if (!planned.emplace(gate.key, spec).second) continue;
        const std::string experiment = ExperimentOf(gate, names.at(spec));
        for (int seed = 1; seed <= SeedsOf(gate, agent); ++seed)
          runs.push_back({.gate_case = gate.key, .agent = spec, .seed = seed, .experiment = experiment});
      }
    }
  }
  return runs;
}

std::vector<GateRun> RunGate(const std::vector<GateCase>& cases, const std::vector<GateAgent>& agents,
                             const DerivedOptions& options) {
  std::vector<GateRun> runs = PlanGate(cases, agents);
  const auto case_of = [&](const GateRun& run) -> const GateCase& {
    return *std::ranges::find(cases, run.gate_case, &GateCase::key);
  };
  const Provenance provenance = CurrentProvenance();
  KeptRuns kept(runs, options.rows_path, options.resume);
  const std::vector<GateRun*> asked = AskedFor(runs, options.cells);
  std::set<const GateRun*> wanted(asked.begin(), asked.end());
  std::vector<GateRun*> left;
  for (GateRun& run : runs) {
    run.revision = provenance.RevisionText();
    if (kept.Take(run)) {
      wanted.insert(&run);
    } else if (wanted.contains(&run)) {
      left.push_back(&run);
    }
  }
  for (const GateRun* run : left)
    agents::MakeAgent(run->agent);  // what this build lacks is refused before anything is run
  const auto total = static_cast<std::int64_t>(wanted.size());
  std::int64_t done = total - static_cast<std::int64_t>(left.size());
  const auto stopped = [&] { return options.stop != nullptr && *options.stop; };
  std::mutex keeping;
  ParallelFor(left.size(), ResolveThreads(options.threads), [&](std::size_t i, int) {
    if (stopped()) return;
    Search(case_of(*left[i]), *left[i], options);
    if (stopped()) return;  // a run that was cut off is none
    const std::lock_guard<std::mutex> lock(keeping);
    kept.Add(*left[i]);
    ++done;
    if (options.on_part) options.on_part(done, total);
  });
  if (stopped()) {
    throw Interrupted(fmt::format(
        "stopped after {} of {} runs; {}", done, total,
        options.rows_path.empty()
            ? std::string("they are not kept.")
            : fmt::format("they are kept in {}, the same call with --resume goes on with the others.",
                          options.rows_path)));
  }
  std::vector<GateRun> ran;
  for (const GateRun& run : runs) {
    if (wanted.contains(&run)) ran.push_back(run);
  }
  return ran;
}

std::string EvaluateGate(const std::vector<TableResults>&, const DerivedOptions& options) {
  return PrintGateRuns(RunGate(GateCases(), GateAgents(), options));
}

}  // namespace stowplan::bench
