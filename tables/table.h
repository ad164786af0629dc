// What a table of results is: blocks of rows and columns, what is fitted and assumed, published cells, claims
// (docs/protocol.md). It is read from a file (table_file.h): those of the papers are in tables/papers and compiled in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "output/report_page.h"

namespace stowplan::tables {

class TableResults;
struct RenderedBlock;
struct RenderedChart;

// A number of a paper. Nothing here is ours.
struct PublishedCell {
  bool out_of_memory = false;
  std::optional<double> value;  // seconds; empty with OOM
};

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
  bool paper_budget = false;  // its rows spend their paper_samples under --budget standard too
};

enum class ClaimWord : std::uint8_t { kHolds, kUndecided, kDoesNotHold, kDidNotLearn, kCannotBeTested };
const char* ToString(ClaimWord word);

// One line for each claim of the paper (docs/protocol.md#claims).
struct ClaimVerdict {
  std::string claim;
  std::string ours;  // our number
  ClaimWord word = ClaimWord::kCannotBeTested;
  std::string experiment;  // what supports it, or where an explanation is looked for; may be empty
  // Keys of the columns that it says something about: where one is a learner that did not learn, nothing is judged.
  std::vector<std::string> subjects = {};
  bool of_paper = true;  // else we set it
  // Claims that differ in one thing alone have one family, each its member: "each row: …" and "NMT, 2 layers". A page shows
  // a line for each family of an entry of the table's file. Empty: it stands alone.
  std::string family = {}, member = {};
  int entry = -1;                     // of the file's claims; -1 = of none
  std::optional<double> figure = {};  // what is judged, where it is one number
  // Of one that holds: whether the same network at learning rate 0 meets it too, so that learning is not what it shows.
  // Empty where there is no such column.
  std::optional<bool> untrained = {};
  std::string unlearned = {};  // of kDidNotLearn: the title of the column that did not
};

// A claim as a table's file states it; its kind says which fields count (claims.h).
struct Claim {
  std::string kind, text, experiment, block;
  std::vector<std::string> rows, columns, than;  // keys
  double limit = 0;
  bool beyond = false;  // what is equal to the limit does not meet it
  int in_rows = 0;      // of a claim about so many rows
  std::string except, named;
  std::vector<std::string> beside;  // columns shown with it; of kind close: a block
  std::string beside_named;
  bool of_paper = true;        // else we set it
  std::string family, member;  // as of its verdict
  int entry = -1;
};

// What a table has of its own that its file cannot say: computed sections, figures, claims.
struct TableAnalysis {
  const char* name;
  std::vector<std::string> (*outcome)(const TableResults&) = nullptr;  // what the outcome says first
  RenderedBlock (*summary)(const TableResults&) = nullptr;  // on the first screen in place of the first block
  std::vector<output::ReportSection> (*sections)(const TableResults&) = nullptr;  // first in the discussion
  std::vector<ClaimVerdict> (*claims)(const TableResults&) = nullptr;             // before those of the file
  std::vector<RenderedChart> (*charts)(const TableResults&) = nullptr;  // in place of the curves of searches
  const char* charts_title = "";
  const char* charts_note = "";
};
const TableAnalysis* FindAnalysis(const std::string& name);  // nullptr = there is none

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
  std::vector<TableParameter> parameters;  // of `stowplan calibrate --table`
  std::vector<BorrowedRates> borrowed;
  std::string published_from;            // where the cells of a paper were read; empty = nothing is said
  std::vector<std::string> assumptions;  // what nobody published and we chose
  TableBudget quick{1'000, 1, {}};
  TableBudget standard{10'000, 3, {}};
  TableBudget paper{10'000, 1, {}};
  std::vector<TableBlock> blocks;
  std::vector<Claim> claims;
  const TableAnalysis* analysis = nullptr;
  std::string testbed;                   // the table whose testbed holds; empty = its own
  std::vector<std::string> quick_cells;  // what --budget quick runs where --cells says nothing; empty = all
  std::vector<std::string> over;  // columns of the first block that its others are compared with (MeansOver)

  const TableBudget& BudgetOf(BudgetSize size) const;
  // By their keys.
  bool HasCell(const std::string& block, const std::string& line, const std::string& column) const;
  bool HasPublished() const;  // whether any cell has a number of a paper
  std::string path;           // of a user's file; empty = one of ours
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
