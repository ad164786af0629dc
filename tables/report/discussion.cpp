// The discussion under a table: what was fitted, what is predicted, where memory verdicts agree, samples and clocks, what
// nobody published and was assumed.
#include "tables/report/discussion.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "output/console.h"
#include "tables/report/clocks.h"
#include "tables/report/method_order.h"
#include "tables/report/rendered_table.h"

namespace stowplan::tables {
namespace {

struct Named {
  const TableBlock* block;
  const TableLine* line;
  const TableColumn* column;
  const CellSummary* cell;

  std::string name;
};

std::vector<Named> Select(const TableResults& results, const std::function<bool(const Named&)>& wanted) {
  std::vector<Named> selected;
  for (const TableBlock& block : results.table().blocks) {
    for (const TableLine& line : block.lines) {
      for (const TableColumn& column : block.columns) {
        const Named named{&block, &line, &column, &results.At(block.key, line.key, column.key),
                          results.NameOf(block, line, column)};
        if (wanted(named)) selected.push_back(named);
      }
    }
  }
  return selected;
}

std::string Percent(double ratio) {
  const double percent = std::round((ratio - 1) * 100);
  return percent == 0 ? "0 %" : fmt::format("{:+.0f} %", percent);
}

std::string Cells(std::size_t count) {
  return fmt::format("{} cell{}", count, count == 1 ? "" : "s");
}

std::vector<double> ErrorsOf(const std::vector<Named>& cells) {
  std::vector<double> errors;
  for (const Named& named : cells) errors.push_back(std::abs(*named.cell->ratio() - 1));
  return errors;
}

// Whether the parameters were fitted to the published number of this column and workload, in whatever block
// or row.
bool MeasurementWasFitted(const TableResults& results, const TableLine& line, const TableColumn& column) {
  for (const TableBlock& block : results.table().blocks) {
    for (const TableLine& other : block.lines) {
      if (other.model != line.model) continue;
      for (const TableColumn& fitted : block.columns) {
        if (fitted.key != column.key) continue;
        if (other.IsFitted(fitted) || results.At(block.key, other.key, fitted.key).kind == CellKind::kFitted)
          return true;
      }
    }
  }
  return false;
}

// Whether a cell has the number and the runtime of a fitted one (an expert that puts everything on one GPU).
bool RepeatsFitted(const TableResults& results, const Named& named) {
  for (const TableColumn& column : named.block->columns) {
    const CellSummary& other = results.At(named.block->key, named.line->key, column.key);
    if (&column != named.column && other.median == named.cell->median &&
        other.ratio() == named.cell->ratio() && MeasurementWasFitted(results, *named.line, column)) {
      return true;
    }
  }
  return false;
}

// Whether the fit has seen the published number of a cell, in this row or another.
bool WasSeen(const TableResults& results, const Named& named) {
  return RepeatsFitted(results, named) || MeasurementWasFitted(results, *named.line, *named.column);
}

// A number that stands in several rows of one model is one measurement: the first of them counts.
bool StandsBefore(const std::vector<Named>& cells, const Named& named) {
  return std::any_of(cells.begin(), cells.end(), [&](const Named& n) {
    return n.block == named.block && n.column == named.column && n.line->model == named.line->model &&
           n.cell->published->value == named.cell->published->value;
  });
}

// Distances have a sign, which their median hides.
std::string SignText(const std::vector<Named>& cells) {
  const auto count = [&](const auto& keep) { return std::count_if(cells.begin(), cells.end(), keep); };
  return fmt::format("Ours is shorter in {} and longer in {}.",
                     count([](const Named& n) { return *n.cell->ratio() < 1; }),
                     count([](const Named& n) { return *n.cell->ratio() > 1; }));
}

output::ReportSection CloseTable(const std::vector<Named>& cells, const std::string& title,
                                 const std::string& what) {
  output::ReportSection section;
  section.title = title;
  section.sentences = {fmt::format("{} Median distance from the published numbers over {}: {:.0f} %. {}",
                                   what, Cells(cells.size()), 100 * Median(ErrorsOf(cells)),
                                   SignText(cells))};
  section.header = {"cell", "ours [s]", "published [s]", "ours / published", "distance"};
  for (const Named& n : cells) {
    section.rows.push_back({n.name, output::SecondsDigits(*n.cell->median),
                            fmt::format("{}", *n.cell->published->value),
                            fmt::format("{:.2f}", *n.cell->ratio()), Percent(*n.cell->ratio())});
  }
  return section;
}

// The cells of one kind and block that have a published number.
struct CloseCells {
  std::vector<Named> cells;
  std::vector<Named> seen;  // of predicted ones: left out
};

CloseCells SelectClose(const TableResults& results, const TableBlock& block, CellKind kind) {
  CloseCells close;
  for (const Named& n : Select(results, [&](const Named& c) {
         return c.block == &block && c.cell->kind == kind && c.cell->ratio();
       })) {
    if (StandsBefore(close.cells, n)) continue;
    (kind == CellKind::kPredicted && WasSeen(results, n) ? close.seen : close.cells).push_back(n);
  }
  return close;
}

// The cells of one kind and block beside the published numbers; nothing where there are none.
void AddCloseSections(const TableResults& results, CellKind kind, const std::string& title,
                      const std::string& what, std::vector<output::ReportSection>& sections) {
  for (const TableBlock& block : results.table().blocks) {
    const auto [cells, seen] = SelectClose(results, block, kind);
    if (cells.empty()) continue;
    std::string more;
    if (!seen.empty()) {
      more = fmt::format(" Left out: {} whose published number was fitted, or that repeat one that was.",
                         Cells(seen.size()));
    }
    const bool several = results.table().blocks.size() > 1;
    sections.push_back(CloseTable(cells, title + (several ? ": " + block.title : ""), what + more));
  }
}

std::string MemoryText(const CellSummary& cell) {
  const CellRecord& record = cell.records.front();
  if (!record.fullest_peak_bytes || !record.fullest_capacity_bytes) return "-";
  return fmt::format("{} on {}", output::NeedText(*record.fullest_peak_bytes, *record.fullest_capacity_bytes),
                     record.fullest_device);
}

// A CPU has memory for everything: that it fits there agrees with nobody.
bool IsOnTheCpu(const Named& named) {
  return named.line->AgentOf(*named.column) == "cpu_only";
}

// How many of the published OOMs of the first block come out, by what placed them.
std::string OutOfMemoryText(const std::vector<Named>& judged, const TableBlock& first) {
  std::string text;
  for (const auto& [groups, what] :
       {std::pair{std::set{ColumnGroup::kRule},
                  "placements fixed by a rule (sizes were chosen so that these come out)"},
        {std::set{ColumnGroup::kScheduler}, "partitioners"},
        {std::set{ColumnGroup::kSearch, ColumnGroup::kLearner}, "agents"}}) {
    int published = 0, ours = 0;
    for (const Named& named : judged) {
      if (named.block != &first || !named.cell->published->out_of_memory ||
          !groups.contains(GroupOf(*named.column)))
        continue;
      ++published;
      ours += *named.cell->same_verdict();
    }
    if (published > 0)
      text += fmt::format("{}{} of {} of {}", text.empty() ? "" : ", ", ours, published, what);
  }
  return text.empty() ? text : fmt::format("Of the published OOMs ours reproduce {}.", text);
}

output::ReportSection VerdictSection(const TableResults& results) {
  const auto judged =
      Select(results, [](const Named& n) { return n.cell->same_verdict().has_value() && !IsOnTheCpu(n); });
  const auto of = [&](const auto& keep) {
    std::vector<Named> kept;
    std::copy_if(judged.begin(), judged.end(), std::back_inserter(kept), keep);
    return kept;
  };
  const auto agrees = [](const Named& n) { return *n.cell->same_verdict(); };
  output::ReportSection section;
  section.title = "Does it fit? Verdicts about memory";
  for (const TableBlock& block : results.table().blocks) {
    std::string text;
    for (const bool searched : {false, true}) {
      const auto cells = of([&](const Named& n) {
        return n.block == &block && (n.cell->kind == CellKind::kSearched) == searched;
      });
      if (cells.empty()) continue;
      text += fmt::format("{}{} {} of {} verdicts as published", text.empty() ? "" : "; ",
                          searched ? "cells of partitioners and agents" : "placements fixed by a rule",
                          std::count_if(cells.begin(), cells.end(), agrees), cells.size());
    }
    if (!text.empty()) section.sentences.push_back(fmt::format("{}: {}.", block.title, text));
  }
  const std::size_t blocks = section.sentences.size();
  if (const std::string text = OutOfMemoryText(judged, results.table().blocks.front()); !text.empty())
    section.sentences.push_back(text);
  if (std::any_of(judged.begin(), judged.end(),
                  [](const Named& n) { return n.cell->kind == CellKind::kSearched; })) {
    section.sentences.emplace_back(
        "Cells of partitioners and agents are reported as found, because what the published program placed "
        "is not known.");
  }
  if (blocks > 1) {
    section.sentences.emplace_back(
        "Blocks after the first ask the same published cells again under other rules and are no further "
        "evidence.");
  }
  section.header = {"cell that differs", "ours", "published", "fullest device"};
  for (const Named& n : judged) {
    if (agrees(n)) continue;
    section.rows.push_back(
        {n.name, n.cell->median ? output::SecondsDigits(*n.cell->median) + " s" : "OOM",
         n.cell->published->out_of_memory ? "OOM" : fmt::format("{} s", *n.cell->published->value),
         MemoryText(*n.cell)});
  }
  if (section.rows.empty()) section.header.clear();
  return section;
}

// What no paper gives: how far each line's best is from the proven bound, and who found it.
output::ReportSection GapSection(const TableResults& results) {
  output::ReportSection section;
  section.title = "Best found and the proven bound";
  section.sentences = {
      "The bound holds in this model for every placement on the devices that the column may use; the gap "
      "says how much better any agent could be there at most."};
  section.header = {"row", "best found [s]", "by", "bound [s]", "gap"};
  for (const TableBlock& block : results.table().blocks) {
    for (const TableLine& line : block.lines) {
      const CellSummary* best = nullptr;
      std::string by;
      for (const TableColumn& column : block.columns) {
        const CellSummary& cell = results.At(block.key, line.key, column.key);
        if (!cell.median || (best != nullptr && *best->median <= *cell.median)) continue;
        best = &cell;
        by = column.title;
      }
      if (best == nullptr || !best->bound || *best->bound <= 0) continue;
      section.rows.push_back({fmt::format("{}, {} GPUs", line.title, line.gpus) +
                                  (block.key == "native" ? "" : ", " + block.title),
                              output::SecondsDigits(*best->median), by, output::SecondsDigits(*best->bound),
                              fmt::format("{:.2f}", *best->median / *best->bound)});
    }
  }
  if (section.rows.empty()) section.sentences = {"Nothing feasible was found yet."}, section.header.clear();
  return section;
}

// What a search costs. The published counts are "placements sampled"; whether a step or an episode of a
// learner is one is not known, so both of ours are shown.
output::ReportSection SamplesSection(const TableResults& results) {
  output::ReportSection section;
  section.title = "Samples";
  section.sentences = {
      "A sample is one evaluation of one placement; a proposal is a placement an agent stands for (one for "
      "each episode of a learner that "
      "moves one group at a time). Medians over seeds; the first column is the first sample within 1 % of "
      "the final best."};
  section.header = {"cell",           "to within 1 %",    "to the best",
                    "samples in all", "proposals in all", "published"};
  const auto text = [](const std::optional<double>& count) {
    return count ? output::CountText(std::llround(*count)) : std::string("–");
  };
  const std::vector<Named> cells =
      Select(results, [](const Named& c) { return c.column->sampled && c.cell->samples; });
  const bool screens = std::ranges::any_of(cells, [](const Named& n) { return n.cell->screens.has_value(); });
  if (screens) section.header.push_back("screens in all");
  for (const Named& n : cells) {
    section.rows.push_back({n.name, text(n.cell->samples_to_1pct), text(n.cell->samples_to_best),
                            text(n.cell->samples), text(n.cell->proposals), text(n.cell->published_samples)});
    if (screens) section.rows.back().push_back(text(n.cell->screens));
  }
  return section;
}

output::ReportSection NotRunSection(const TableResults& results) {
  output::ReportSection section;
  section.title = "Not run";
  std::vector<std::string>& sentences = section.sentences;
  for (const TableBlock& block : results.table().blocks) {
    for (const TableLine& line : block.lines) {
      for (const TableColumn& column : block.columns) {
        const CellSummary& cell = results.At(block.key, line.key, column.key);
        if (cell.state != CellSummary::State::kNotRun) continue;
        const std::string sentence = fmt::format("{}, {} GPUs: {}.", line.title, line.gpus, cell.note);
        if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end())
          sentences.push_back(sentence);
      }
    }
  }
  std::string absent;
  for (const TableColumn& column : results.table().blocks.front().columns) {
    const auto run = Select(results, [&](const Named& n) {
      return n.column->key == column.key && n.cell->state != CellSummary::State::kAbsent;
    });
    if (run.empty()) absent += (absent.empty() ? "" : ", ") + column.title;
  }
  if (!absent.empty()) sentences.push_back(fmt::format("Columns that no row was run for: {}.", absent));
  return section;
}

}  // namespace

