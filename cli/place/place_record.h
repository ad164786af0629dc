// What a search found, and what run.json and curve.csv say of it (docs/formats.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "agents/bounds/bounds.h"
#include "agents/evaluator.h"
#include "cli/place/grouping_cost.h"
#include "cli/place/memory_need.h"
#include "problem/advice/advice.h"
#include "problem/search_source.h"

namespace stowplan::cli {

struct Found {
  const agents::Task& task;
  const agents::Evaluator& evaluator;
  std::string agent;
  std::string author;  // of those that the agent asked; empty = it asked none, or found nothing
  std::vector<std::string> left_out;  // of those that it would have asked: "m_sct: why"
  const Leanest& leanest;
  bool is_portfolio;
  bool brief;  // nothing can fit, so the budget was not spent
  agents::LowerBound bound;
  double wall_seconds = 0;
  int ranks = 1;
  std::optional<problem::Advice> advice;  // where something was found
  std::vector<problem::Rival> rivals;     // none where it was interrupted
  std::optional<GroupingCost> grouping;   // where something was found and groups were placed

  // Whether the answer is the search's best.
  bool took_fastest() const { return advice && advice->chosen.placement == evaluator.best(); }
  bool interrupted() const {
    return evaluator.stop_requested() && evaluator.remaining() > 0 && !evaluator.out_of_time();
  }
  // Whether there is time to say what bounds it: who pressed Ctrl-C does not wait for that of a large graph.
  bool explained() const {
    constexpr sim::OpIndex kSoonExplained = 20'000;
    return !interrupted() || task.problem->graph().size() <= kSoonExplained;
  }
};

// What a search is, known before it begins.
nlohmann::ordered_json Identity(const problem::SearchSource& search, std::int64_t seed,
                                const agents::Task& task, const std::string& agent);

// `within`: percent of the fastest that the plainest placement may be behind it.
nlohmann::ordered_json Summary(const problem::SearchSource& search, std::int64_t seed, double within,
                               const Found& found);

std::string CurveCsv(const agents::Evaluator& evaluator);

}  // namespace stowplan::cli
