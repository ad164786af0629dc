#include "bench/tables/gate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "agents/agent.h"
#include "agents/evaluator.h"
#include "bench/console.h"
#include "bench/csv.h"
#include "bench/interrupt.h"
#include "bench/loaded_problem.h"
#include "bench/provenance.h"
#include "bench/tables/fingerprint.h"
#include "sim/error.h"
#include "sim/formats/formats.h"
#include "sim/parallel.h"

namespace berth::bench {
namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity();
constexpr std::int64_t kSamples = 2'000;
const CsvLine kHeader = {"case",          "agent",   "seed",          "best_s",     "late_s",  "goal_s",
                         "single_device", "entropy", "gradient_norm", "experiment", "revision"};

// A fresh folder that is removed at the end.
class TempFolder {
 public:
  TempFolder() : path_((std::filesystem::temp_directory_path() / "berth-gate-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr)
      throw RunError(fmt::format("{}: the folder cannot be made.", path_));
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

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

double Number(const std::string& text) {
  return text == "inf" ? kNothing : text == "nan" ? std::nan("") : std::stod(text);
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
  run.entropy = Number(lines.back().at(column("entropy")));
  run.gradient_norm = Number(lines.back().at(column("gradient_norm")));
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

std::vector<double> Found(const std::vector<GateRun>& runs, const std::string& gate_case,
                          const std::string& agent, double GateRun::*what) {
  std::vector<double> seconds;
  for (const GateRun& run : runs) {
    if (run.gate_case == gate_case && run.agent == agent) seconds.push_back(run.*what);
  }
  return seconds;
}

int SeedsOf(const GateCase& gate, const GateAgent& agent) {
  return gate.real() ? std::max(agent.seeds, 2) : agent.seeds;
}

// Runs that a verdict of the agent on the case wants, beside those of random and of one GPU.
std::int64_t NotRun(const GateCase& gate, const GateAgent& agent, const std::vector<GateRun>& runs) {
  std::int64_t missing = 0;
  for (const std::string& spec : std::set{agent.spec, agent.untrained}) {
    const auto found = static_cast<std::int64_t>(Found(runs, gate.key, spec, &GateRun::seconds).size());
    missing += std::max<std::int64_t>(0, SeedsOf(gate, agent) - found);
  }
  return missing;
}

// What the optimum leaves of the runtime, over what it leaves of random's or one GPU's, whichever is less.
std::optional<double> PartOfReference(const GateCase& gate, const std::string& agent,
                                      const std::vector<GateRun>& runs) {
  const std::vector<double> ours = Found(runs, gate.key, agent, &GateRun::late_s);
  const std::vector<double> random = Found(runs, gate.key, kGateRandom, &GateRun::late_s);
  const std::vector<double> one_gpu = Found(runs, gate.key, kGateOneGpu, &GateRun::late_s);
  if (ours.empty() || random.empty() || one_gpu.empty()) return std::nullopt;
  // An agent that ended early has no late samples, and does not meet the case.
  if (std::ranges::any_of(ours, [](double s) { return std::isnan(s); })) return std::nullopt;
  const double goal = Found(runs, gate.key, kGateRandom, &GateRun::goal_s).front();
  return (MedianByRank(ours) - goal) / (std::min(MedianByRank(random), MedianByRank(one_gpu)) - goal);
}

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// An agent's last tenths beside those of itself without learning. Wants runs of both.
struct Gain {
  double ratio =
      0;  // of the means, of what is above the optimum where that is known; NaN where one ended early
  bool only_ours_fits = false, met = false;
};

Gain GainOf(const GateCase& gate, const GateAgent& agent, const std::vector<GateRun>& runs) {
  const auto fits = [&](const std::string& spec) {
    return std::ranges::any_of(Found(runs, gate.key, spec, &GateRun::seconds),
                               [](double seconds) { return seconds < kNothing; });
  };
  const std::vector<double> ours = Found(runs, gate.key, agent.spec, &GateRun::late_s);
  const std::vector<double> theirs = Found(runs, gate.key, agent.untrained, &GateRun::late_s);
  const double goal = Found(runs, gate.key, agent.spec, &GateRun::goal_s).front();
  Gain gain{.ratio = (MeanOf(ours) - goal) / (MeanOf(theirs) - goal)};
  gain.only_ours_fits = fits(agent.spec) && !fits(agent.untrained);
  gain.met = gain.only_ours_fits || (fits(agent.spec) && gain.ratio <= kGateGain &&
                                     std::ranges::max(ours) < std::ranges::min(theirs));
  return gain;
}

// Nothing where a run is missing.
std::optional<bool> Meets(const GateCase& gate, const GateAgent& agent, const std::vector<GateRun>& runs) {
  if (NotRun(gate, agent, runs) > 0) return std::nullopt;
  const bool gains = GainOf(gate, agent, runs).met;
  if (gate.real()) return gains;
  for (const char* reference : {kGateRandom, kGateOneGpu}) {
    if (Found(runs, gate.key, reference, &GateRun::seconds).empty()) return std::nullopt;
  }
  const std::optional<double> part = PartOfReference(gate, agent.spec, runs);
  return part && *part <= kGatePart && gains;
}

RenderedCell CellOf(const GateCase& gate, const GateAgent& agent, const std::vector<GateRun>& runs) {
  RenderedCell cell{.ours = "not run"};
  const bool both = !Found(runs, gate.key, agent.spec, &GateRun::seconds).empty() &&
                    !Found(runs, gate.key, agent.untrained, &GateRun::seconds).empty();
  const Gain gain = both ? GainOf(gate, agent, runs) : Gain{};
  const std::optional<double> part = gate.real() ? std::nullopt : PartOfReference(gate, agent.spec, runs);
  if (gate.real()) {
    if (!both) return cell;
    cell.ours = gain.only_ours_fits ? "fits" : fmt::format("{:.3f}", gain.ratio);
  } else if (part) {
    cell.ours = fmt::format("{:.2f}", std::max(0.0, *part));  // below 0 by rounding alone
  } else {
    return cell;
  }
  if (const std::int64_t missing = NotRun(gate, agent, runs); missing > 0) {
    cell.remark = fmt::format("{} more to run", missing);
  } else if (!Meets(gate, agent, runs).value_or(false)) {
    cell.remark = Counts(gate, runs).value_or(true) ? "missed" : "missed, as by all controls";
    if (part && *part <= kGatePart)
      cell.remark += fmt::format("; {:.3f} of the distance without learning", gain.ratio);
  }
  return cell;
}

// Empty where this build lacks the agent's plug-in: its rows are then shown as they are.
std::string ExperimentOf(const GateCase& gate, const std::string& agent) {
  std::string name;
  try {
    name = agents::MakeAgent(agent)->name();
  } catch (const RunError&) {
    return "";
  }
  Fingerprint fingerprint;
  for (const std::string& text : {gate.graph, gate.cluster, gate.grouper, name}) fingerprint.Add(text);
  fingerprint.Add(gate.samples);
  return fingerprint.ToString();
}

CsvLine LineOf(const GateRun& run) {
  return {run.gate_case,
          run.agent,
          std::to_string(run.seed),
          fmt::format("{}", run.seconds),
          fmt::format("{}", run.late_s),
          fmt::format("{}", run.goal_s),
          fmt::format("{}", run.single_device),
          fmt::format("{}", run.entropy),
          fmt::format("{}", run.gradient_norm),
          run.experiment,
          run.revision};
}

using Key = std::tuple<std::string, std::string, std::int64_t, std::string>;

Key KeyOf(const GateRun& run) {
  return {run.gate_case, run.agent, run.seed, run.experiment};
}

// The rows as they are finished, one at a time; a kill loses what is under way and no more.
class KeptRuns {
 public:
  KeptRuns(const std::vector<GateRun>& plan, const DerivedOptions& options) : path_(options.rows_path) {
    if (path_.empty() || !options.resume || !std::filesystem::exists(path_)) return;
    runs_ = RunsOfPlan(plan, ParseGateRuns(formats::ReadFile(path_)));
    for (const GateRun& run : runs_) kept_.insert_or_assign(KeyOf(run), run);
  }

  // Whether `run` was there, and is now as it was.
  bool Take(GateRun& run) const {
    const auto found = kept_.find(KeyOf(run));
    if (found != kept_.end()) run = found->second;
    return found != kept_.end();
  }

  void Add(const GateRun& run) {
    if (path_.empty()) return;
    if (!begun_) {  // what was there is replaced at once and only now
      runs_.push_back(run);
      const std::string beside = path_ + ".new";
      formats::WriteFile(beside, PrintGateRuns(runs_));
      std::error_code error;
      std::filesystem::rename(beside, path_, error);
      if (error) throw RunError(fmt::format("{}: cannot be replaced: {}.", path_, error.message()));
      begun_ = true;
      return;
    }
    std::ofstream file(path_, std::ios::app);
    file << PrintCsvLine(LineOf(run)) << std::flush;
    if (!file) throw RunError(fmt::format("{}: a finished run cannot be added.", path_));
  }

 private:
  const std::string path_;
  std::vector<GateRun> runs_;  // that were there
  std::map<Key, GateRun> kept_;
  bool begun_ = false;
};

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
        {"random", kGateRandom, kGateRandom},
        {"one GPU", kGateOneGpu, kGateOneGpu, false, 1}};
    for (const agents::AgentRow& row : agents::Agents()) {
      if (row.kind != agents::AgentKind::kLearner) continue;
      for (const std::string preset : {"tuned", "paper"}) {
        all.push_back(
            {fmt::format("{}, {}", row.name, preset), fmt::format("{}(preset={})", row.name, preset),
             fmt::format("{}(preset={},lr=0)", row.name, preset), false, preset == "tuned" ? 3 : 1});
      }
    }
    // Who has no verdict when the gate is stopped is best one of the presets that are known to learn little.
    std::stable_partition(all.begin(), all.end(),
                          [](const GateAgent& agent) { return agent.seeds > 1 || !agent.learner(); });
    return all;
  }();
  return agents;
}

std::vector<GateRun> PlanGate(const std::vector<GateCase>& cases, const std::vector<GateAgent>& agents) {
  std::vector<GateRun> runs;
  std::set<std::pair<std::string, std::string>> planned;  // random without learning is random
  for (const GateAgent& agent : agents) {
    for (const GateCase& gate : cases) {
      for (const std::string& spec : {agent.spec, agent.untrained}) {
        if (!planned.emplace(gate.key, spec).second) continue;
        const std::string experiment = ExperimentOf(gate, spec);
        for (int seed = 1; seed <= SeedsOf(gate, agent); ++seed)
          runs.push_back({.gate_case = gate.key, .agent = spec, .seed = seed, .experiment = experiment});
      }
    }
  }
  return runs;
}

std::vector<GateRun> RunsOfPlan(const std::vector<GateRun>& plan, const std::vector<GateRun>& runs) {
  std::set<Key> planned, taken;
  for (const GateRun& run : plan) planned.insert(KeyOf(run));
  std::vector<GateRun> kept;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    GateRun unknown = *run;
    unknown.experiment.clear();
    const bool wanted = planned.contains(KeyOf(*run)) || planned.contains(KeyOf(unknown));
    if (wanted && taken.insert(KeyOf(*run)).second) kept.push_back(*run);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

std::vector<GateRun> RunGate(const std::vector<GateCase>& cases, const std::vector<GateAgent>& agents,
                             const DerivedOptions& options) {
  std::vector<GateRun> runs = PlanGate(cases, agents);
  const auto case_of = [&](const GateRun& run) -> const GateCase& {
    return *std::ranges::find(cases, run.gate_case, &GateCase::key);
  };
  const Provenance provenance = CurrentProvenance();
  KeptRuns kept(runs, options);
  std::vector<GateRun*> left;
  for (GateRun& run : runs) {
    run.revision = provenance.revision + (provenance.dirty ? " (with changes)" : "");
    if (!kept.Take(run)) left.push_back(&run);
  }
  const auto total = static_cast<std::int64_t>(runs.size());
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
  return runs;
}

std::string PrintGateRuns(const std::vector<GateRun>& runs) {
  std::string text = PrintCsvLine(kHeader);
  for (const GateRun& run : runs) text += PrintCsvLine(LineOf(run));
  return text;
}

std::vector<GateRun> ParseGateRuns(std::string csv) {
  csv.resize(csv.rfind('\n') == std::string::npos ? 0 : csv.rfind('\n') + 1);
  const std::vector<CsvLine> lines = ParseCsv(csv, "rows of the gate");
  if (lines.empty() || lines.front() != kHeader) {
    throw InputError(
        "rows of the gate: another header than is known here; without --resume they are replaced.");
  }
  std::vector<GateRun> runs;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const CsvLine& l = lines[i];
    if (l.size() != kHeader.size())
      throw InputError(
          fmt::format("rows of the gate, line {}: {} fields, wanted {}.", i + 1, l.size(), kHeader.size()));
    runs.push_back({l[0], l[1], static_cast<std::int64_t>(Number(l[2])), Number(l[3]), Number(l[4]),
                    Number(l[5]), Number(l[6]), Number(l[7]), Number(l[8]), l[9], l[10]});
  }
  return runs;
}

std::optional<bool> Counts(const GateCase& gate, const std::vector<GateRun>& runs) {
  bool all = true;
  for (const GateAgent& agent : GateAgents()) {
    if (!agent.control) continue;
    const std::optional<bool> meets = Meets(gate, agent, runs);
    if (meets.value_or(false)) return true;
    all = all && meets.has_value();
  }
  return all ? std::optional(false) : std::nullopt;
}

GateVerdict Judge(const std::vector<GateCase>& cases, const GateAgent& agent,
                  const std::vector<GateRun>& runs) {
  GateVerdict verdict;
  bool met = false;
  for (const GateCase& gate : cases) {
    const std::optional<bool> counts = Counts(gate, runs);
    if (!counts.value_or(true)) continue;
    const std::optional<bool> meets = Meets(gate, agent, runs);
    if (!counts || !meets) {
      verdict.not_run += std::max<std::int64_t>(1, NotRun(gate, agent, runs));
    } else if (!*meets) {
      verdict.missed.push_back(gate.key);
    } else {
      met = true;
    }
  }
  verdict.learned = met && verdict.missed.empty() && verdict.not_run == 0;
  return verdict;
}

std::string EvaluateGate(const std::vector<TableResults>&, const DerivedOptions& options) {
  return PrintGateRuns(RunGate(GateCases(), GateAgents(), options));
}

namespace {

// Of the cases of a kind, whose keys begin with it, or of the real ones: "5/6", that is met of those run.
RenderedCell MetOf(const std::string& kind, const GateAgent& agent, const std::vector<GateRun>& runs) {
  int met = 0, run = 0;
  for (const GateCase& gate : GateCases()) {
    if (kind.empty() ? !gate.real() : !gate.key.starts_with(kind)) continue;
    const std::optional<bool> meets = Meets(gate, agent, runs);
    run += meets.has_value();
    met += meets.value_or(false);
  }
  return {.ours = run == 0 ? "–" : fmt::format("{}/{}", met, run)};
}

// "12 of 54 of hierarchical, tuned", and who has none at all.
std::string WhatIsMissing(const std::vector<GateRun>& runs) {
  std::set<std::tuple<std::string, std::string, std::int64_t>> there;
  for (const GateRun& run : runs) there.emplace(run.gate_case, run.agent, run.seed);
  std::vector<std::string> begun, not_begun;
  for (const GateAgent& agent : GateAgents()) {
    const std::vector<GateRun> planned = PlanGate(GateCases(), {agent});
    const auto missing = std::ranges::count_if(planned, [&](const GateRun& run) {
      return !there.contains({run.gate_case, run.agent, run.seed});
    });
    if (missing == std::ssize(planned)) {
      not_begun.push_back(agent.title);
    } else if (missing > 0) {
      begun.push_back(fmt::format("{} of {} of {}", missing, planned.size(), agent.title));
    }
  }
  if (!not_begun.empty()) begun.push_back(fmt::format("all of {}", fmt::join(not_begun, "; ")));
  return fmt::format("{}", fmt::join(begun, "; "));
}

}  // namespace

RenderedTable RenderGate(const std::vector<TableResults>&, const std::string& rows) {
  const std::vector<GateRun> all = ParseGateRuns(rows);
  const std::vector<GateRun> runs = RunsOfPlan(PlanGate(GateCases(), GateAgents()), all);
  RenderedTable table;
  table.name = "gate";
  table.title = "Does it learn at all?";
  table.short_legend = "Who misses a case that a control meets did not learn.";
  table.legend =
      "Where the optimum is known: how far the last tenth of the samples is above it, over how far random or "
      "one "
      "GPU is, whichever is less, by the median seed; more than 0.5 is missed. On real graphs: the last "
      "tenth over "
      "that of the same agent with a learning rate of 0, means over seeds. Everywhere the last tenth of each "
      "seed "
      "must also be below that of each without learning and 5 % less in the mean (of the distance, where the "
      "optimum "
      "is known). Who misses one case that a control meets did not learn; a case that none meets does not "
      "count.";
  RenderedBlock block;
  block.key = "gate";
  block.title = "Gate";
  block.row_title = "agent";
  block.shows =
      "Distance to the optimum / that of random or one GPU; real graphs: late runtime / without learning";
  block.dots = false;
  block.columns.push_back({"verdict", ColumnGroup::kLearner, true});
  for (const GateCase& gate : GateCases()) block.columns.push_back({gate.title, ColumnGroup::kLearner, true});
  RenderedBlock summary;
  summary.key = "summary";
  summary.title = block.title;
  summary.row_title = "agent";
  summary.shows = "Cases that are met, of those run";
  summary.dots = false;
  for (const char* title : {"verdict", "balance", "chains", "tiny", "real"})
    summary.columns.push_back({title, ColumnGroup::kLearner, true});
  int learners = 0, learned = 0, missed = 0;
  RenderedSection course{"How runs end",
                         {"Means over all runs of an agent with learning. Early runs without learning logged "
                          "neither entropy nor gradient: "
                          "nan in rows.csv."},
                         {"agent", "entropy [nat]", "gradient norm", "on one device"},
                         {}};
  for (const GateAgent& agent : GateAgents()) {
    const GateVerdict verdict = Judge(GateCases(), agent, runs);
    if (agent.learner()) {
      ++learners;
      learned += verdict.learned;
      missed += !verdict.missed.empty();
    }
    RenderedLine line;
    line.title = agent.title;
    line.what = agent.spec;
    line.cells.push_back({.ours = verdict.learned          ? "learned"
                                  : verdict.missed.empty() ? "not known"
                                                           : "did not learn"});
    if (verdict.not_run > 0) line.cells.back().remark = fmt::format("{} more to run", verdict.not_run);
    for (const GateCase& gate : GateCases()) line.cells.push_back(CellOf(gate, agent, runs));
    RenderedLine brief{.title = agent.title, .cells = {line.cells.front()}};
    for (const char* kind : {"balance", "chains", "tiny", ""})
      brief.cells.push_back(MetOf(kind, agent, runs));
    summary.lines.push_back(std::move(brief));
    block.lines.push_back(std::move(line));
    double n = 0, entropy = 0, norm = 0, single = 0;
    for (const GateRun& run : runs) {
      if (run.agent != agent.spec) continue;
      ++n;
      entropy += run.entropy;
      norm += run.gradient_norm;
      single += run.single_device;
    }
    const auto mean = [&](double sum) {
      return n > 0 && std::isfinite(sum) ? fmt::format("{:.2g}", sum / n) : std::string("–");
    };
    course.rows.push_back({agent.title, mean(entropy), mean(norm), mean(single)});
  }
  table.outcome.push_back(
      fmt::format("{} of {} learners and presets learned, {} did not; of {} it is not known.", learned,
                  learners, missed, learners - learned - missed));
  std::set<std::string> revisions;
  for (const GateRun& run : runs) revisions.insert(run.revision);
  table.facts.emplace_back("rows",
                           fmt::format("{} runs, revision {}", runs.size(), fmt::join(revisions, "; ")));
  if (const std::string missing = WhatIsMissing(runs); !missing.empty())
    table.facts.emplace_back("runs missing", missing);
  if (all.size() > runs.size()) {
    table.facts.emplace_back("left out", fmt::format("{} rows that are no run of this gate, or there twice",
                                                     all.size() - runs.size()));
  }
  table.discussion.push_back(std::move(course));
  table.summary = std::move(summary);
  table.blocks.push_back(std::move(block));
  return table;
}

}  // namespace berth::bench
