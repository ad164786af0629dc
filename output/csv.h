// Comma-separated text, RFC 4180: fields with commas, quotes or line breaks are quoted, quotes inside are
// doubled. A field that a spreadsheet would take for a formula (it begins with = + - @, a tab or a carriage return, and is no
// number) gets an apostrophe in front, which ParseCsv() takes away.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stowplan::output {

using CsvLine = std::vector<std::string>;

std::string PrintCsvLine(const CsvLine& fields);  // ends in '\n'

// All lines; empty ones and, with `comments`, those that start with '#' are left out. Throws InputError,
// naming `source` and the line, for an open quote.
std::vector<CsvLine> ParseCsv(std::string_view text, const std::string& source, bool comments = false);

// A field that must be a number, inf and nan included. Throws InputError that begins with `where`.
double ParseNumber(const std::string& field, const std::string& where);
// A time or a count, which is finite and not negative, in the same way.
double ParseMeasured(const std::string& field, const std::string& where);
// A whole number of 64 bits, in the same way.
std::int64_t ParseWholeNumber(const std::string& field, const std::string& where);

}  // namespace stowplan::output
