// What every page of HTML is made of. A page fetches nothing: style sheet, scripts and numbers stand in it, and its
// policy forbids everything else.
#pragma once

#include <string>
#include <vector>

namespace stowplan::output {

std::string EscapeHtml(const std::string& text);

// What one kind of page has beside what all have.
struct PageParts {
  std::string style;   // CSS
  std::string data;    // JSON, in the element #run
  std::string script;  // run last
};

// A whole page. `main`: the HTML between <main> and </main>; with it come output/data/page.css, d3.js and page.js, which
// draws figures (FigureHtml).
std::string PrintPage(const std::string& title, const std::string& main, const PageParts& parts = {});

// What is opened when it is asked for, by mouse or keyboard.
std::string FoldHtml(const std::string& summary, const std::string& html);

// A table that scrolls inside its own region. `style`: "plain" (text) or "numbers" (the first `left_columns` are text).
// The first column heads its row; each row is as long as the header.
std::string TableHtml(const std::string& title, const std::string& style,
                      const std::vector<std::string>& header,
                      const std::vector<std::vector<std::string>>& rows, std::size_t left_columns = 1);

// A drawing that page.js makes of `json` when the page is opened. `kind`: a function of `draw` in page.js; `spoken`: what
// it says, for who cannot see it; `more`: HTML under it, the numbers as text above all.
std::string FigureHtml(const std::string& kind, const std::string& title, const std::string& spoken,
                       const std::string& json, const std::string& more);

// A number of JSON with four digits, and points [[x,y],…].
std::string JsonNumber(double value);
std::string JsonPoints(const std::vector<std::pair<double, double>>& points);

}  // namespace stowplan::output
