#include "tables/terminal.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "output/console.h"

namespace stowplan::tables {
namespace {

using State = CellSummary::State;

std::string OursText(const CellSummary& cell) {
  if (cell.state == State::kNotRun) return "not run";
  if (cell.state == State::kOutOfMemory) return "OOM";
  const char letter = ToString(cell.kind)[0];
  return fmt::format("{} {}", output::SecondsDigits(*cell.median), letter);
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

std::string RowText(const TableResults& results, const TableBlock& block, const TableLine& line) {
  output::TextTable table("lrrrrr", {"", "step [s]", "paper", "over seeds", "samples", "paper"});
  std::set<std::string> notes;  // why cells were not run
  for (const TableColumn& column : block.columns) {
    const CellSummary& cell = results.At(block.key, line.key, column.key);
    if (cell.state == State::kAbsent) continue;
    if (cell.state == State::kNotRun) notes.insert(cell.note);
    table.AddRow({output::Shortened(column.title, 28), OursText(cell), PublishedText(cell), SeedsText(cell),
                  cell.sampled ? CountOf(cell.samples) : "", CountOf(cell.published_samples)});
  }
  if (table.empty()) return "";
  const std::optional<double> bound = results.Bound(block.key, line.key);
  return fmt::format(
             "\n{}{}{}\n{}", line.title, line.gpus > 0 ? fmt::format(", {} GPUs", line.gpus) : "",
             bound ? fmt::format("; no placement takes less than {} s", output::SecondsDigits(*bound)) : "",
             table.ToString(1)) +
         output::Wrapped(fmt::format("{}", fmt::join(notes, " ")), 1, output::kLineWidth);
}

}  // namespace

std::string RenderTerminal(const TableResults& results) {
  const TableDefinition& table = results.table();
  std::string text = output::Wrapped(fmt::format("{}: {}", table.name, table.title), 0, output::kLineWidth);
  for (const TableBlock& block : table.blocks) {
    std::string rows;
    for (const TableLine& line : block.lines) rows += RowText(results, block, line);
    if (!rows.empty()) text += fmt::format("\n{}\n{}", block.title, rows);
  }
  return text + "\n" +
         output::Wrapped(
             "A step is the median over seeds, behind it the paper's. f: fitted to that; p: predicted, a "
             "placement that "
             "a rule fixes; s: searched. OOM: nothing fits. !: ours and the paper's differ about memory.",
             0, output::kLineWidth);
}

}  // namespace stowplan::tables
