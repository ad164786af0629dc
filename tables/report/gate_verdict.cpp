#include "tables/report/gate_verdict.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "tables/report/bootstrap.h"

namespace stowplan::tables {
namespace {

std::vector<double> Found(const std::vector<GateRun>& runs, const std::string& gate_case,
                          const std::string& agent, double GateRun::*what) {
  std::vector<double> seconds;
  for (const GateRun& run : runs) {
    if (run.gate_case == gate_case && run.agent == agent) seconds.push_back(run.*what);
  }
  return seconds;
}

double MeanOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Every run of the agent, with learning and without, ends nearer to the known optimum than the control's median run with
// learning: that the control learns says nothing of what is left to the agent.
bool EndsBeyond(const GateCase& gate, const GateAgent& agent, const GateAgent& control,
                const std::vector<GateRun>& runs) {
  const std::vector<double> theirs = Found(runs, gate.key, control.spec, &GateRun::late_s);
  if (gate.real() || theirs.empty() || NotRun(gate, agent, runs) > 0) return false;
  const double reached = MedianByRank(theirs);
  for (const std::string& spec : {agent.spec, agent.untrained}) {
    const std::vector<double> ours = Found(runs, gate.key, spec, &GateRun::late_s);
    if (!std::ranges::all_of(ours, [&](double late) { return late < reached; })) return false;
  }
  return true;
}

}  // namespace

std::int64_t NotRun(const GateCase& gate, const GateAgent& agent, const std::vector<GateRun>& runs) {
  std::int64_t missing = 0;
  for (const std::string& spec : std::set{agent.spec, agent.untrained}) {
    const auto found = static_cast<std::int64_t>(Found(runs, gate.key, spec, &GateRun::seconds).size());
    missing += std::max<std::int64_t>(0, SeedsOf(gate, agent) - found);
  }
  return missing;
}

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

std::optional<Gain> GainOf(const GateCase& gate, const GateAgent& agent, const std::vector<GateRun>& runs) {
  const auto fits = [&](const std::string& spec) {
    return std::ranges::any_of(Found(runs, gate.key, spec, &GateRun::seconds),
                               [](double seconds) { return std::isfinite(seconds); });
  };
  const std::vector<double> ours = Found(runs, gate.key, agent.spec, &GateRun::late_s);
  const std::vector<double> theirs = Found(runs, gate.key, agent.untrained, &GateRun::late_s);
  if (ours.empty() || theirs.empty()) return std::nullopt;
  const double goal = Found(runs, gate.key, agent.spec, &GateRun::goal_s).front();
  Gain gain{.ratio = (MeanOf(ours) - goal) / (MeanOf(theirs) - goal)};
  gain.only_ours_fits = fits(agent.spec) && !fits(agent.untrained);
  gain.met = gain.only_ours_fits || (fits(agent.spec) && gain.ratio <= kGateGain &&
                                     std::ranges::max(ours) < std::ranges::min(theirs));
  return gain;
}

std::optional<bool> Meets(const GateCase& gate, const GateAgent& agent, const std::vector<GateRun>& runs) {
  if (NotRun(gate, agent, runs) > 0) return std::nullopt;
  const bool gains = GainOf(gate, agent, runs).value_or(Gain{}).met;
  if (gate.real()) return gains;
  for (const char* reference : {kGateRandom, kGateOneGpu}) {
    if (Found(runs, gate.key, reference, &GateRun::seconds).empty()) return std::nullopt;
  }
  const std::optional<double> part = PartOfReference(gate, agent.spec, runs);
  return part && *part <= kGatePart && gains;
}

std::optional<bool> Counts(const GateCase& gate, const GateAgent& agent, const std::vector<GateRun>& runs) {
  bool all = true;
  for (const GateAgent& control : GateAgents()) {
    if (!control.control || control.walks != agent.walks) continue;
    const std::optional<bool> meets = Meets(gate, control, runs);
    if (meets.value_or(false) && !EndsBeyond(gate, agent, control, runs)) return true;
    all = all && meets.has_value();
  }
  return all ? std::optional(false) : std::nullopt;
}

GateVerdict Judge(const std::vector<GateCase>& cases, const GateAgent& agent,
                  const std::vector<GateRun>& runs) {
  GateVerdict verdict;
  bool met = false;
  for (const GateCase& gate : cases) {
    const std::optional<bool> counts = Counts(gate, agent, runs);
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

}  // namespace stowplan::tables
