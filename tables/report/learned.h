// Which learners of a table did not learn, so that no claim is judged on them (docs/protocol.md#did-not-learn).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tables/results.h"

namespace stowplan::tables {

// A learner whose whole interval over the better control learner lies above this lost to its control.
inline constexpr double kLostToControl = 1.03;

// Of the gate's rows.csv: by spec ("rnn(preset=tuned)") what it missed, in words. Who has no entry passed, or was not run
// whole.
std::map<std::string, std::string> GateMisses(const std::string& gate_rows);

// A learner that is kept from learning: lr=0.
bool IsUntrained(const std::string& agent);

// The column of the block that differs in a learning rate of 0 alone; null where there is none, it is that, or the agent
// learns from something else first: other graphs, a heuristic, the graph itself.
const TableColumn* UntrainedTwin(const TableBlock& block, const std::string& column_key);

// Why a column did not learn in these rows of a block (empty = all of them), in words; nothing where nothing says so, and
// for what is no learner or does not learn by intent (lr=0).
std::optional<std::string> WhyNotLearned(const TableResults& results, const std::string& block,
                                         const std::vector<std::string>& rows, const std::string& column);

}  // namespace stowplan::tables
