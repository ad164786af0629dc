// Texts of files in documents of others: there they are text, whatever they hold. HTML: html.h; CSV: csv.h; terminals: console.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stowplan::output {

// In the text of a LaTeX document, also as a cell of a table or the argument of a command.
std::string EscapeLatex(std::string_view text);

// In a paragraph of Markdown: no HTML, no link.
std::string EscapeMarkdown(std::string_view text);

// The line of a table in Markdown; cells may be any text.
std::string MarkdownRow(const std::vector<std::string>& cells);

// A span of code in Markdown.
std::string MarkdownCode(std::string_view text);

}  // namespace stowplan::output
