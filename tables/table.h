// What a table of results is: blocks of rows and columns, what is fitted, published cells (docs/protocol.md). What its file says for
// readers, claims and assumptions, is python/stowplan/report's. It is read from a file (table_file.h): those of the papers are in tables/papers and compiled in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stowplan::tables {

// A number of a paper. Nothing here is ours.
struct PublishedCell {
  bool out_of_memory = false;
  std::optional<double> value;  // seconds; empty with OOM
};

// docs/protocol_rules.md#kinds-of-cells. Only predicted cells enter an accuracy figure.
enum class CellKind : std::uint8_t {
  kFitted,     // the testbed's parameters were chosen to meet it
  kPredicted,  // a placement fixed by a rule, simulated
  kSearched,   // the outcome of an agent; compared by order, never by closeness
};
const char* ToString(CellKind kind);

struct TableColumn {
  std::string key;    // "single_gpu"; what --cells names
  std::string title;  // "single GPU"
  std::string agent;  // spec; empty = each row has its own
  CellKind kind = CellKind::kSearched;
  bool published = false;    // whether the paper has it
  bool sampled = false;      // spends the row's budget, once for each seed; else one placement, once
  bool learner = false;      // needs a build with learners; run last
  std::string devices;       // what the agent may choose from ("gpu"); empty = all
  std::string grouper;       // empty = the row's
  std::int64_t samples = 0;  // budget of its own, or
  // that of a pass over the groups of its cell: the start and a sample for each so many. Both 0: the table's.
  std::int64_t pass_every = 0;
  bool trained = false;    // starts from the policy of its block's training
  bool zero_shot = false;  // and learns nothing more
  bool last = false;       // the cell is the last placement tried, not the best
  std::string place;       // "sgdp.yaml:7: columns[0]", for messages; may be empty

  bool has_own_budget() const { return samples > 0 || pass_every > 0; }
};

struct TableLine {       // a row of the table
  std::string key;       // "nmt_2"
  std::string title;     // "NMT, 2 layers"
  std::string workload;  // spec
  std::string cluster;   // spec
  int gpus = 0;
  std::string model;                                // rows of one model may repeat one published measurement
  std::string grouper;                              // unit of placement
  std::map<std::string, std::string> agents;        // by column key: specs that only this row has
  std::int64_t paper_samples = 0;                   // what the paper spent; 0 = the table's budget
  std::vector<std::string> fitted;                  // keys of the columns whose cell is fitted in this row
  std::map<std::string, PublishedCell> published;   // by column key
  std::map<std::string, double> published_samples;  // likewise: placements sampled, as the paper counts them
  std::string place;                                // "sgdp.yaml:7: rows[0]", for messages; may be empty

  const std::string& AgentOf(const TableColumn& column) const;
  const std::string& GrouperOf(const TableColumn& column) const;
  bool IsFitted(const TableColumn& column) const;
};

// What trained and zero-shot cells start from: one policy for each agent and seed, trained on graphs that are no rows
// (docs/protocol_rules.md#generalisation).
struct PolicyTraining {
  std::vector<std::string> workloads;  // specs; on the cluster and with the grouper of the block's rows
  std::int64_t samples = 0;            // all graphs together
  std::int64_t quick_samples = 0;
};

struct TableBlock {
  std::string key;  // "native"; what rows.csv and --cells call it
  std::string title;
  std::string note;  // what the reader must know, one or two sentences
  std::string rules;
  bool memory_limits = true;  // false: the rules know none, so verdicts are not compared
  std::vector<TableColumn> columns;
  std::vector<TableLine> lines;
  PolicyTraining training;
  bool paper_budget = false;  // its rows spend their paper_samples under --budget standard too
};

// One number that the fitted cells may choose (docs/protocol_rules.md#fitted): an efficiency of some op classes on
// one device kind, or the dispatch cost of one framework op there. Nothing is fitted for a single row.
struct TableParameter {
  std::string kind;                  // of the hardware catalogue
  std::vector<std::string> classes;  // op classes that share the efficiency; empty = the dispatch cost [us]
  double low = 0;
  double high = 0;

  std::string name() const;  // "k40.gemm", "k40.dispatch_us"
};

// Efficiencies that another table's testbed gives and that are not fitted here: all of one device kind there
// hold for a kind here.
struct BorrowedRates {
  std::string table;
  std::string kind;     // there
  std::string as_kind;  // here
};

// docs/protocol_rules.md#budgets: quick shows in minutes that everything works, standard is what is committed,
// paper what the papers spent.
enum class BudgetSize : std::uint8_t { kQuick, kStandard, kPaper };
const char* ToString(BudgetSize size);
const std::vector<BudgetSize>& BudgetSizes();

struct TableBudget {
  std::int64_t samples = 0;  // of a sampled cell
  int seeds = 1;
  std::string grouper;  // in place of the rows' own; empty = theirs
};

struct TableDefinition {
  std::string name;                        // "hierarchical"
  std::string title;                       // "A Hierarchical Model for Device Placement (ICLR 2018)"
  std::vector<TableParameter> parameters;  // of `stowplan calibrate --table`
  std::vector<BorrowedRates> borrowed;
  TableBudget quick{1'000, 1, {}};
  TableBudget standard{10'000, 3, {}};
  TableBudget paper{10'000, 1, {}};
  std::vector<TableBlock> blocks;
  std::string testbed;                   // the table whose testbed holds; empty = its own
  std::vector<std::string> quick_cells;  // what --budget quick runs where --cells says nothing; empty = all

  const TableBudget& BudgetOf(BudgetSize size) const;
  // By their keys.
  bool HasCell(const std::string& block, const std::string& line, const std::string& column) const;
  std::string path;  // of a user's file; empty = one of ours
  // What a command line calls it: its path, else its name.
  const std::string& called() const { return path.empty() ? name : path; }
};

struct TableRow {
  const char* name;
  const char* what;
  bool compared = true;  // bounds, budget and robustness are made of its rows: those of the papers' tables
  const TableDefinition& definition() const;  // read at the first call
};
const std::vector<TableRow>& Tables();

// Every table there is: those above, those made of their rows (derived.h), and the one that is made of
// recordings.
inline constexpr const char* kAccuracyTable = "accuracy";
struct TableName {
  const char* name;
  const char* what;
};
const std::vector<TableName>& TableNames();

// Throws InputError that lists the tables.
const TableDefinition& FindTable(const std::string& name);

}  // namespace stowplan::tables
