// Markdown, CSV, LaTeX and the terminal: the renderings that are plain text.
#include <algorithm>

#include <fmt/format.h>

#include "output/console.h"
#include "output/csv.h"
#include "output/markup.h"
#include "tables/report/rendered_table.h"

namespace stowplan::tables {
namespace {

// "1.21 [1.20, 1.25] (1.57) f !"
std::string CellText(const RenderedCell& cell) {
  std::string text = cell.ours;
  if (!cell.spread.empty()) text += " " + cell.spread;
  if (!cell.published.empty()) text += " (" + cell.published + ")";
  if (!cell.kind.empty()) text += " " + cell.kind.substr(0, 1);
  if (!cell.remark.empty()) text += " !";
  return text;
}

std::string MarkdownRule(std::size_t columns) {
  std::string line = "|";
  for (std::size_t i = 0; i < columns; ++i) line += "---|";
  return line + "\n";
}

std::vector<std::string> HeaderOf(const RenderedBlock& block) {
  std::vector<std::string> header = {block.row_title, "GPUs"};
  for (const RenderedColumn& column : block.columns) header.push_back(column.title);
  header.emplace_back("bound");
  return header;
}

std::vector<std::string> CellsOf(const RenderedLine& line) {
  std::vector<std::string> cells = {line.title, line.gpus};
  for (const RenderedCell& cell : line.cells) cells.push_back(CellText(cell));
  cells.push_back(line.bound.empty() ? "–" : line.bound);
  return cells;
}

std::string MarkdownTable(const std::vector<std::string>& header,
                          const std::vector<std::vector<std::string>>& rows) {
  std::string text = output::MarkdownRow(header) + MarkdownRule(header.size());
  for (const auto& row : rows) text += output::MarkdownRow(row);
  return text;
}

// What the first screen of the page shows.
std::string MarkdownVerdict(const RenderedBlock& block) {
  const bool best = block.HasBest(), bound = block.HasBound();
  std::vector<std::string> header = {block.row_title};
  for (const RenderedColumn& column : block.columns) {
    if (column.shown) header.push_back(column.title);
  }
  if (best) header.emplace_back("best search");
  if (bound) header.emplace_back("bound");
  std::vector<std::vector<std::string>> rows;
  for (const RenderedLine& line : block.lines) {
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(line.name());
    const auto add = [&](RenderedCell cell) {
      if (!block.intervals) cell.spread.clear();
      row.push_back(CellText(cell) + (cell.by.empty() ? "" : fmt::format(" ({})", cell.by)));
    };
    for (std::size_t c = 0; c < line.cells.size(); ++c) {
      if (block.columns[c].shown) add(line.cells[c]);
    }
    if (best) line.best ? add(*line.best) : row.push_back("–");
    if (bound) row.push_back(line.bound.empty() ? "–" : line.bound);
  }
  return MarkdownTable(header, rows);
}

std::string MarkdownBlock(const RenderedBlock& block) {
  std::string text = fmt::format("\n## {}\n\n{}\n\n", output::EscapeMarkdown(block.title),
                                 output::EscapeMarkdown(block.note));
  std::vector<std::vector<std::string>> rows;
  for (const RenderedLine& line : block.lines) rows.push_back(CellsOf(line));
  text += MarkdownTable(HeaderOf(block), rows);
  text += "\nRows:\n\n";
  for (const RenderedLine& line : block.lines)
    text += fmt::format("- {}: {}\n", output::EscapeMarkdown(line.name()), output::MarkdownCode(line.what));
  return text;
}

std::string MarkdownFacts(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string text = "\n";
  for (const auto& [what, value] : facts)
    text += fmt::format("- {}: {}\n", output::EscapeMarkdown(what), output::EscapeMarkdown(value));
  return text;
}

std::string MarkdownSection(const output::ReportSection& section) {
  std::string text = fmt::format("\n### {}\n\n", output::EscapeMarkdown(section.title));
  // Many sentences are a list, one or two are prose.
  const bool list = section.sentences.size() > 2;
  for (const std::string& sentence : section.sentences)
    text += (list ? "- " : "") + output::EscapeMarkdown(sentence) + "\n";
  if (section.rows.empty()) return text;
  return text + "\n" + MarkdownTable(section.header, section.rows);
}

std::string LatexLine(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) line += (line.empty() ? "  " : " & ") + output::EscapeLatex(cell);
  return line + " \\\\\n";
}

}  // namespace

