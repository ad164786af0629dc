#include "bench/report_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/console.h"
#include "bench/html.h"

namespace berth::bench {
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

std::string MarkdownRow(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (std::string cell : cells) {
    for (std::size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2) cell.insert(at, "\\");
    line += " " + cell + " |";
  }
  return line + "\n";
}

}  // namespace

std::string PrintReportText(const ReportPage& page) {
  std::string text = page.title + "\n\n";
  std::size_t widest = 0;
  for (const auto& [what, value] : page.facts) widest = std::max(widest, what.size());
  for (const auto& [what, value] : page.facts) text += fmt::format("  {:{}}  {}\n", what, widest, value);
  for (const ReportSection& section : page.sections) {
    text += "\n" + section.title + "\n\n";
    if (!section.rows.empty()) {
      TextTable table;
      for (std::size_t c = 0; c < section.header.size(); ++c)
        table.AddColumn(section.header[c],
                        c < section.left_columns ? TextTable::Align::kLeft : TextTable::Align::kRight);
      for (const auto& row : section.rows) table.AddRow(row);
      text += table.ToString(2);
    }
    for (const std::string& sentence : section.sentences) text += "  " + sentence + "\n";
  }
  return text;
}

std::string PrintReportMarkdown(const ReportPage& page) {
  std::string text = "# " + page.title + "\n";
  if (!page.facts.empty()) text += "\n";
  for (const auto& [what, value] : page.facts) text += fmt::format("- {}: {}\n", what, value);
  for (const ReportSection& section : page.sections) {
    text += "\n## " + section.title + "\n";
    if (!section.rows.empty()) {
      text += "\n" + MarkdownRow(section.header);
      for (std::size_t c = 0; c < section.header.size(); ++c)
        text += c < section.left_columns ? "|---" : "|---:";
      text += "|\n";
      for (const auto& row : section.rows) text += MarkdownRow(row);
    }
    if (!section.sentences.empty()) text += "\n";
    for (const std::string& sentence : section.sentences) text += "- " + sentence + "\n";
  }
  return text;
}

std::string PrintReportHtml(const ReportPage& page, const std::string& figures) {
  std::string text = fmt::format("<h1>{}</h1>\n<dl>\n", EscapeHtml(page.title));
  for (const auto& [what, value] : page.facts)
    text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", EscapeHtml(what), EscapeHtml(value));
  text += "</dl>\n" + figures;
  for (const ReportSection& section : page.sections) text += SectionHtml(section);
  return PrintPage(page.title, text);
}

}  // namespace berth::bench
