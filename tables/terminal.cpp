#include "tables/terminal.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "output/console.h"

namespace stowplan::tables {
namespace {

using State = CellSummary::State;

std::string OursText(const CellSummary& cell) {
  if (cell.state == State::kNotRun) return "not run";
  if (cell.state == State::kOutOfMemory) return "OOM";
  return output::SecondsDigits(*cell.median);
}

// Of a searched one nothing.
std::string KindText(const CellSummary& cell) {
  if (!cell.was_run() || cell.kind == CellKind::kSearched) return "";
  return cell.kind == CellKind::kFitted ? "fit" : "rule";
}

std::string PublishedText(const CellSummary& cell) {
  if (!cell.published) return "";
  const std::string text =
      cell.published->out_of_memory ? "OOM" : fmt::format("{:g}", *cell.published->value);
  return cell.same_verdict().value_or(true) ? text : text + " !";
}

// "1.17 to 1.21 (5)"; where some seeds found nothing that fits, how many did.
std::string SeedsText(const CellSummary& cell) {
  if (!cell.sampled || !cell.was_run()) return "";
  const std::string seeds = cell.feasible < cell.seeds ? fmt::format("{} of {}", cell.feasible, cell.seeds)
                                                       : std::to_string(cell.seeds);
  if (!cell.median || cell.low == cell.high) return fmt::format("({})", seeds);
  return fmt::format("{} to {} ({})", output::SecondsDigits(cell.low), output::SecondsDigits(cell.high),
                     seeds);
}

std::string CountOf(const std::optional<double>& count) {
  return count ? output::CountText(std::llround(*count)) : "";
}

// `papers`: whether the table has numbers of a paper.
std::string RowText(const TableResults& results, const TableBlock& block, const TableLine& line,
                    bool papers) {
  output::TextTable table =
      papers ? output::TextTable("lrlrrrr", {"", "step [s]", "", "paper", "over seeds", "samples", "paper"})
             : output::TextTable("lrlrr", {"", "step [s]", "", "over seeds", "samples"});
  std::set<std::string> notes;  // why cells were not run
  for (const TableColumn& column : block.columns) {
    const CellSummary& cell = results.At(block.key, line.key, column.key);
    if (cell.state == State::kAbsent) continue;
    if (cell.state == State::kNotRun) notes.insert(cell.note);
    std::vector<std::string> cells = {output::Shortened(column.title, 27), OursText(cell), KindText(cell)};
    if (papers) cells.push_back(PublishedText(cell));
    cells.insert(cells.end(), {SeedsText(cell), cell.sampled ? CountOf(cell.samples) : ""});
    if (papers) cells.push_back(CountOf(cell.published_samples));
    table.AddRow(std::move(cells));
  }
  if (table.empty()) return "";
  std::string title = line.title + (line.gpus > 0 ? fmt::format(", {} GPUs", line.gpus) : "");
  if (const std::optional<double> bound = results.Bound(block.key, line.key))
    title += fmt::format("; no placement takes less than {} s", output::SecondsDigits(*bound));
  return "\n" + output::Wrapped(title, 0, output::kLineWidth) + table.ToString(1) +
         output::Wrapped(fmt::format("{}", fmt::join(notes, " ")), 1, output::kLineWidth);
}

bool HasPublished(const TableDefinition& table) {
  return std::ranges::any_of(table.blocks, [](const TableBlock& block) {
    return std::ranges::any_of(block.lines, [](const TableLine& line) { return !line.published.empty(); });
  });
}

}  // namespace

std::string RenderTerminal(const TableResults& results) {
  const TableDefinition& table = results.table();
  std::string text = output::Wrapped(fmt::format("{}: {}", table.name, table.title), 0, output::kLineWidth);
  const bool papers = HasPublished(table);
  for (const TableBlock& block : table.blocks) {
    std::string rows;
    for (const TableLine& line : block.lines) rows += RowText(results, block, line, papers);
    if (!rows.empty()) text += fmt::format("\n{}\n{}", block.title, rows);
  }
  const std::string of_papers = papers ? ", beside it the paper's. fit: a parameter of the machine was "
                                         "chosen to meet the paper. !: ours and the "
                                         "paper's differ about memory"
                                       : "";
  return text + "\n" +
         output::Wrapped(
             fmt::format("A step is the median over seeds{}. rule: a placement that nobody searched for. "
                         "OOM: nothing fits.",
                         of_papers),
             0, output::kLineWidth);
}

}  // namespace stowplan::tables