std::string RenderMarkdown(const RenderedTable& table) {
  std::string text = fmt::format("# {}: {}\n\n{}\n", table.name, output::EscapeMarkdown(table.title),
                                 output::EscapeMarkdown(fmt::format("{}", fmt::join(table.outcome, "\n"))));
  if (const RenderedBlock* verdict = table.Verdict()) {
    text += fmt::format("\n{}.{}{}\n\n{}", verdict->shows, table.short_legend.empty() ? "" : " ",
                        table.short_legend, MarkdownVerdict(*verdict));
  }
  text += MarkdownFacts(table.facts);
  for (const RenderedClaims& claims : table.claims_in_brief) {
    std::vector<std::vector<std::string>> rows;
    for (const RenderedClaim& claim : claims.claims) rows.push_back({claim.claim, claim.ours, claim.verdict});
    text += fmt::format("\n## {}\n\n{}", claims.title, MarkdownTable({"claim", "ours", "verdict"}, rows));
  }
  return text + "\nAll else: [details.md](details.md).\n";
}

std::string RenderMarkdownDetails(const RenderedTable& table) {
  std::string text = fmt::format("# {}: {}\n\nThe verdict is in [table.md](table.md).\n\n{}\n", table.name,
                                 output::EscapeMarkdown(table.title), output::EscapeMarkdown(table.legend));
  for (const RenderedBlock& block : table.blocks) text += MarkdownBlock(block);
  text += "\n## Discussion\n";
  for (const output::ReportSection& section : table.discussion) text += MarkdownSection(section);
  if (!table.claims.empty()) text += MarkdownSection(EachClaim(table));
  return text + "\n## Where it comes from\n" + MarkdownFacts(table.provenance);
}

std::string RenderCsv(const RenderedTable& table) {
  std::string text =
      output::PrintCsvLine({"block", "workload", "gpus", "column", "kind", "ours_seconds", "spread",
                            "published_seconds", "ratio", "bound_seconds", "remark"});
  for (const RenderedBlock& block : table.blocks) {
    for (const RenderedLine& line : block.lines) {
      for (std::size_t c = 0; c < line.cells.size(); ++c) {
        const RenderedCell& cell = line.cells[c];
        const std::string ours = cell.ours_seconds ? fmt::format("{}", *cell.ours_seconds) : cell.ours;
        text += output::PrintCsvLine({block.key, line.title, line.gpus, block.columns[c].title, cell.kind,
                                      ours == "–" ? "" : ours, cell.spread, cell.published, cell.ratio,
                                      line.bound_seconds ? fmt::format("{}", *line.bound_seconds) : "",
                                      cell.remark});
      }
    }
  }
  return text;
}

std::string RenderLatex(const RenderedTable& table) {
  std::string text =
      fmt::format("% Written by stowplan table show {}; needs the package booktabs.\n", table.name);
  for (const RenderedBlock& block : table.blocks) {
    const std::vector<std::string> header = HeaderOf(block);
    text += "\\begin{table}\n  \\centering\n  \\caption{" +
            output::EscapeLatex(table.title + ". " + block.title + ". " + table.legend) + "}\n";
    text += "  \\label{tab:" + table.name + "-" + block.key + "}\n";
    text += "  \\begin{tabular}{l" + std::string(header.size() - 1, 'r') + "}\n  \\toprule\n";
    text += LatexLine(header) + "  \\midrule\n";
    for (const RenderedLine& line : block.lines) text += LatexLine(CellsOf(line));
    text += "  \\bottomrule\n  \\end{tabular}\n\\end{table}\n";
  }
  return text;
}

namespace {

bool HasKinds(const RenderedBlock& block) {
  return std::any_of(block.lines.begin(), block.lines.end(), [](const RenderedLine& line) {
    return std::any_of(line.cells.begin(), line.cells.end(),
                       [](const RenderedCell& cell) { return !cell.kind.empty(); });
  });
}

}  // namespace

std::string RenderTerminal(const RenderedTable& table) {
  std::string text = fmt::format("{}: {}\n", table.name, table.title);
  for (const RenderedBlock& block : table.blocks) {
    text += fmt::format("\n{}: {}{}\n", block.title, block.shows,
                        HasKinds(block) ? "; f fitted, p predicted, s searched" : "");
    // A screen is narrow: workloads are columns, the table stands on its side.
    output::TextTable lines;
    lines.AddColumn("");
    for (const RenderedLine& line : block.lines)
      lines.AddColumn(fmt::format("{}/{}", line.title, line.gpus), output::TextTable::Align::kRight);
    for (std::size_t c = 0; c < block.columns.size(); ++c) {
      std::vector<std::string> cells = {block.columns[c].title};
      for (const RenderedLine& line : block.lines) {
        RenderedCell cell = line.cells[c];
        cell.spread.clear();
        cells.push_back(CellText(cell));
      }
      lines.AddRow(std::move(cells));
    }
    std::vector<std::string> bounds = {"proven lower bound"};
    for (const RenderedLine& line : block.lines) bounds.push_back(line.bound.empty() ? "–" : line.bound);
    lines.AddRow(std::move(bounds));
    text += lines.ToString();
  }
  return text;
}

}  // namespace stowplan::tables
