#include "output/markup.h"

#include <algorithm>
#include <array>
#include <utility>

namespace stowplan::output {

std::string EscapeLatex(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kWritten = {{
      {"&", "\\&"},
      {"%", "\\%"},
      {"$", "\\$"},
      {"#", "\\#"},
      {"_", "\\_"},
      {"{", "\\{"},
      {"}", "\\}"},
      {"\\", "\\textbackslash{}"},
      {"^", "\\textasciicircum{}"},
      {"~", "\\textasciitilde{}"},
      {"–", "--"},
      {"\n", " "},  // an empty line ends the argument of a command
  }};
  // Behind \\ and \midrule these would begin their argument.
  std::string escaped = text.starts_with('[') || text.starts_with('*') ? "{}" : "";
  while (!text.empty()) {
    std::string_view written = text.substr(0, 1);
    std::size_t length = 1;
    for (const auto& [special, as] : kWritten) {
      if (!text.starts_with(special)) continue;
      written = as;
      length = special.size();
    }
    escaped += written;
    text.remove_prefix(length);
  }
  return escaped;
}

std::string EscapeMarkdown(std::string_view text) {
  std::string escaped;
  char before = '\0';
  for (const char c : text) {
    if (c == '<' || (c == '(' && before == ']')) escaped += '\\';
    escaped += c;
    before = c;
  }
  return escaped;
}

std::string MarkdownRow(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& text : cells) {
    std::string cell = EscapeMarkdown(text);
    std::ranges::replace(cell, '\n', ' ');
    for (std::size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2) cell.insert(at, "\\");
    line += " " + cell + " |";
  }
  return line + "\n";
}

std::string MarkdownCode(std::string_view text) {
  std::string code = "`";
  for (const char c : text) code += c == '`' ? '\'' : c == '\n' ? ' ' : c;
  return code + "`";
}

}  // namespace stowplan::output
