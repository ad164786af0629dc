#include "output/html.h"

#include <fmt/format.h>

#include "OutputData.h"

namespace stowplan::output {
namespace {

// JSON whose texts neither end a script element nor begin a comment in it.
std::string InScript(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
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

std::string PrintPage(const std::string& title, const std::string& main, const PageParts& parts) {
  std::string own;
  if (!parts.data.empty())
    own += fmt::format("<script type=\"application/json\" id=\"run\">{}</script>\n", InScript(parts.data));
  if (!parts.script.empty()) own += fmt::format("<script>\n{}</script>\n", parts.script);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<title>stowplan: {}</title>\n<style>\n{}{}</style>\n"
      "</head>\n"
      "<body>\n<main>\n{}</main>\n<div id=\"tip\" role=\"tooltip\" hidden></div>\n<script>{}</script>\n"
      "<script>\n{}</script>\n{}</body>\n</html>\n",
      EscapeHtml(title), OutputData("page.css"), parts.style, main, OutputData("d3.js"),
      OutputData("page.js"), own);
}

std::string FoldHtml(const std::string& summary, const std::string& html) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", EscapeHtml(summary), html);
}

std::string TableHtml(const std::string& title, const std::string& style,
                      const std::vector<std::string>& header,
                      const std::vector<std::vector<std::string>>& rows, std::size_t left_columns) {
  std::string text = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table class=\"{1}\">"
      "<caption>{0}</caption>\n<thead><tr>",
      EscapeHtml(title), style);
  const auto is_text = [&](std::size_t c) {
    return style == "numbers" && c < left_columns ? " class=\"text\"" : "";
  };
  for (std::size_t c = 0; c < header.size(); ++c)
    text += fmt::format("<th scope=\"col\"{}>{}</th>", is_text(c), EscapeHtml(header[c]));
  text += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    text += fmt::format("<tr><th scope=\"row\">{}</th>", EscapeHtml(row.front()));
    for (std::size_t c = 1; c < row.size(); ++c)
      text += fmt::format("<td{}>{}</td>", is_text(c), EscapeHtml(row[c]));
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string FigureHtml(const std::string& kind, const std::string& title, const std::string& spoken,
                       const std::string& json, const std::string& more) {
  return fmt::format(
      "<figure data-kind=\"{}\"><figcaption>{}</figcaption>\n<div class=\"drawing\" role=\"img\" "
      "aria-label=\"{}\"></div>\n<script type=\"application/json\">{}</script>\n{}</figure>\n",
      kind, EscapeHtml(title), EscapeHtml(spoken), InScript(json), more);
}

std::string JsonNumber(double value) {
  return fmt::format("{:.4g}", value);
}

std::string JsonPoints(const std::vector<std::pair<double, double>>& points) {
  std::string json;
  for (const auto& [x, y] : points)
    json += fmt::format("{}[{},{}]", json.empty() ? "" : ",", JsonNumber(x), JsonNumber(y));
  return "[" + json + "]";
}

}  // namespace stowplan::output
