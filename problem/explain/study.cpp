#include "problem/explain/study.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "sim/base/spec.h"

namespace stowplan::problem {
namespace {

constexpr std::size_t kTopRoutes = 8;
constexpr std::size_t kFewQuestions = 64, kMostAsked = 10;

bool IsLarge(const sim::Cluster& cluster) {
  return cluster.devices.size() + cluster.links.size() > kFewQuestions;
}

}  // namespace

double Study::Gain(const sim::WhatIf& what_if) const {
  if (outcome.runtime == 0) return 0;
  return static_cast<double>(outcome.runtime - what_if.runtime) / static_cast<double>(outcome.runtime);
}

std::optional<double> Study::gap() const {
  if (bound.best() <= 0) return std::nullopt;
  return static_cast<double>(outcome.runtime) / static_cast<double>(bound.best());
}

Study MakeStudy(const sim::Problem& problem, const sim::Placement& placement, const sim::Outcome& outcome,
                const agents::LowerBound& bound, const sim::WhatIfOptions& options) {
  Study study{.problem = problem,
              .placement = placement,
              .outcome = outcome,
              .why = sim::Explain(problem, placement, outcome),
              .path = {},
              .bound = bound,
              .faster = options.faster,
              .what_ifs = sim::RunWhatIfs(problem, placement, options)};
  study.path = ShareOut(problem, placement, outcome, study.why);
  return study;
}

sim::WhatIfOptions WhatIfsWorthAsking(const sim::Cluster& cluster, const sim::Outcome& outcome,
                                      double faster) {
  sim::WhatIfOptions options{.faster = faster, .devices = {}, .links = {}, .threads = 0};
  struct Question {
    sim::Picos busy;
    std::vector<std::int32_t>* asked;
    std::int32_t index;
  };
  std::vector<Question> questions;
  for (const sim::DeviceUse& use : outcome.devices)
    questions.push_back({use.busy, &options.devices, static_cast<std::int32_t>(questions.size())});
  for (std::size_t l = 0; l < cluster.links.size(); ++l) {
    const sim::Picos busy =
        l < outcome.links.size() ? outcome.links[l].busy : 0;  // published rules know none
    questions.push_back({busy, &options.links, static_cast<std::int32_t>(l)});
  }
  if (IsLarge(cluster)) {
    std::ranges::stable_sort(questions, std::greater(), &Question::busy);
    questions.resize(kMostAsked);
  }
  for (const Question& question : questions) question.asked->push_back(question.index);
  return options;
}

std::string WhatIfText(const sim::WhatIf& what_if, const Study& study) {
  const sim::Cluster& cluster = study.problem.cluster();
  const auto index = static_cast<std::size_t>(what_if.index);
  switch (what_if.change) {
    case sim::WhatIf::Change::kDevice:
      return fmt::format("{} {:.4g}x faster", cluster.devices[index].name, study.faster);
    case sim::WhatIf::Change::kLink:
      return fmt::format("{} {:.4g}x faster", cluster.links[index].name, study.faster);
    case sim::WhatIf::Change::kTransfers:
      return "free transfers";
    case sim::WhatIf::Change::kLatency:
      return "no latency";
    case sim::WhatIf::Change::kDispatch:
      return "no dispatch";
    case sim::WhatIf::Change::kMemory:
      return "unlimited memory";
  }
  return "";
}

std::string BottleneckText(const Bottleneck& bottleneck, const sim::Cluster& cluster) {
  switch (bottleneck.kind) {
    case sim::CriticalStep::Kind::kOp:
      return "ops on " + cluster.devices[static_cast<std::size_t>(bottleneck.device)].name;
    case sim::CriticalStep::Kind::kTransfer:
      return "transfers";
    case sim::CriticalStep::Kind::kCollective:
      return "collectives";
    case sim::CriticalStep::Kind::kDispatch:
      return "dispatch";
    case sim::CriticalStep::Kind::kWait:
      return "waiting";
  }
  return "";
}

std::string ShareText(sim::Picos part, const Study& study) {
  const sim::Picos runtime = study.outcome.runtime;
  return fmt::format("{:.1f} %",
                     runtime > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(runtime) : 0);
}

std::vector<std::pair<std::string, sim::Picos>> PathParts(const Study& study) {
  const sim::Cluster& cluster = study.problem.cluster();
  std::vector<std::pair<std::string, sim::Picos>> parts;
  const auto add = [&](std::string what, sim::Picos time) {
    if (time > 0) parts.emplace_back(std::move(what), time);
  };
  for (std::size_t d = 0; d < study.path.devices.size(); ++d)
    add("ops on " + cluster.devices[d].name, study.path.devices[d]);
  const sim::Picos least = study.outcome.runtime / 1000;
  sim::Picos rest = 0;
  for (std::size_t r = 0; r < study.path.routes.size(); ++r) {
    const PathShares::Route& route = study.path.routes[r];
    if (r < kTopRoutes && route.time >= least) {
      add(fmt::format("{} to {}", cluster.devices[static_cast<std::size_t>(route.from)].name,
                      cluster.devices[static_cast<std::size_t>(route.to)].name),
          route.time);
    } else {
      rest += route.time;
    }
  }
  add(rest == study.path.transfers ? "transfers" : "other transfers", rest);
  add("collectives", study.path.collectives);
  add("dispatch", study.path.dispatch);
  add("waiting", study.path.waiting);
  return parts;
}

bool HasEffect(const sim::WhatIf& what_if, const Study& study) {
  return std::abs(study.Gain(what_if)) >= 0.0005 || what_if.feasible != study.outcome.feasible();
}

std::string WithoutEffect(const Study& study) {
  std::vector<std::string> names;
  for (const sim::WhatIf& what_if : study.what_ifs) {
    if (!HasEffect(what_if, study)) names.push_back(WhatIfText(what_if, study));
  }
  std::string text = names.empty() ? "" : "Without effect (less than 0.1 %): " + JoinNames(names) + ".";
  const sim::Cluster& cluster = study.problem.cluster();
  const auto asked = std::ranges::count_if(study.what_ifs, [](const sim::WhatIf& what_if) {
    return what_if.change == sim::WhatIf::Change::kDevice || what_if.change == sim::WhatIf::Change::kLink;
  });
  const auto others = std::ssize(cluster.devices) + std::ssize(cluster.links) - asked;
  if (IsLarge(cluster) && others > 0)
    text += fmt::format("{}Not asked about: {} other devices and links.", text.empty() ? "" : " ", others);
  return text;
}

}  // namespace stowplan::problem
