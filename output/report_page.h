// A report as text for a screen or a file, and as one page of HTML that fetches nothing: facts, tables, sentences.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace stowplan::output {

// A table with sentences under it, or one of both.
struct ReportSection {
  std::string title;
  std::vector<std::string> sentences;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::size_t left_columns = 1;  // text; the others are numbers
  bool folded = false;           // on a page its table is shown on demand
};

struct ReportPage {
  std::string title;
  std::string lead = {};                                   // what it all says, in a sentence
  std::vector<std::pair<std::string, std::string>> facts;  // machine, driver, …
  std::vector<ReportSection> sections;
};

std::string PrintReportText(const ReportPage& page);
std::string PrintReportMarkdown(const ReportPage& page);
// `figures`: HTML that stands behind the first section; the facts stand at the end.
std::string PrintReportHtml(const ReportPage& page, const std::string& figures);

}  // namespace stowplan::output
