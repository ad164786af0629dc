#include "bench/tables/gate.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "agents/agent.h"
#include "agents/evaluator.h"
#include "bench/console.h"
#include "bench/csv.h"
#include "bench/interrupt.h"
#include "bench/loaded_problem.h"
#include "sim/error.h"
#include "sim/formats/formats.h"
#include "sim/parallel.h"

namespace berth::bench {
namespace {

constexpr int kSeeds = 3;
constexpr double kNothing = std::numeric_limits<double>::infinity();
const CsvLine kHeader = {"case",   "agent",         "seed",    "best_s",       "late_s",
                         "goal_s", "single_device", "entropy", "gradient_norm"};

// Ops of 10 ms whose copies take microseconds: source, sink and an equal share of the rest.
GateCase Balance(int ops, int devices) {
  const int share = (ops + devices - 1) / devices;
  return {fmt::format("balance_{}_{}", ops, devices),
          fmt::format("{} ops on {}", ops, devices),
          fmt::format("diamond(width={},us=10000,bytes=1000)", ops),
          fmt::format("k80(gpus={})", devices),
          "colocation",
          5'000,
          (share + 2) * 0.01};
}

// Chains of 16 ops of 10 ms, joined at both ends, whose copies take as long as an op: one on each device.
GateCase Chains(int devices) {
  return {fmt::format("chains_{}", devices),
          fmt::format("{0} chains on {0}", devices),
          fmt::format("diamond(width={},depth=16,us=10000,bytes=100000000)", devices),
          fmt::format("k80(gpus={})", devices),
          "colocation",
          5'000,
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
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("berth-gate-{}", static_cast<const void*>(&run));
  std::filesystem::create_directories(folder);
  const std::string checkpoint = (folder / "checkpoint").string();
  agents::MakeAgent(run.agent)->Search(
      task, evaluator, {.seed = static_cast<std::uint64_t>(run.seed), .checkpoint = checkpoint});
  ReadLog(checkpoint + ".log.csv", run);
  std::filesystem::remove_all(folder);
  run.seconds = evaluator.has_best() ? sim::ToMicros(evaluator.best_runtime()) / 1e6 : kNothing;
  run.single_device = late == 0 ? 0 : static_cast<double>(single) / static_cast<double>(late);
  run.late_s = late == 0 ? std::nan("") : run.late_s / static_cast<double>(late);
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

// What the optimum leaves of the runtime, over what it leaves of random's.
std::optional<double> PartOfRandom(const GateCase& gate, const std::string& agent,
                                   const std::vector<GateRun>& runs) {
  const std::vector<double> ours = Found(runs, gate.key, agent, &GateRun::late_s);
  const std::vector<double> random = Found(runs, gate.key, kGateRandom, &GateRun::late_s);
  if (ours.empty() || random.empty()) return std::nullopt;
  // An agent that ended early has no late samples, and does not meet the case.
  if (std::ranges::any_of(ours, [](double s) { return std::isnan(s); })) return std::nullopt;
  const double goal = Found(runs, gate.key, kGateRandom, &GateRun::goal_s).front();
  return (MedianByRank(ours) - goal) / (MedianByRank(random) - goal);
}

struct Spread {
  double mean = 0, error = 0;  // standard error of the mean
};

Spread SpreadOf(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  Spread spread;
  for (const double value : values) spread.mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  if (values.size() > 1) spread.error = std::sqrt(squares / (n - 1) / n);
  return spread;
}

bool Meets(const GateCase& gate, const GateAgent& agent, const std::vector<GateRun>& runs) {
  if (!gate.real()) {
    const std::optional<double> part = PartOfRandom(gate, agent.spec, runs);
    return part && *part <= kGatePart;
  }
  const std::vector<double> found = Found(runs, gate.key, agent.spec, &GateRun::seconds);
  const std::vector<double> without = Found(runs, gate.key, agent.untrained, &GateRun::seconds);
  if (found.empty() || without.empty()) return false;
  const Spread ours = SpreadOf(found), theirs = SpreadOf(without);
  return theirs.mean - ours.mean > 10 * std::hypot(ours.error, theirs.error);
}

RenderedCell CellOf(const GateCase& gate, const GateAgent& agent, const std::vector<GateRun>& runs) {
  RenderedCell cell{.ours = "not run"};
  if (gate.real()) {
    const std::vector<double> found = Found(runs, gate.key, agent.spec, &GateRun::seconds);
    const std::vector<double> without = Found(runs, gate.key, agent.untrained, &GateRun::seconds);
    if (found.empty() || without.empty()) return cell;
    cell.ours = fmt::format("{:.3f}", MedianByRank(found) / MedianByRank(without));
  } else if (const auto part = PartOfRandom(gate, agent.spec, runs)) {
    cell.ours = fmt::format("{:.2f}", *part);
  } else {
    return cell;
  }
  if (!Meets(gate, agent, runs)) cell.remark = Counts(gate, runs) ? "missed" : "missed, as by both controls";
  return cell;
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
      // A copy of 100 MB to a neighbour takes some 8 ms; the ends are on one device, so one chain needs none.
      all.back().goal_s = 18 * 0.01 + 2 * 0.0085;
    }
    for (const int seed : {1, 2, 3, 4}) {
      all.push_back({fmt::format("tiny_{}", seed), fmt::format("tiny graph {}", seed),
                     fmt::format("random_dag(ops=10,width=3,seed={},us=1000,bytes=10000000)", seed),
                     "k80(gpus=2)", "colocation", 5'000, 0, true});
    }
    const char* const k80 = "k80(gpus=2)";
    all.push_back({"inception", "Inception-V3",
                   "inception_v3(batch=48,bn=no,optimizer=adam,gradients=colocated)", k80,
                   "neighbour(groups=96)", 4'000});
    all.push_back({"resnet", "ResNet-152", "resnet_152(batch=16,gradients=colocated)", k80,
                   "neighbour(groups=96)", 4'000});
    all.push_back(
        {"nmt", "NMT", "nmt_family(index=9,gradients=colocated)", k80, "neighbour(groups=96)", 4'000});
    return all;
  }();
  return cases;
}

const std::vector<GateAgent>& GateAgents() {
  static const std::vector<GateAgent> agents = [] {
    std::vector<GateAgent> all = {
        {"control: factored", "factored", "factored(lr=0)", true},
        {"control: copy", "factored(action=copy)", "factored(action=copy,lr=0)", true},
        {"random", "random", "random"}};
    for (const agents::AgentRow& row : agents::Agents()) {
      if (row.kind != agents::AgentKind::kLearner) continue;
      for (const std::string preset : {"tuned", "paper"}) {
        all.push_back({fmt::format("{}, {}", row.name, preset),
                       fmt::format("{}(preset={})", row.name, preset),
                       fmt::format("{}(preset={},lr=0)", row.name, preset)});
      }
    }
    return all;
  }();
  return agents;
}

std::vector<GateRun> RunGate(const std::vector<GateCase>& cases, const std::vector<GateAgent>& agents,
                             int seeds, const DerivedOptions& options) {
  std::vector<GateRun> runs;
  std::vector<const GateCase*> case_of;
  for (const GateCase& gate : cases) {
    std::set<std::string> specs;  // random without learning is random
    for (const GateAgent& agent : agents) {
      specs.insert(agent.spec);
      if (gate.real()) specs.insert(agent.untrained);
    }
    for (const std::string& spec : specs) {
      for (int seed = 1; seed <= seeds; ++seed) {
        runs.push_back({.gate_case = gate.key, .agent = spec, .seed = seed});
        case_of.push_back(&gate);
      }
    }
  }
  ParallelFor(runs.size(), options.threads, [&](std::size_t i, int) {
    if (options.stop == nullptr || !*options.stop) Search(*case_of[i], runs[i], options);
  });
  if (options.stop != nullptr && *options.stop)
    throw Interrupted("stopped; the gate keeps nothing of a part.");
  return runs;
}

std::string PrintGateRuns(const std::vector<GateRun>& runs) {
  std::string text = PrintCsvLine(kHeader);
  for (const GateRun& run : runs) {
    text += PrintCsvLine({run.gate_case, run.agent, std::to_string(run.seed), fmt::format("{}", run.seconds),
                          fmt::format("{}", run.late_s), fmt::format("{}", run.goal_s),
                          fmt::format("{}", run.single_device), fmt::format("{}", run.entropy),
                          fmt::format("{}", run.gradient_norm)});
  }
  return text;
}

std::vector<GateRun> ParseGateRuns(const std::string& csv) {
  const std::vector<CsvLine> lines = ParseCsv(csv, "rows of the gate");
  if (lines.empty() || lines.front() != kHeader)
    throw InputError("rows of the gate: another header than is known here.");
  std::vector<GateRun> runs;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const CsvLine& l = lines[i];
    if (l.size() != kHeader.size())
      throw InputError(
          fmt::format("rows of the gate, line {}: {} fields, wanted {}.", i + 1, l.size(), kHeader.size()));
    runs.push_back({l[0], l[1], static_cast<std::int64_t>(Number(l[2])), Number(l[3]), Number(l[4]),
                    Number(l[5]), Number(l[6]), Number(l[7]), Number(l[8])});
  }
  return runs;
}

bool Counts(const GateCase& gate, const std::vector<GateRun>& runs) {
  return std::any_of(GateAgents().begin(), GateAgents().end(),
                     [&](const GateAgent& agent) { return agent.control && Meets(gate, agent, runs); });
}

GateVerdict Judge(const std::vector<GateCase>& cases, const GateAgent& agent,
                  const std::vector<GateRun>& runs) {
  GateVerdict verdict;
  for (const GateCase& gate : cases) {
    if (Counts(gate, runs) && !Meets(gate, agent, runs)) verdict.missed.push_back(gate.key);
  }
  verdict.learned =
      verdict.missed.empty() && !Found(runs, cases.front().key, agent.spec, &GateRun::seconds).empty();
  return verdict;
}

std::string EvaluateGate(const std::vector<TableResults>&, const DerivedOptions& options) {
  return PrintGateRuns(RunGate(GateCases(), GateAgents(), kSeeds, options));
}

RenderedTable RenderGate(const std::vector<TableResults>&, const std::string& rows) {
  const std::vector<GateRun> runs = ParseGateRuns(rows);
  RenderedTable table;
  table.name = "gate";
  table.title = "Does it learn at all?";
  table.short_legend =
      "0 is the optimum, 1 is random; of real graphs, 1 is what the agent finds without learning.";
  table.legend =
      "How far the last tenth of the samples is from the optimum, over how far random is; on real graphs the "
      "best found over "
      "that of the same agent with a learning rate of 0; medians over seeds. Missed: more than half as far "
      "as random, or not "
      "below itself without learning by ten standard errors of the difference. Who misses one case did not "
      "learn.";
  RenderedBlock block;
  block.key = "gate";
  block.title = "Gate";
  block.row_title = "agent";
  block.shows = "Distance to the optimum / random's, or best / itself without learning";
  block.dots = false;
  block.columns.push_back({"verdict", ColumnGroup::kLearner, true});
  for (const GateCase& gate : GateCases()) block.columns.push_back({gate.title, ColumnGroup::kLearner, true});
  int learned = 0;
  RenderedSection course{"How runs end",
                         {"Means over all runs of an agent."},
                         {"agent", "entropy [nat]", "gradient norm", "on one device"},
                         {}};
  for (const GateAgent& agent : GateAgents()) {
    const GateVerdict verdict = Judge(GateCases(), agent, runs);
    learned += verdict.learned;
    RenderedLine line;
    line.title = agent.title;
    line.what = agent.spec;
    line.cells.push_back({.ours = verdict.learned ? "learned" : "did not learn"});
    for (const GateCase& gate : GateCases()) line.cells.push_back(CellOf(gate, agent, runs));
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
  table.outcome.push_back(fmt::format("{} of {} agents and presets learned.", learned, GateAgents().size()));
  table.discussion.push_back(std::move(course));
  table.blocks.push_back(std::move(block));
  return table;
}

}  // namespace berth::bench
