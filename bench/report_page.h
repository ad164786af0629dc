// Tables with sentences below them, as a page: for a terminal, as Markdown, and as one file of HTML that fetches nothing.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace berth::bench {

// A table with sentences below it, or either alone.
struct ReportSection {
  std::string title;
  std::vector<std::string> sentences;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::size_t left_columns = 1;  // text; the others are numbers
};

struct ReportPage {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;  // machine, driver, …
  std::vector<ReportSection> sections;
};

std::string PrintPage(const ReportPage& page);
std::string PrintPageMarkdown(const ReportPage& page);
// figures: HTML between the facts and the sections; may be empty.
std::string PrintPageHtml(const ReportPage& page, const std::string& figures);

}  // namespace berth::bench
