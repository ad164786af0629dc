// What a table says in five sentences, and what it was made with.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "output/console.h"
#include "sim/base/spec.h"
#include "tables/report/bootstrap.h"
#include "tables/report/claims.h"
#include "tables/report/common.h"
#include "tables/report/discussion.h"
#include "tables/report/learned.h"
#include "tables/report/method_order.h"
#include "tables/report/rendered_table.h"

namespace stowplan::tables {
namespace {

struct Best {
  const CellSummary* cell = nullptr;
  const TableColumn* column = nullptr;
};

// The smallest median of a row's columns of one group, but of learners at rate 0. `own_budgets`: those that have a budget of
// their own too.
std::optional<Best> BestOf(const TableResults& results, const TableBlock& block, const TableLine& line,
                           ColumnGroup group, bool own_budgets) {
  std::optional<Best> best;
  for (const TableColumn& column : block.columns) {
    const CellSummary& cell = results.At(block.key, line.key, column.key);
    if (GroupOf(column) != group || (column.has_own_budget() && !own_budgets) || !cell.median ||
        IsUntrained(line.AgentOf(column)) || (best && *best->cell->median <= *cell.median))
      continue;
    best = Best{&cell, &column};
  }
  return best;
}

// The placement by hand that a paper compares with: of the fixed ones that it has cells of the last.
const TableColumn* ReferenceOf(const TableBlock& block) {
  const TableColumn* reference = nullptr;
  for (const TableColumn& column : block.columns) {
    const bool has_numbers = std::ranges::any_of(block.lines, [&](const TableLine& line) {
      const auto cell = line.published.find(column.key);
      return cell != line.published.end() && cell->second.value;
    });
    if (has_numbers && GroupOf(column) == ColumnGroup::kRule) reference = &column;
  }
  return reference;
}

using Rows = std::vector<const TableLine*>;

// Where a column and the reference fit, here and in the paper; not `published`: where the column fits here.
Rows RowsWith(const TableResults& results, const TableBlock& block, const TableColumn& column,
              const TableColumn& reference, bool published) {
  Rows rows;
  for (const TableLine& line : block.lines) {
    const CellSummary& cell = results.At(block.key, line.key, column.key);
    if ((published ? cell.ratio().has_value() : cell.median.has_value()) &&
        results.At(block.key, line.key, reference.key).ratio())
      rows.push_back(&line);
  }
  return rows;
}

// Of the two columns of the rows: the geometric mean of what one takes over what the other takes.
std::string MeanText(const TableResults& results, const TableBlock& block, const Rows& rows,
                     const TableColumn& column, const TableColumn& reference, bool published) {
  std::vector<double> ratios;
  for (const TableLine* line : rows) {
    const CellSummary& cell = results.At(block.key, line->key, column.key);
    const CellSummary& base = results.At(block.key, line->key, reference.key);
    ratios.push_back(published ? *cell.published->value / *base.published->value
                               : *cell.median / *base.median);
  }
  return RatioText(GeometricMean(ratios));
}

// The column of the same agent with its paper's settings; null where there is none, or it is that.
const TableColumn* WithPapersSettings(const TableBlock& block, const TableColumn& column) {
  if (PresetOf(column.agent) == "paper") return nullptr;
  const auto paper = std::ranges::find_if(block.columns, [&](const TableColumn& other) {
    return PresetOf(other.agent) == "paper" && DifferOnlyIn("preset", other, column);
  });
  return paper == block.columns.end() ? nullptr : &*paper;
}

// "Placeto takes 0.83 times as long as expert (published 0.90; with the paper's settings 1.30), RNN 0.84 (0.92); geometric
// means over 4 rows that have both." All means are over the same rows: a learner that shares none with those before is left
// out.
std::string AgainstPaperText(const TableResults& results) {
  const TableBlock& block = results.table().blocks.front();
  const TableColumn* reference = ReferenceOf(block);
  if (reference == nullptr) return {};
  std::vector<const TableColumn*> learners;
  Rows rows;
  for (const TableColumn& column : block.columns) {
    if (!column.published || GroupOf(column) != ColumnGroup::kLearner) continue;
    Rows shared = RowsWith(results, block, column, *reference, true);
    if (!learners.empty())
      std::erase_if(shared,
                    [&](const TableLine* line) { return std::ranges::find(rows, line) == rows.end(); });
    if (shared.empty()) continue;
    rows = std::move(shared);
    learners.push_back(&column);
  }
  std::string text;
  for (const TableColumn* learner : learners) {
    const std::string ours = MeanText(results, block, rows, *learner, *reference, false);
    const std::string theirs = MeanText(results, block, rows, *learner, *reference, true);
    text += text.empty() ? fmt::format("{} takes {} times as long as {} (published {}", learner->title, ours,
                                       reference->title, theirs)
                         : fmt::format(", {} {} ({}", learner->title, ours, theirs);
    if (const TableColumn* paper = WithPapersSettings(block, *learner)) {
      const Rows there = RowsWith(results, block, *paper, *reference, false);
      if (!there.empty())
        text +=
            std::ranges::includes(there, rows)
                ? "; with the paper's settings " + MeanText(results, block, rows, *paper, *reference, false)
                : "; with the paper's settings not in every row";
    }
    text += ')';
  }
  return rows.empty() ? ""
         : rows.size() == 1
             ? text + ", in the one row that has both."
             : text + fmt::format("; geometric means over {} rows that have both.", rows.size());
}

std::string CloseText(const TableResults& results) {
  const auto fitted = ClosenessOf(results, CellKind::kFitted);
  const auto predicted = ClosenessOf(results, CellKind::kPredicted);
  // No cell is farther.
  const auto within = [](double error) {
    return fmt::format("{:.0f} %", std::max(1.0, std::ceil(100 * error - 1e-6)));
  };
  const auto errors = [&](const Closeness& close) {
    return within(close.largest_error) +
           (close.cells == 1 ? "" : fmt::format(" (median {:.0f} %)", 100 * close.median_error));
  };
  std::string text;
  if (fitted)
    text = fmt::format("{} fitted cell{} within {} of the published numbers", fitted->cells,
                       fitted->cells == 1 ? " is" : "s are", errors(*fitted));
  if (predicted) {
    text += fitted ? fmt::format(", {} predicted within {}", predicted->cells, errors(*predicted))
                   : fmt::format("{} predicted cell{} within {} of the published numbers", predicted->cells,
                                 predicted->cells == 1 ? " is" : "s are", errors(*predicted));
    if (predicted->seen > 0) {
      text += fmt::format(", without {} whose number was fitted", predicted->seen);
      if (predicted->largest_error_elsewhere > predicted->largest_error)
        text += fmt::format("{} in another row (within {})",
                            predicted->seen_elsewhere == predicted->seen
                                ? ""
                                : fmt::format(", {} of them", predicted->seen_elsewhere),
                            within(predicted->largest_error_elsewhere));
    }
  }
  return text.empty() ? text : text + ".";
}

std::string MemoryText(const TableResults& results) {
  const MemoryAgreement agreement = CompareMemory(results);
  const bool any_oom = std::ranges::any_of(results.table().blocks.front().lines, [](const TableLine& line) {
    return std::ranges::any_of(line.published, [](const auto& cell) { return cell.second.out_of_memory; });
  });
  if (agreement.cells == 0 || !any_oom) return {};
  return fmt::format("fixed placements fit as published in {} of {} cells, as sizes were chosen to",
                     agreement.same, agreement.cells);
}

// The rows of the outcome: of the first block, which the others ask again under other rules; where nothing was published,
// of all blocks.
template <typename Visit>
void VisitRows(const TableResults& results, const Visit& visit) {
  for (const TableBlock& block : results.table().blocks) {
    for (const TableLine& line : block.lines) visit(block, line);
    if (results.table().HasPublished()) return;
  }
}

std::string SearchText(const TableResults& results) {
  std::vector<double> gaps;
  std::map<std::string, std::size_t> won;
  VisitRows(results, [&](const TableBlock& block, const TableLine& line) {
    const auto best = BestOf(results, block, line, ColumnGroup::kSearch, true);
    const auto bound = results.Bound(block.key, line.key);
    if (!best || !bound || *bound <= 0) return;
    gaps.push_back(*best->cell->median / *bound);
    ++won[best->column->title];
  });
  if (gaps.empty()) return {};
  const auto most = std::max_element(won.begin(), won.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return fmt::format(
      "The best search of a row ({} in {} of {}) takes {:.2f} times as long as the proven bound (geometric "
      "mean).",
      most->first, most->second, gaps.size(), GeometricMean(gaps));
}

// Some searches look at screens beside their samples, so the plain ones are told, too; a page that opens with means over
// others has both there.
std::string LearnerText(const TableResults& results) {
  std::vector<double> over_best, over_local;
  std::optional<std::int64_t> screens;
  std::size_t rows_with_screens = 0;
  VisitRows(results, [&](const TableBlock& block, const TableLine& line) {
    const auto learner = BestOf(results, block, line, ColumnGroup::kLearner, false);
    const auto search = BestOf(results, block, line, ColumnGroup::kSearch, false);
    if (!learner || !search || learner->cell->budget() != search->cell->budget()) return;
    over_best.push_back(*learner->cell->median / *search->cell->median);
    bool with_screens = false;
    for (const CellRecord& record : search->cell->records) {
      if (!record.screens) continue;
      with_screens = true;
      screens = std::min(screens.value_or(*record.screens), *record.screens);
    }
    rows_with_screens += with_screens;
    if (const auto local =
            BestMedian(results, block.key, line.key, LocalSearchColumns(), learner->cell->budget()))
      over_local.push_back(*learner->cell->median / *local);
  });
  if (over_best.empty()) return {};
  const bool both =
      results.table().over.empty() && over_local.size() == over_best.size() && over_local != over_best;
  const std::string in_rows = rows_with_screens == over_best.size()
                                  ? ""
                                  : fmt::format(" in {} of {} rows", rows_with_screens, over_best.size());
  return fmt::format(
      "At equal samples the best learner of a row takes {}{} times as long as the best search{}.",
      both ? RatioText(GeometricMean(over_local)) + " times as long as the better local search, " : "",
      RatioText(GeometricMean(over_best)),
      both && screens ? fmt::format(" ({} screens or more{})", output::CountText(*screens), in_rows) : "");
}

// Of those that claims are about, over all rows of the first block; who lost in one row alone is named in its claims.
std::string WhoDidNotLearn(const TableResults& results, const std::vector<ClaimVerdict>& claims) {
  const TableBlock& block = results.table().blocks.front();
  std::set<std::string> subjects;
  for (const ClaimVerdict& claim : claims) {
    if (claim.word == ClaimWord::kDidNotLearn) subjects.insert(claim.subjects.begin(), claim.subjects.end());
  }
  std::vector<std::string> reasons;
  for (const TableColumn& column : block.columns) {
    if (!subjects.contains(column.key)) continue;
    if (const auto why = WhyNotLearned(results, block.key, {}, column.key)) reasons.push_back(*why);
  }
  return fmt::format("{}", fmt::join(reasons, "; "));
}

// Claims that differ in a row or block alone are one; those in the line of a learner that did not learn are not.
std::size_t CountDistinct(const std::vector<ClaimVerdict>& claims) {
  std::set<std::pair<int, std::string>> distinct;
  for (const ClaimVerdict& claim : claims) {
    const bool alone = claim.family.empty() || claim.member == claim.claim;
    distinct.emplace(claim.entry, alone ? claim.claim : claim.family);
  }
  return distinct.size();
}

// "4 verdicts on 3 claims of the paper 2 hold, 2 do not hold"
std::string CountsOf(const std::vector<ClaimVerdict>& claims, const std::string& whose) {
  std::string text;
  for (const ClaimWord word : {ClaimWord::kHolds, ClaimWord::kDoesNotHold, ClaimWord::kUndecided,
                               ClaimWord::kDidNotLearn, ClaimWord::kCannotBeTested}) {
    const auto count =
        std::count_if(claims.begin(), claims.end(), [&](const auto& claim) { return claim.word == word; });
    const bool one = count == 1;
    const char* verb = word == ClaimWord::kHolds         ? (one ? "holds" : "hold")
                       : word == ClaimWord::kDoesNotHold ? (one ? "does not hold" : "do not hold")
                       : word == ClaimWord::kUndecided   ? (one ? "is undecided" : "are undecided")
                       : word == ClaimWord::kDidNotLearn ? (one ? "is about a learner that did not learn"
                                                                : "are about learners that did not learn")
                                                         : "cannot be tested here";
    if (count > 0) text += fmt::format("{} {} {}", text.empty() ? "" : ",", count, verb);
  }
  const std::size_t distinct = CountDistinct(claims);
  const std::string verdicts = distinct == claims.size() ? "" : fmt::format("{} verdicts on ", claims.size());
  return fmt::format("{}{} claim{}{}{}", verdicts, distinct, distinct == 1 ? "" : "s", whose, text);
}

// Those of ours apart where others are the paper's: what we set ourselves is easier to meet.
std::string ClaimsText(const TableResults& results) {
  const std::vector<ClaimVerdict> claims = JudgeClaims(results);
  if (claims.empty()) return {};
  std::vector<ClaimVerdict> papers, ours;
  for (const ClaimVerdict& claim : claims) (claim.of_paper ? papers : ours).push_back(claim);
  const std::string who = WhoDidNotLearn(results, claims);
  return fmt::format(
      "Of {}{}.",
      ours.empty() || papers.empty()
          ? CountsOf(claims, !results.table().path.empty() && ours.empty() ? ""
                             : ours.empty()                                ? " of the paper"
                                                                           : " of ours")
          : fmt::format("{}; of {}", CountsOf(papers, " of the paper"), CountsOf(ours, " of ours")),
      who.empty() ? "" : ": " + who);
}

// The value of a parameter of an agent; empty where it has none.
std::string ParameterOf(const std::string& agent, std::string_view parameter) {
  if (agent.empty()) return {};              // of a column whose rows name theirs
  const std::size_t end = agent.rfind(')');  // behind it: what a policy was trained on
  const Spec spec = Spec::Parse(end == std::string::npos ? agent : agent.substr(0, end + 1));
  for (const auto& [key, value] : spec.named) {
    if (key == parameter) return value;
  }
  return {};
}

std::string PresetText(const std::string& preset) {
  if (preset == "tuned")
    return "tuned (network as published but for sizes and attention; training and additions of ours)";
  if (preset == "transfer") return "transfer (ours, for unseen graphs)";
  if (preset == "walk") return "walk (nearest to the paper's)";
  if (preset == "paper") return "paper (published settings, else assumed)";
  return preset;
}

// "size small, of all"; "tuned (...): Placeto, RNN; paper (...): Placeto (preset paper)". `of`: how many there are.
std::string OfWhom(const std::map<std::string, std::vector<std::string>>& groups, std::size_t of) {
  std::vector<std::string> texts;
  for (const auto& [what, whose] : groups)
    texts.push_back(what + (groups.size() == 1 && whose.size() == of
                                ? ", of all"
                                : fmt::format(": {}", fmt::join(whose, ", "))));
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string Specs(const std::set<std::string>& specs) {
  return fmt::format("{}", fmt::join(specs, "; "));
}

// "pilot 1,068,000 to 1,120,000": what a search spends beside its samples, the least and the most of its runs.
std::string ScreensText(const TableResults& results) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> screens;
  for (const TableBlock& block : results.table().blocks) {
    for (const TableLine& line : block.lines) {
      for (const TableColumn& column : block.columns) {
        for (const CellRecord& record : results.At(block.key, line.key, column.key).records) {
          if (!record.screens) continue;
          auto& [least, most] =
              screens.try_emplace(column.title, *record.screens, *record.screens).first->second;
          least = std::min(least, *record.screens);
          most = std::max(most, *record.screens);
        }
      }
    }
  }
  std::vector<std::string> texts;
  for (const auto& [title, range] : screens) {
    texts.push_back(fmt::format("{} {}", title, output::CountText(range.first)));
    if (range.second > range.first) texts.back() += " to " + output::CountText(range.second);
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace

ColumnGroup GroupOf(const TableColumn& column) {
  if (column.learner) return ColumnGroup::kLearner;
  if (column.kind != CellKind::kSearched) return ColumnGroup::kRule;
  return column.sampled ? ColumnGroup::kSearch : ColumnGroup::kScheduler;
}

std::string PresetOf(const std::string& agent) {
  return ParameterOf(agent, "preset");
}

std::vector<std::string> BuildOutcome(const TableResults& results) {
  std::vector<std::string> outcome;
  const TableAnalysis* analysis = results.table().analysis;
  if (analysis != nullptr && analysis->outcome != nullptr) outcome = analysis->outcome(results);
  for (const auto& text : {AgainstPaperText(results), ClaimsText(results), LearnerText(results),
                           SearchText(results), CloseText(results)}) {
    if (!text.empty()) outcome.push_back(text);
  }
  return outcome;
}

std::vector<std::pair<std::string, std::string>> BuildFacts(const TableResults& results) {
  const TableDefinition& table = results.table();
  std::set<std::string> clusters;
  // By what they have: agents, and titles of columns.
  std::map<std::string, std::vector<std::string>> networks, presets;
  std::set<std::string> agents, titles;
  const auto add = [](std::map<std::string, std::vector<std::string>>& groups, const std::string& what,
                      const std::string& who) {
    if (what.empty()) return;
    std::vector<std::string>& whose = groups[what];
    if (std::ranges::find(whose, who) == whose.end()) whose.push_back(who);
  };
  for (const TableBlock& block : table.blocks) {
    for (const TableLine& line : block.lines) {
      clusters.insert(line.cluster);
      for (const TableColumn& column : block.columns) {
        const auto& records = results.At(block.key, line.key, column.key).records;
        if (!column.learner || records.empty() || IsUntrained(column.agent)) continue;
        const std::string& agent = records.front().agent;
        const std::string name = agent.substr(0, agent.find('('));
        agents.insert(name);
        titles.insert(column.title);
        if (const std::string size = ParameterOf(agent, "size"); !size.empty())
          add(networks, "size " + size, name);
        add(presets, PresetText(ParameterOf(agent, "preset")), column.title);
      }
    }
  }
  const bool chosen = std::ranges::any_of(table.blocks.front().columns, [](const TableColumn& column) {
    return column.kind == CellKind::kFitted;
  });
  std::vector<std::string> fitted;
  for (const TableParameter& parameter : table.parameters) fitted.push_back(parameter.name());
  std::vector<std::pair<std::string, std::string>> facts = {
      {"machines", Specs(clusters)},
      {"fitted", !fitted.empty() ? fmt::format("{} number{} for the whole table: {}", fitted.size(),
                                               fitted.size() == 1 ? "" : "s", fmt::join(fitted, ", "))
                 : chosen ? std::string("nothing but which machine it is, chosen to meet the cells marked f")
                 : table.testbed.empty()
                     ? std::string("nothing")
                     : fmt::format("nothing; the machine is that of table {}", table.testbed)}};
  if (!table.published_from.empty()) facts.emplace_back("published cells", table.published_from);
  if (const std::string memory = MemoryText(results); !memory.empty()) facts.emplace_back("memory", memory);
  if (!networks.empty()) facts.emplace_back("networks", OfWhom(networks, agents.size()));
  if (!presets.empty()) facts.emplace_back("learners' presets", OfWhom(presets, titles.size()));
  if (const std::string screens = ScreensText(results); !screens.empty())
    facts.emplace_back("screens of a run", screens);
  std::string orders;
  for (const MethodOrder& order : OrdersOfMethods(results))
    orders += fmt::format("{}{} {:.2f}", orders.empty() ? "" : ", ", order.key, order.tau);
  if (!orders.empty()) facts.emplace_back(fmt::format("methods' order, tau (goal {})", kOrderGoal), orders);
  return facts;
}

}  // namespace stowplan::tables
