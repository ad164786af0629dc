// One self-contained page: no script, nothing fetched; light and dark; a table scrolls inside its own region
// on a phone, can be reached by keyboard, and says with letters what it says with colours.
#include <algorithm>

#include <fmt/format.h>

#include "BenchData.h"
#include "bench/tables/html.h"

namespace berth::bench {
namespace {

std::string CellHtml(const RenderedCell& cell) {
  std::string text = EscapeHtml(cell.ours);
  if (!cell.kind.empty())
    text += fmt::format(" <abbr title=\"{0}\">{1}</abbr>", cell.kind, cell.kind.substr(0, 1));
  if (!cell.remark.empty())
    text += fmt::format(" <span class=\"differs\" title=\"{}\">!</span>", EscapeHtml(cell.remark));
  if (!cell.spread.empty()) text += fmt::format("<span class=\"spread\">{}</span>", EscapeHtml(cell.spread));
  if (!cell.published.empty())
    text += fmt::format("<span class=\"theirs\">({})</span>", EscapeHtml(cell.published));
  return "<td>" + text + "</td>";
}

bool HasBounds(const RenderedBlock& block) {
  return std::any_of(block.lines.begin(), block.lines.end(),
                     [](const RenderedLine& line) { return line.bound_seconds.has_value(); });
}

std::string ResultsTable(const RenderedTable& table, const RenderedBlock& block) {
  std::string text = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\n<table class=\"results\">\n"
      "<caption><span>{1}: {0}. {2}.</span></caption>\n<thead><tr><th "
      "scope=\"col\">workload</th>"
      "<th scope=\"col\">GPUs</th>",
      EscapeHtml(block.title), EscapeHtml(table.name), EscapeHtml(block.shows));
  for (const std::string& column : block.columns)
    text += fmt::format("<th scope=\"col\">{}</th>", EscapeHtml(column));
  if (HasBounds(block)) text += "<th scope=\"col\">lower bound</th>";
  text += "</tr></thead>\n<tbody>\n";
  for (const RenderedLine& line : block.lines) {
    text += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td>", EscapeHtml(line.title), line.gpus);
    for (const RenderedCell& cell : line.cells) text += CellHtml(cell);
    if (HasBounds(block)) text += fmt::format("<td>{}</td>", line.bound.empty() ? "–" : line.bound);
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string BlockHtml(const RenderedTable& table, const RenderedBlock& block) {
  std::string text = fmt::format("<section>\n<h2>{}</h2>\n<p>{}</p>\n{}", EscapeHtml(block.title),
                                 EscapeHtml(block.note), ResultsTable(table, block));
  if (block.bars) text += "<h3>The same as bars</h3>\n" + HtmlBars(block);
  text += "<h3>Rows</h3>\n<ul>\n";
  for (const RenderedLine& line : block.lines) {
    text += fmt::format("<li>{}, {} GPUs: <code>{}</code></li>\n", EscapeHtml(line.title), line.gpus,
                        EscapeHtml(line.what));
  }
  return text + "</ul>\n</section>\n";
}

// What is long is shown when it is asked for, by mouse or keyboard.
constexpr std::size_t kLongest = 40;
std::string Folded(std::size_t parts, const std::string& what, const std::string& text) {
  if (parts <= kLongest) return text;
  return fmt::format("<details><summary>{} {}</summary>\n{}</details>\n", parts, what, text);
}

std::string ChartsHtml(const RenderedTable& table) {
  if (table.charts.empty()) return {};
  return fmt::format("<section>\n<h2>{}</h2>\n<p>{}</p>\n{}</section>\n", EscapeHtml(table.charts_title),
                     EscapeHtml(table.charts_note), HtmlCharts(table.charts));
}

std::string SectionHtml(const RenderedSection& section) {
  std::string text = fmt::format("<h3>{}</h3>\n", EscapeHtml(section.title));
  const bool list = section.sentences.size() > 2;
  if (list) text += "<ul>\n";
  for (const std::string& sentence : section.sentences) {
    text += fmt::format("<{0}>{1}</{0}>\n", list ? "li" : "p", EscapeHtml(sentence));
  }
  if (list) text += "</ul>\n";
  if (section.rows.empty()) return text;
  std::string rows = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table "
      "class=\"plain\"><caption>{0}</caption>"
      "<thead><tr>",
      EscapeHtml(section.title));
  for (const std::string& title : section.header)
    rows += fmt::format("<th scope=\"col\">{}</th>", EscapeHtml(title));
  rows += "</tr></thead>\n<tbody>\n";
  for (const auto& row : section.rows) {
    rows += fmt::format("<tr><th scope=\"row\">{}</th>", EscapeHtml(row.front()));
    for (std::size_t c = 1; c < row.size(); ++c) rows += fmt::format("<td>{}</td>", EscapeHtml(row[c]));
    rows += "</tr>\n";
  }
  return text + Folded(section.rows.size(), "rows", rows + "</tbody></table></div>\n");
}

}  // namespace

std::string EscapeHtml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string RenderHtml(const RenderedTable& table) {
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, "
      "initial-scale=1\">\n<title>berth: "
      "{0}</title>\n<style>\n{1}</style>\n</head>\n<body>\n<main>\n<h1>{2}</h1>\n<p class=\"soft\">Table "
      "<code>{0}</code> of berth</p>\n<p>{3}</p>\n",
      EscapeHtml(table.name), BenchData("page.css"), EscapeHtml(table.title), EscapeHtml(table.legend));
  if (table.charts_first) text += ChartsHtml(table);
  for (const RenderedBlock& block : table.blocks) text += BlockHtml(table, block);
  if (!table.charts_first) text += ChartsHtml(table);
  if (!table.timelines.empty()) {
    text += fmt::format(
        "<section>\n<h2>Timelines</h2>\n<p>One step of the best placement of each row, in {} "
        "slices.</p>\n{}</section>\n",
        kTimelineParts, Folded(table.timelines.size(), "timelines", HtmlTimelines(table.timelines)));
  }
  text += "<section>\n<h2>Discussion</h2>\n";
  for (const RenderedSection& section : table.discussion) text += SectionHtml(section);
  text += "</section>\n<section>\n<h2>Where it comes from</h2>\n<dl>\n";
  for (const auto& [what, value] : table.provenance) {
    text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", EscapeHtml(what), EscapeHtml(value));
  }
  return text + "</dl>\n</section>\n</main>\n</body>\n</html>\n";
}

}  // namespace berth::bench
