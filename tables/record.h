// One finished cell for one seed: a line of results/<table>/rows.csv and of the working store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stowplan::tables {

struct CellRecord {
  // The key: what was asked.
  std::string block;
  std::string row;
  std::string column;
  std::string agent;  // canonical spec
  std::int64_t seed = 0;
  std::int64_t budget = 0;  // samples
  std::string scenario;     // hash of graph, cluster, costs, units and device choices
  // The result: equal with and without interruption.
  std::string units;                           // canonical spec of the grouper
  std::string kind;                            // fitted, predicted, searched
  std::string status;                          // ok, oom, not_run
  std::optional<double> runtime_us;            // best feasible
  std::optional<double> unlimited_runtime_us;  // of a single placement, as if memory were unlimited
  std::string fullest_device;                  // of the best or the single placement
  std::optional<std::int64_t> fullest_peak_bytes;
  std::optional<std::int64_t> fullest_capacity_bytes;
  std::string oom_device;
  std::string oom_op;
  std::optional<std::int64_t> samples;
  std::optional<std::int64_t> samples_to_best;
  std::optional<std::int64_t> samples_to_1pct;
  std::optional<std::int64_t> distinct;
  std::optional<std::int64_t> proposals;
  std::optional<double> lower_bound_us;
  std::optional<double> machine_seconds;  // modelled, without set-ups (agents/evaluator.h)
  std::string curve;                      // "sample:best_us" joined by blanks; sampled cells only
  std::string curve_machine_seconds;      // at each point of the curve
  std::string placement;                  // that of runtime_us, or the single one (kept_placement.h)
  std::string timeline;                   // when its devices work and send (timeline.h)
  std::string cost_model;
  std::string note;  // why a cell was not run
  // Where it comes from.
  std::string command;  // repeats this cell
  std::string revision;
  std::string dirty;  // yes, no
  std::string machine;
  std::string date;
  std::string curve_agent_seconds;  // at each point of the curve: wall time outside of the simulator
  std::optional<double> simulator_seconds;
  std::optional<double> wall_seconds;
  std::optional<std::int64_t> screens;  // where the agent made any
};

// Names of the fields in the order of the struct: the header of rows.csv and the columns of the store.
const std::vector<std::string>& RecordFields();
std::vector<std::string> ToFields(const CellRecord& record);
// Throws InputError naming `where` for a number that is none, or not finite, or negative, and for a kind or status that
// there is not. As many fields as RecordFields().
CellRecord FromFields(const std::vector<std::string>& fields, const std::string& where);

// "1b41fda24c99 (with changes)"
std::string RevisionText(const CellRecord& record);

// How many leading fields make the key of a record.
inline constexpr std::size_t kKeyFields = 7;

// rows.csv, sorted by key. Reading back gives the same records.
std::string PrintRows(std::vector<CellRecord> records);
std::vector<CellRecord> ParseRows(std::string_view text, const std::string& source);

}  // namespace stowplan::tables
