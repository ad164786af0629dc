// What a table of results is: the blocks, rows and columns of one published table on our scenarios
// (docs/protocol.md). The registry is in registry.cpp; each table is one file beside it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace berth::bench {

class TableResults;
struct RenderedBlock;
struct RenderedChart;
struct RenderedSection;

// docs/protocol.md#kinds-of-cells. Only predicted cells enter an accuracy figure.
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
  std::string published;          // column of the paper's CSV; empty = the paper has none
  bool sampled = false;           // spends the row's budget, once for each seed; else one placement, once
  bool learner = false;           // needs a build with learners; run last
  std::string devices;            // what the agent may choose from ("gpu"); empty = all
  std::string grouper;            // empty = the row's
  std::string published_samples;  // column of the paper's CSV with its search cost; empty = none
  std::int64_t samples = 0;       // budget of its own; 0 = the table's
  bool zero_shot = false;         // applies the policy of its block's training and learns nothing more
  bool last = false;              // the cell is the last placement tried, not the best
};

struct TableLine {       // a row of the table
  std::string key;       // "nmt_2"
  std::string title;     // "NMT, 2 layers"
  std::string workload;  // spec
  std::string cluster;   // spec
  int gpus = 0;
  std::string paper_workload;                 // which line of the paper's CSV: its columns workload and gpus
  std::string grouper;                        // unit of placement
  std::map<std::string, std::string> agents;  // by column key: specs that only this row has
  std::int64_t paper_samples = 0;             // budget of its own under --budget paper; 0 = the table's
  std::vector<std::string> fitted;            // keys of the columns whose cell is fitted in this row

  const std::string& AgentOf(const TableColumn& column) const;
  const std::string& GrouperOf(const TableColumn& column) const;
  bool IsFitted(const TableColumn& column) const;
};

// What zero-shot cells apply: one policy for each agent and seed, trained on graphs that are no rows
// (docs/protocol.md#generalisation).
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
};

enum class ClaimWord : std::uint8_t { kHolds, kUndecided, kDoesNotHold, kCannotBeTested };
const char* ToString(ClaimWord word);

// One line for each claim of the paper (docs/protocol.md#claims).
struct ClaimVerdict {
  std::string claim;
  std::string ours;  // our number
  ClaimWord word = ClaimWord::kCannotBeTested;
  std::string experiment;  // what supports it, or where an explanation is looked for; may be empty
};

// One number that the fitted cells may choose (docs/protocol.md#fitted): an efficiency of some op classes on
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

// docs/protocol.md#budgets: quick shows in minutes that everything works, standard is what is committed,
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
  std::string papers_csv;                  // "hierarchical.csv", in bench/data/papers
  std::vector<TableParameter> parameters;  // of `berth calibrate --table`
  std::vector<BorrowedRates> borrowed;
  std::vector<std::string> assumptions;  // what nobody published and we chose
  TableBudget quick{1'000, 1, {}};
  TableBudget standard{10'000, 3, {}};
  TableBudget paper{10'000, 1, {}};
  std::vector<TableBlock> blocks;
  std::vector<ClaimVerdict> (*claims)(const TableResults&) = nullptr;
  std::string testbed;                   // the table whose testbed holds; empty = its own
  std::vector<std::string> quick_cells;  // what --budget quick runs where --cells says nothing; empty = all

  const TableBudget& BudgetOf(BudgetSize size) const;
  // By their keys.
  bool HasCell(const std::string& block, const std::string& line, const std::string& column) const;
  // What is drawn instead of the curves of searches, under a title and a sentence; null = curves.
  std::vector<RenderedChart> (*charts)(const TableResults&) = nullptr;
  std::string charts_title, charts_note;
  // What the outcome says first, and what the first screen shows in place of the first block; null = nothing.
  std::vector<std::string> (*outcome)(const TableResults&) = nullptr;
  RenderedBlock (*summary)(const TableResults&) = nullptr;
  // What the discussion says first; null = nothing.
  std::vector<RenderedSection> (*sections)(const TableResults&) = nullptr;
};

struct TableRow {
  const char* name;
  const char* what;
  const TableDefinition& (*definition)();
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

}  // namespace berth::bench
