#include "bench/report_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "BenchData.h"
#include "bench/console.h"
#include "bench/tables/html.h"

namespace berth::bench {
namespace {

std::string TableHtml(const ReportSection& section) {
  std::string text = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table class=\"numbers\">"
      "<caption>{0}</caption>\n<thead><tr>",
      EscapeHtml(section.title));
  const auto style = [&](std::size_t c) { return c < section.left_columns ? " class=\"text\"" : ""; };
  for (std::size_t c = 0; c < section.header.size(); ++c)
    text += fmt::format("<th scope=\"col\"{}>{}</th>", style(c), EscapeHtml(section.header[c]));
  text += "</tr></thead>\n<tbody>\n";
  for (const auto& row : section.rows) {
    text += fmt::format("<tr><th scope=\"row\">{}</th>", EscapeHtml(row.front()));
    for (std::size_t c = 1; c < row.size(); ++c)
      text += fmt::format("<td{}>{}</td>", style(c), EscapeHtml(row[c]));
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string SectionHtml(const ReportSection& section) {
  std::string text = fmt::format("<section>\n<h2>{}</h2>\n", EscapeHtml(section.title));
  if (!section.rows.empty()) text += TableHtml(section);
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
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>berth: "
      "{0}</title>\n<style>\n{1}{2}</style>\n</head>\n"
      "<body>\n<main>\n<h1>{0}</h1>\n<dl>\n",
      EscapeHtml(page.title), BenchData("page.css"), BenchData("plots.css"));
  for (const auto& [what, value] : page.facts)
    text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", EscapeHtml(what), EscapeHtml(value));
  text += "</dl>\n" + figures;
  for (const ReportSection& section : page.sections) text += SectionHtml(section);
  return text + "</main>\n</body>\n</html>\n";
}

}  // namespace berth::bench
