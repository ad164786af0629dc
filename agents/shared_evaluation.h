// Outcomes between ranks: what each simulated of a batch, given to all (agents/ranks.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/evaluation.h"
#include "agents/ranks.h"

namespace stowplan::agents {

// What one rank has to say after its part of a call.
struct RankReport {
  std::vector<Evaluation> evaluations;
  bool stop = false;  // it was asked to end early
};

// The evaluations of all ranks in their order, and whether any of them is to stop. Collective.
RankReport ExchangeReports(Ranks& ranks, const RankReport& own);

// For ExchangeReports and EvaluationLog. Nothing where the bytes are not those of a report, whatever they are.
std::string ToBytes(const RankReport& report);
std::optional<RankReport> FromBytes(std::string_view bytes);

}  // namespace stowplan::agents
