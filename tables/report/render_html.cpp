// One self-contained page. The first screen is the verdict: the outcome in a few sentences, the published columns with
// the best search and the proven bound. Everything else is reached by the contents list, or opened when asked for.
#include <algorithm>

#include <fmt/format.h>

#include "output/html.h"
#include "tables/report/figures.h"
#include "tables/report/rendered_table.h"

namespace stowplan::tables {
namespace {

// What is long is shown when it is asked for.
constexpr std::size_t kMostFigures = 8;
// A table with more rows than this does not fit a phone when it lies on its side.
constexpr std::size_t kMostOnSide = 6;

std::string Attribute(const std::string& text) {
  std::string escaped;
  for (const char c : output::EscapeHtml(text)) {
    if (c == '\n') {
      escaped += "&#10;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

// Where a column that is shown on demand belongs.
std::string GroupAttributes(const RenderedColumn& column) {
  return column.shown ? "" : fmt::format(" data-group=\"{}\" hidden", MarkOf(column.group));
}

// What rows are sorted by: seconds, or the number that stands there.
std::string SortValue(const RenderedCell& cell) {
  if (cell.ours_seconds) return fmt::format("{}", *cell.ours_seconds);
  const bool number = !cell.ours.empty() && cell.ours.find_first_not_of("0123456789.") == std::string::npos;
  return number ? cell.ours : "";
}

std::string CellHtml(const RenderedCell& cell, const std::string& attributes, bool interval = false) {
  std::string text = output::EscapeHtml(cell.ours);
  if (interval && !cell.spread.empty())
    text += fmt::format(" <span class=\"soft\">{}</span>", output::EscapeHtml(cell.spread));
  if (!cell.by.empty())
    text = fmt::format("<span class=\"by soft\">{}</span> ", output::EscapeHtml(cell.by)) + text;
  if (!cell.kind.empty()) text += fmt::format("<abbr>{}</abbr>", cell.kind.substr(0, 1));
  if (!cell.remark.empty()) text += " <span class=\"differs\">!</span>";
  if (!cell.published.empty())
    text += fmt::format(" <span class=\"theirs\">({})</span>", output::EscapeHtml(cell.published));
  std::string value = SortValue(cell);
  if (!value.empty()) value = fmt::format(" data-v=\"{}\"", value);
  const std::string tip = cell.tip.empty() ? "" : fmt::format(" title=\"{}\"", Attribute(cell.tip));
  return fmt::format("<td{}{}{}>{}</td>", attributes, value, tip, text);
}

std::string HeadCell(const std::string& title, const std::string& attributes = "") {
  return fmt::format("<th scope=\"col\"{}>{}</th>", attributes, output::EscapeHtml(title));
}

// Boxes for the groups of columns that are not shown at first.
std::string ChoiceHtml(const RenderedBlock& block) {
  std::string boxes;
  for (const ColumnGroup group : ColumnGroups()) {
    const auto hidden =
        std::count_if(block.columns.begin(), block.columns.end(),
                      [&](const RenderedColumn& column) { return !column.shown && column.group == group; });
    if (hidden > 0)
      boxes += fmt::format("<label><input type=\"checkbox\" value=\"{}\"> {} ({})</label>\n", MarkOf(group),
                           TitleOf(group), hidden);
  }
  if (boxes.empty()) return {};
  return "<fieldset class=\"choice\" hidden><legend>More columns:</legend>\n" + boxes + "</fieldset>\n";
}

std::string ResultsTable(const RenderedBlock& block) {
  const bool best = block.HasBest(), bound = block.HasBound();
  std::size_t shown = 1 + (best ? 1 : 0) + (bound ? 1 : 0);
  for (const RenderedColumn& column : block.columns) shown += column.shown ? 1 : 0;
  std::string text = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\n<table class=\"results{1}\" "
      "style=\"--cells:{2}\" aria-label=\"{0}\">\n<thead><tr>{3}",
      output::EscapeHtml(block.title + ". " + block.shows),
      std::string(block.lines.size() <= kMostOnSide ? " flips" : "") + (best ? "" : " summary"), shown,
      HeadCell(block.row_title));
  for (const RenderedColumn& column : block.columns) text += HeadCell(column.title, GroupAttributes(column));
  if (best) text += HeadCell("best search");
  if (bound) text += HeadCell("bound");
  text += "</tr></thead>\n<tbody>\n";
  for (const RenderedLine& line : block.lines) {
    const std::string gpus = line.gpus.empty() ? "" : fmt::format(" <small>{} GPUs</small>", line.gpus);
    text += fmt::format("<tr><th scope=\"row\"{}>{}{}</th>",
                        line.what.empty() ? "" : fmt::format(" title=\"{}\"", Attribute(line.what)),
                        output::EscapeHtml(line.title), gpus);
    for (std::size_t c = 0; c < line.cells.size(); ++c)
      text += CellHtml(line.cells[c], GroupAttributes(block.columns[c]), block.intervals);
    if (best) text += line.best ? CellHtml(*line.best, " class=\"best\"") : "<td>–</td>";
    if (bound)
      text += line.bound_seconds ? fmt::format("<td data-v=\"{}\">{}</td>", *line.bound_seconds, line.bound)
                                 : "<td>–</td>";
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n" + ChoiceHtml(block);
}

// A section that the contents list names.
class Page {
 public:
  void Add(const std::string& title, const std::string& html) {
    const std::size_t id = ++sections_;
    toc_ += fmt::format("<li><a href=\"#s{}\">{}</a></li>\n", id, output::EscapeHtml(title));
    rest_ +=
        fmt::format("<section id=\"s{}\">\n<h2>{}</h2>\n{}</section>\n", id, output::EscapeHtml(title), html);
  }
  std::string Print(const std::string& first) const {
    return fmt::format(
        "<div class=\"paged\">\n<section>\n{}</section>\n<nav class=\"toc\" "
        "aria-label=\"Contents\">\n<ul>\n{}</ul>\n"
        "</nav>\n<div>\n{}</div>\n</div>\n",
        first, toc_, rest_);
  }

 private:
  std::size_t sections_ = 0;
  std::string toc_, rest_;
};

std::string Paragraph(const std::string& text, const char* style = "") {
  return text.empty() ? "" : fmt::format("<p{}>{}</p>\n", style, output::EscapeHtml(text));
}

std::string Facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string text = "<dl>\n";
  for (const auto& [what, value] : facts)
    text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", output::EscapeHtml(what), output::EscapeHtml(value));
  return text + "</dl>\n";
}

std::string Sentences(const std::vector<std::string>& sentences) {
  const bool list = sentences.size() > 2;
  std::string text = list ? "<ul>\n" : "";
  for (const std::string& sentence : sentences)
    text += fmt::format("<{0}>{1}</{0}>\n", list ? "li" : "p", output::EscapeHtml(sentence));
  return text + (list ? "</ul>\n" : "");
}

std::string SectionHtml(const output::ReportSection& section) {
  std::string text = Sentences(section.sentences);
  if (!section.rows.empty()) text += output::TableHtml(section.title, "plain", section.header, section.rows);
  return output::FoldHtml(section.title, text);
}

std::string ClaimsHtml(const RenderedClaims& claims) {
  std::string text = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table class=\"plain\" "
      "aria-label=\"{0}\">\n<thead><tr><th scope=\"col\">claim</th><th scope=\"col\">ours</th><th "
      "scope=\"col\">verdict</th></tr></thead>\n<tbody>\n",
      claims.title);
  for (const RenderedClaim& claim : claims.claims) {
    const char* style = claim.verdict == "holds" ? " yes" : claim.verdict == "does not hold" ? " no" : "";
    text +=
        fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"verdict{}\">{}</td></tr>\n",
                    output::EscapeHtml(claim.claim), output::EscapeHtml(claim.ours), style, claim.verdict);
  }
  return text + "</tbody></table></div>\n";
}

std::string FoldMany(std::size_t count, const std::string& what, const std::string& html) {
  return count > kMostFigures ? output::FoldHtml(fmt::format("{} {}", count, what), html) : html;
}

void AddFigures(const RenderedTable& table, Page& page) {
  if (!table.charts.empty())
    page.Add(table.charts_title, Paragraph(table.charts_note) +
                                     FoldMany(table.charts.size(), "figures", CurveFigures(table.charts)));
}

// A block behind the first one, or all of them where a summary stands before.
std::string BlockHtml(const RenderedBlock& block) {
  std::string text =
      Paragraph(block.note) + Paragraph(block.shows + ".", " class=\"soft\"") + ResultsTable(block);
  if (!block.dots) return text;
  if (const std::string dots = DotFigures(block); !dots.empty())
    text += output::FoldHtml("the same as dots", dots);
  return text;
}

}  // namespace

std::string RenderHtml(const RenderedTable& table) {
  const RenderedBlock* verdict = table.Verdict();
  std::string outcome;
  for (const std::string& sentence : table.outcome) outcome += (outcome.empty() ? "" : " ") + sentence;
  const std::string first =
      fmt::format("<h1>{}</h1>\n", output::EscapeHtml(table.title)) + Paragraph(outcome, " class=\"lead\"") +
      (verdict == nullptr ? ""
                          : ResultsTable(*verdict) +
                                Paragraph(verdict->shows + ". " + table.short_legend, " class=\"soft\""));
  Page page;
  page.Add("What this is", (table.facts.empty() ? "" : Facts(table.facts)) + Paragraph(table.legend));
  if (verdict != nullptr && verdict->dots) {
    if (const std::string dots = DotFigures(*verdict); !dots.empty())
      page.Add("Beside the best found", FoldMany(verdict->lines.size(), "figures", dots));
  }
  AddFigures(table, page);
  for (const RenderedClaims& claims : table.claims_in_brief) page.Add(claims.title, ClaimsHtml(claims));
  if (!table.claims.empty()) page.Add("Each claim", SectionHtml(EachClaim(table)));
  for (const RenderedBlock& block : table.blocks) {
    if (&block != verdict) page.Add(block.title, BlockHtml(block));
  }
  if (!table.timelines.empty())
    page.Add("Timelines", fmt::format("<p>One step of the best placement of each row, in {} slices.</p>\n{}",
                                      kTimelineParts,
                                      output::FoldHtml(fmt::format("{} timelines", table.timelines.size()),
                                                       TimelineFigures(table.timelines))));
  std::string discussion;
  for (const output::ReportSection& section : table.discussion) discussion += SectionHtml(section);
  page.Add("Discussion", discussion);
  page.Add("Where it comes from", Facts(table.provenance));
  return output::PrintPage(table.name, page.Print(first));
}

}  // namespace stowplan::tables