std::optional<Closeness> ClosenessOf(const TableResults& results, CellKind kind) {
  const CloseCells close = SelectClose(results, results.table().blocks.front(), kind);
  if (close.cells.empty()) return std::nullopt;
  const std::vector<double> errors = ErrorsOf(close.cells);
  std::vector<Named> elsewhere = close.seen;
  std::erase_if(elsewhere, [&](const Named& named) { return RepeatsFitted(results, named); });
  const std::vector<double> errors_elsewhere = ErrorsOf(elsewhere);
  return Closeness{close.cells.size(),       Median(errors),
                   std::ranges::max(errors), close.seen.size(),
                   elsewhere.size(),         elsewhere.empty() ? 0 : std::ranges::max(errors_elsewhere)};
}

MemoryAgreement CompareMemory(const TableResults& results) {
  MemoryAgreement agreement;
  for (const Named& named : Select(results, [&](const Named& n) {
         return n.block == &results.table().blocks.front() && n.cell->kind != CellKind::kSearched &&
                !IsOnTheCpu(n) && n.cell->same_verdict().has_value();
       })) {
    ++agreement.cells;
    agreement.same += *named.cell->same_verdict() ? 1 : 0;
  }
  return agreement;
}

std::vector<output::ReportSection> BuildDiscussion(const TableResults& results) {
  std::vector<output::ReportSection> sections;
  const TableAnalysis* analysis = results.table().analysis;
  if (analysis != nullptr && analysis->sections != nullptr) sections = analysis->sections(results);
  AddCloseSections(results, CellKind::kFitted, "Fitted cells",
                   "The testbed's parameters were chosen to meet these cells, so they confirm nothing; the "
                   "residual is what the few "
                   "parameters could not reach.",
                   sections);
  AddCloseSections(results, CellKind::kPredicted, "Predicted cells",
                   "No parameter has seen these; they are the accuracy of the model on this table.",
                   sections);
  if (output::ReportSection order = OrderSection(results); !order.sentences.empty())
    sections.push_back(std::move(order));
  if (results.table().HasPublished()) sections.push_back(VerdictSection(results));
  sections.push_back(GapSection(results));
  if (output::ReportSection samples = SamplesSection(results); !samples.rows.empty())
    sections.push_back(std::move(samples));
  if (output::ReportSection clocks = ClockSection(results); !clocks.rows.empty())
    sections.push_back(std::move(clocks));
  output::ReportSection not_run = NotRunSection(results);
  if (!not_run.sentences.empty()) sections.push_back(std::move(not_run));
  sections.push_back({"Assumptions", results.table().assumptions, {}, {}});
  return sections;
}

}  // namespace stowplan::tables
