// What the program writes for people: aligned tables, numbers with units, bars. Plain text in UTF-8; widths are
// counted in code points.
//
// What a file says must not speak to the terminal, wherever it comes from: all that goes there goes through Print(), Tell() or
// TellSentence(), which show control characters as `?`. Documents (--json -) escape them by themselves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"

namespace stowplan::output {

// "812.5 us", "1.184 s", "2 h 05 min": four significant digits, the unit that keeps the number above 1.
std::string TimeText(double micros);
std::string TimeText(sim::Picos picos);
// Three significant digits, no exponent, no unit: "1.57", "0.152", "12.5".
std::string SecondsDigits(double seconds);
// "9.12 GB": powers of 1000, as data sheets and the papers count.
std::string BytesText(double bytes);
// "11.70 GB of 11.68 GB"; what is too much besides, where the two would read as equal: "…, 1.25 MB too much".
std::string NeedText(std::int64_t needed, std::int64_t capacity);
// "12,345,678"
std::string CountText(std::int64_t count);
// "12.3 M/s"; `unit` is what is counted: RateText(1.2e7, "ops") = "12.0 M ops/s".
std::string RateText(double per_second, std::string_view unit);
// A bar of `width` cells filled to `fraction` (clamped to [0, 1]).
std::string Bar(double fraction, int width);

// Of a terminal, as far as what is written counts on it.
inline constexpr std::size_t kLineWidth = 80;

// Code points of a UTF-8 text.
std::size_t TextWidth(std::string_view text);

// The first `width` code points of a text.
std::string_view Prefix(std::string_view text, std::size_t width);

// What names of a file may take in a table.
inline constexpr std::size_t kNameColumns = 34;

// "a_very_lo…_name": a text of any length in at most `width` > 0 columns; its beginning and its end stay.
std::string Shortened(std::string_view text, std::size_t width = kNameColumns);

// Writes to standard output. Throws as fmt::print does where that cannot be written.
void Print(std::string_view text);

// Writes to standard error. Where that is closed or full nothing is said: no work ends because nobody listens.
void Tell(std::string_view text);

// The same, and what moves the cursor is left as it is: for lines that are drawn over, of parts that are Printable().
void TellRaw(std::string_view text);

// Lines of at most `width` columns, cut at blanks and behind commas where that is possible, each behind
// `indent` blanks and with '\n' at its end.
std::string Wrapped(std::string_view text, std::size_t indent, std::size_t width);

// Sentences that end in '\n', to standard error: wrapped where that is a terminal, one line each where a program may read them.
void TellSentence(std::string_view text);

// Columns of text, aligned. Cells may be empty; a row may be shorter than the header.
class TextTable {
 public:
  enum class Align : std::uint8_t { kLeft, kRight };

  TextTable() = default;
  // A letter for each title: l left, r right.
  TextTable(std::string_view aligns, const std::vector<std::string>& titles);

  void AddColumn(std::string title, Align align = Align::kLeft);
  void AddRow(std::vector<std::string> cells);
  // Lines end in '\n' and carry no trailing blanks; each starts with `indent` blanks.
  std::string ToString(int indent = 0) const;
  bool empty() const { return rows_.empty(); }

 private:
  std::vector<std::string> titles_;
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace stowplan::output
