#include "tables/run/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/spec.h"
#include "tables/table_values.h"

namespace stowplan::tables {
bool MatchesGlob(std::string_view pattern, std::string_view text) {
  // Where the last star may take one letter more: what the stars before it took need not change.
  std::size_t star = std::string_view::npos, taken = 0;
  std::size_t at = 0, letter = 0;
  while (letter < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      taken = letter;
    } else if (at < pattern.size() && pattern[at] == text[letter]) {
      ++at, ++letter;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      letter = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

namespace {

struct Pattern {
  std::string block = "*";
  std::string row = "*";
  std::string column = "*";
  bool names_block = false;  // "native:", or "*:" for all

  bool Asks(const TableBlock& b, const TableLine& l, const TableColumn& c) const {
    return MatchesGlob(block, b.key) && MatchesGlob(row, l.key) && MatchesGlob(column, c.key);
  }
};

Pattern ParsePattern(const std::string& text) {
  Pattern pattern;
  const auto colon = text.find(':');
  const auto slash = text.find('/');
  if (slash == std::string::npos || (colon != std::string::npos && colon > slash)) {
    throw InputError(
        fmt::format("--cells {}: wanted [BLOCK:]ROW/COLUMN, like nmt_2/scotch or */expert.", text));
  }
  pattern.names_block = colon != std::string::npos;
  if (pattern.names_block) pattern.block = text.substr(0, colon);
  const std::size_t row_at = colon == std::string::npos ? 0 : colon + 1;
  pattern.row = text.substr(row_at, slash - row_at);
  pattern.column = text.substr(slash + 1);
  return pattern;
}

std::vector<std::string> Keys(const TableDefinition& table, bool columns) {
  std::vector<std::string> keys;
  const auto add = [&](const std::string& key) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  };
  for (const TableBlock& block : table.blocks) {
    if (columns) {
      for (const TableColumn& column : block.columns) add(column.key);
    } else {
      for (const TableLine& line : block.lines) add(line.key);
    }
  }
  return keys;
}

template <typename Function>
void ForEachCell(const TableDefinition& table, Function function) {
  for (const TableBlock& block : table.blocks) {
    for (const TableLine& line : block.lines) {
      for (const TableColumn& column : block.columns) function(block, line, column);
    }
  }
}

// " (did you mean nmt_2/scotch?)", where a row or a column that is named out in full is not known.
std::string Nearest(const Pattern& pattern, const std::vector<std::string>& rows,
                    const std::vector<std::string>& columns) {
  const auto mended = [](const std::string& name, const std::vector<std::string>& known) {
    const bool right =
        name.find('*') != std::string::npos || std::find(known.begin(), known.end(), name) != known.end();
    return right ? name : NearestName(name, known);
  };
  const std::string row = mended(pattern.row, rows), column = mended(pattern.column, columns);
  if (row.empty() || column.empty() || (row == pattern.row && column == pattern.column)) return {};
  return fmt::format(" (did you mean {}/{}?)", row, column);
}

void CheckPatterns(const TableDefinition& table, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const Pattern pattern = ParsePattern(text);
    bool used = false;
    ForEachCell(table, [&](const auto& block, const auto& line, const auto& column) {
      used = used || pattern.Asks(block, line, column);
    });
    if (!used) {
      const std::vector<std::string> rows = Keys(table, false), columns = Keys(table, true);
      throw InputError(
          fmt::format("--cells {}: table {} has no such cell{}; its rows are {}, its columns {}.", text,
                      table.name, Nearest(pattern, rows, columns), JoinNames(rows), JoinNames(columns)));
    }
  }
}

// A block that spends what the paper did says nothing of its own where another block runs each of its cells with the same
// budget and seed: under --samples and the budgets that are not standard. What is asked for by the block's name is run.
void DropRepeatedBlocks(std::vector<CellPlan>& plans, const std::vector<Pattern>& patterns) {
  const auto what = [](const CellPlan& p) {
    return std::tuple(p.block->rules, p.block->memory_limits, p.line->workload, p.line->cluster,
                      p.column->key, p.line->AgentOf(*p.column), p.column->devices, p.grouper, p.training,
                      p.budget, p.seed);
  };
  std::set<decltype(what(plans.front()))> others;
  std::set<const TableBlock*> repeated;
  for (const CellPlan& plan : plans) {
    const bool named = std::ranges::any_of(patterns, [&](const Pattern& pattern) {
      return pattern.names_block && MatchesGlob(pattern.block, plan.block->key);
    });
    if (plan.block->paper_budget && !named) {
      repeated.insert(plan.block);
    } else {
      others.insert(what(plan));
    }
  }
  if (repeated.empty()) return;
  for (const CellPlan& plan : plans) {
    if (!others.contains(what(plan))) repeated.erase(plan.block);
  }
  std::erase_if(plans, [&](const CellPlan& plan) { return repeated.contains(plan.block); });
}

}  // namespace

std::vector<CellPlan> PlanCells(const TableDefinition& table, const PlanOptions& options) {
  const bool quick = options.size == BudgetSize::kQuick;
  const TableBudget& budget = table.BudgetOf(options.size);
  const std::vector<std::string>& cells = options.cells.empty() && quick ? table.quick_cells : options.cells;
  CheckPatterns(table, cells);
  std::vector<Pattern> patterns;
  for (const std::string& text : cells) patterns.push_back(ParsePattern(text));
  if (patterns.empty()) patterns.emplace_back();
  // A block that spends what the paper did has all of that budget under the standard one.
  const auto budget_of = [&](const TableBlock& block) -> const TableBudget& {
    return block.paper_budget && options.size == BudgetSize::kStandard ? table.paper : budget;
  };
  const auto samples_of = [&](const TableBlock& block, const TableLine& line, const TableColumn& column,
                              const std::string& grouper) {
    if (!column.sampled) return std::int64_t{1};
    if (column.samples > 0) return column.samples;
    if (column.pass_every > 0) return 1 + (GroupsOf(grouper) + column.pass_every - 1) / column.pass_every;
    if (options.samples > 0) return options.samples;
    const TableBudget& spent = budget_of(block);
    return &spent == &table.paper && line.paper_samples > 0 ? line.paper_samples : spent.samples;
  };
  std::vector<CellPlan> plans;
  ForEachCell(table, [&](const TableBlock& block, const TableLine& line, const TableColumn& column) {
    if (std::none_of(patterns.begin(), patterns.end(),
                     [&](const Pattern& p) { return p.Asks(block, line, column); }))
      return;
    const TableBudget& spent = budget_of(block);
    const int seeds = options.seeds > 0 ? options.seeds : spent.seeds;
    CellPlan plan{&block, &line, &column};
    plan.size = options.size;
    plan.grouper = column.grouper.empty() && !spent.grouper.empty() ? spent.grouper : line.GrouperOf(column);
    plan.budget = samples_of(block, line, column, plan.grouper);
    if (column.trained) plan.training = quick ? block.training.quick_samples : block.training.samples;
    for (plan.seed = 1; plan.seed <= (column.sampled ? seeds : 1); ++plan.seed) plans.push_back(plan);
  });
  DropRepeatedBlocks(plans, patterns);
  std::stable_sort(plans.begin(), plans.end(), [](const CellPlan& a, const CellPlan& b) {
    const auto key = [](const CellPlan& p) {
      return std::tuple(p.column->sampled, p.column->learner, p.seed);
    };
    return key(a) < key(b);
  });
  return plans;
}

std::vector<CellPlan> ShareOfRank(const std::vector<CellPlan>& plans, const agents::Ranks& ranks) {
  std::map<std::tuple<const TableBlock*, std::string, std::int64_t>, std::size_t> policies;
  std::vector<CellPlan> share;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const CellPlan& plan = plans[i];
    std::size_t dealt = i;
    if (plan.column->trained) {
      const auto key = std::tuple(plan.block, plan.line->AgentOf(*plan.column), plan.seed);
      dealt = policies.try_emplace(key, policies.size()).first->second;
    }
    if (dealt % static_cast<std::size_t>(ranks.size()) == static_cast<std::size_t>(ranks.rank()))
      share.push_back(plan);
  }
  return share;
}

}  // namespace stowplan::tables
