// Outcomes between ranks: what each simulated of a batch, given to all (agents/ranks.h).
#pragma once

#include <string>
#include <vector>

#include "agents/evaluator.h"

namespace berth::agents {

// What one rank has to say after its part of a call.
struct RankReport {
  std::vector<Evaluation> evaluations;
  bool stop = false;  // it was asked to end early
};

// The evaluations of all ranks in their order, and whether any of them is to stop. Collective.
RankReport ExchangeReports(Ranks& ranks, const RankReport& own);

// For ExchangeReports, and its tests. The same program writes and reads them on every rank; bytes that are not whole
// abort.
std::string ToBytes(const RankReport& report);
RankReport FromBytes(const std::string& bytes);

}  // namespace berth::agents
