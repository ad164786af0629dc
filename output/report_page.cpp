#include "output/report_page.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "output/console.h"
#include "output/html.h"
#include "output/markup.h"

namespace stowplan::output {
namespace {

std::string SectionHtml(const ReportSection& section) {
  std::string text = fmt::format("<section>\n<h2>{}</h2>\n", EscapeHtml(section.title));
  if (!section.rows.empty()) {
    const std::string table =
        TableHtml(section.title, "numbers", section.header, section.rows, section.left_columns);
    text += section.folded ? FoldHtml(fmt::format("{} rows", section.rows.size()), table) : table;
  }
  if (section.sentences.empty()) return text + "</section>\n";
  text += "<ul>\n";
  for (const std::string& sentence : section.sentences)
    text += fmt::format("<li>{}</li>\n", EscapeHtml(sentence));
  return text + "</ul>\n</section>\n";
}

constexpr std::size_t kNames = 22;  // columns that the name of a row may take

// Long names leave room for the numbers.
constexpr char kOnPhones[] =
    "@media (max-width: 40rem) {\n"
    "  .numbers th, .numbers td { padding: .25rem .3rem; font-size: .78rem; white-space: normal; }\n"
    "  .numbers tbody th { overflow-wrap: anywhere; min-width: 5.5rem; }\n}\n";

// A long name goes on below; of what is folded on a page each row is a sentence.
std::string RowsText(const ReportSection& section) {
  if (section.folded) {
    std::string text;
    for (const auto& row : section.rows)
      text += Wrapped(fmt::format("{}: {}", row.front(), fmt::join(row.begin() + 1, row.end(), ", ")), 2,
                      kLineWidth);
    return text;
  }
  TextTable table;
  for (std::size_t c = 0; c < section.header.size(); ++c)
    table.AddColumn(section.header[c],
                    c < section.left_columns ? TextTable::Align::kLeft : TextTable::Align::kRight);
  for (const auto& row : section.rows) {
    std::istringstream name(Wrapped(row.front(), 0, kNames));
    std::vector<std::string> cells = row;
    for (std::string line; std::getline(name, line);) {
      cells.front() = line;
      table.AddRow(std::exchange(cells, {""}));
    }
  }
  return table.ToString(2);
}

}  // namespace

std::string PrintReportText(const ReportPage& page) {
  std::string text = page.title + "\n\n";
  if (!page.lead.empty()) text += Wrapped(page.lead, 2, kLineWidth) + "\n";
  std::size_t widest = 0;
  for (const auto& [what, value] : page.facts) widest = std::max(widest, what.size());
  for (const auto& [what, value] : page.facts) text += fmt::format("  {:{}}  {}\n", what, widest, value);
  for (const ReportSection& section : page.sections) {
    text += "\n" + section.title + "\n\n";
    if (!section.rows.empty()) text += RowsText(section);
    for (const std::string& sentence : section.sentences) text += Wrapped(sentence, 2, kLineWidth);
  }
  return text;
}

std::string PrintReportMarkdown(const ReportPage& page) {
  std::string text = "# " + EscapeMarkdown(page.title) + "\n";
  if (!page.lead.empty()) text += "\n" + EscapeMarkdown(page.lead) + "\n";
  if (!page.facts.empty()) text += "\n";
  for (const auto& [what, value] : page.facts) {
    text += fmt::format("- {}: {}\n", EscapeMarkdown(what), EscapeMarkdown(value));
  }
  for (const ReportSection& section : page.sections) {
    text += "\n## " + EscapeMarkdown(section.title) + "\n";
    if (!section.rows.empty()) {
      text += "\n" + MarkdownRow(section.header);
      for (std::size_t c = 0; c < section.header.size(); ++c)
        text += c < section.left_columns ? "|---" : "|---:";
      text += "|\n";
      for (const auto& row : section.rows) text += MarkdownRow(row);
    }
    if (!section.sentences.empty()) text += "\n";
    for (const std::string& sentence : section.sentences) text += "- " + EscapeMarkdown(sentence) + "\n";
  }
  return text;
}

std::string PrintReportHtml(const ReportPage& page, const std::string& figures) {
  std::string text = fmt::format("<h1>{}</h1>\n", EscapeHtml(page.title));
  if (!page.lead.empty()) text += fmt::format("<p class=\"lead\">{}</p>\n", EscapeHtml(page.lead));
  for (std::size_t s = 0; s < page.sections.size(); ++s) {
    text += SectionHtml(page.sections[s]);
    if (s == 0) text += figures;
  }
  if (page.sections.empty()) text += figures;
  text += "<section>\n<h2>Where it comes from</h2>\n<dl>\n";
  for (const auto& [what, value] : page.facts)
    text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", EscapeHtml(what), EscapeHtml(value));
  return PrintPage(page.title, text + "</dl>\n</section>\n", {.style = kOnPhones, .data = {}, .script = {}});
}

}  // namespace stowplan::output
