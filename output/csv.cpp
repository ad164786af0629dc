#include "output/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/error.h"

namespace stowplan::output {
namespace {

// Reads one field that starts at `at`; leaves `at` on the separator behind it or at the end.
std::string ReadField(std::string_view text, std::size_t& at, const std::string& source, std::size_t line) {
  std::string field;
  if (at >= text.size() || text[at] != '"') {
    while (at < text.size() && text[at] != ',' && text[at] != '\n') field += text[at++];
    if (!field.empty() && field.back() == '\r') field.pop_back();
    return field;
  }
  for (++at; at < text.size(); ++at) {
    if (text[at] != '"') {
      field += text[at];
    } else if (at + 1 < text.size() && text[at + 1] == '"') {
      field += text[at++];
    } else {
      ++at;
      if (at < text.size() && text[at] == '\r') ++at;
      return field;
    }
  }
  throw InputError(fmt::format("{}:{}: a quoted field does not end.", source, line));
}

// Whether a field, behind any apostrophes, would be taken for a formula.
bool IsFormula(std::string_view field) {
  const std::size_t first = std::min(field.find_first_not_of('\''), field.size());
  if (first == field.size() || std::string_view("=+-@\t\r").find(field[first]) == std::string_view::npos)
    return false;
  if (first > 0) return true;  // else it would lose its own apostrophe
  const std::string_view digits = field.substr(field[0] == '+' ? 1 : 0);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error != std::errc() || end != digits.data() + digits.size();
}

template <typename Number>
Number Parsed(const std::string& field, const std::string& where, const char* wanted) {
  Number value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (error != std::errc() || end != field.data() + field.size())
    throw InputError(fmt::format("{}: \"{}\" stands where {} is wanted.", where, field, wanted));
  return value;
}

}  // namespace

std::string PrintCsvLine(const CsvLine& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) line += ',';
    const std::string field = (IsFormula(fields[i]) ? "'" : "") + fields[i];
    if (field.find_first_of(",\"\n\r") == std::string::npos) {
      line += field;
      continue;
    }
    line += '"';
    for (const char c : field) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + '\n';
}

std::vector<CsvLine> ParseCsv(std::string_view text, const std::string& source, bool comments) {
  std::vector<CsvLine> lines;
  std::size_t number = 1;
  for (std::size_t at = 0; at < text.size(); ++number) {
    if (comments && text[at] == '#') {
      at = std::min(text.find('\n', at), text.size() - 1) + 1;
      continue;
    }
    CsvLine fields;
    for (;;) {
      std::string& field = fields.emplace_back(ReadField(text, at, source, number));
      if (field.starts_with('\'') && IsFormula(field)) field.erase(0, 1);
      if (at >= text.size() || text[at] != ',') break;
      ++at;
    }
    if (at < text.size() && text[at] != '\n') {
      throw InputError(fmt::format(
          "{}:{}: text behind a quoted field; a comma or the end of the line is wanted.", source, number));
    }
    ++at;
    if (fields.size() > 1 || !fields[0].empty()) lines.push_back(std::move(fields));
  }
  return lines;
}

double ParseNumber(const std::string& field, const std::string& where) {
  return Parsed<double>(field, where, "a number");
}

double ParseMeasured(const std::string& field, const std::string& where) {
  const double value = ParseNumber(field, where);
  if (!std::isfinite(value) || value < 0)
    throw InputError(
        fmt::format("{}: \"{}\" stands where a finite number of at least 0 is wanted.", where, field));
  return value;
}

std::int64_t ParseWholeNumber(const std::string& field, const std::string& where) {
  return Parsed<std::int64_t>(field, where, "a whole number");
}

}  // namespace stowplan::output
