#include "output/console.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/formats/document/source.h"

namespace stowplan::output {
namespace {

// Four significant digits without an exponent for 1 <= value < 100000.
std::string Digits(double value) {
  const int before = value < 1 ? 1 : static_cast<int>(std::floor(std::log10(value))) + 1;
  return fmt::format("{:.{}f}", value, std::clamp(4 - before, 0, 3));
}

std::string LongTime(double seconds) {
  if (seconds >= 3600) {
    const auto minutes = static_cast<std::int64_t>(std::llround(seconds / 60));
    return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
  }
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  return fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

}  // namespace

std::string TimeText(double micros) {
  if (micros == 0) return "0 us";
  if (micros < 1) return Digits(micros * 1000) + " ns";
  if (micros < 1e3) return Digits(micros) + " us";
  if (micros < 1e6) return Digits(micros / 1e3) + " ms";
  if (micros < 300e6) return Digits(micros / 1e6) + " s";
  return LongTime(micros / 1e6);
}

std::string TimeText(sim::Picos picos) {
  return TimeText(sim::ToMicros(picos));
}

std::string SecondsDigits(double seconds) {
  if (seconds <= 0) return "0";
  const int before = static_cast<int>(std::floor(std::log10(seconds))) + 1;
  return fmt::format("{:.{}f}", seconds, std::clamp(3 - before, 0, 6));
}

std::string BytesText(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  while (std::abs(bytes) >= 1000 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.2f} {}", bytes, kUnits[unit]);
}

std::string NeedText(std::int64_t needed, std::int64_t capacity) {
  const std::string need = BytesText(static_cast<double>(needed)),
                    limit = BytesText(static_cast<double>(capacity));
  std::string text = fmt::format("{} of {}", need, limit);
  if (need == limit && needed > capacity)
    text += fmt::format(", {} too much", BytesText(static_cast<double>(needed - capacity)));
  return text;
}

std::string CountText(std::int64_t count) {
  std::string digits = std::to_string(count < 0 ? -count : count);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return (count < 0 ? "-" : "") + digits;
}

std::string RateText(double per_second, std::string_view unit) {
  constexpr std::array<const char*, 4> kPrefixes = {"", "k ", "M ", "G "};
  std::size_t prefix = 0;
  while (per_second >= 1000 && prefix + 1 < kPrefixes.size()) {
    per_second /= 1000;
    ++prefix;
  }
  return fmt::format("{:.{}f} {}{}/s", per_second, per_second < 100 ? 1 : 0, kPrefixes[prefix], unit);
}

std::string Bar(double fraction, int width) {
  const int filled = static_cast<int>(std::lround(std::clamp(fraction, 0.0, 1.0) * width));
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i < filled ? "█" : "░";
  return bar;
}

// Every byte counts that does not continue another.
std::size_t TextWidth(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string_view Prefix(std::string_view text, std::size_t width) {
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80 && width-- == 0) break;
  }
  return text.substr(0, end);
}

std::string Shortened(std::string_view text, std::size_t width) {
  STOWPLAN_CHECK(width > 0);
  const std::size_t all = TextWidth(text), last = width / 2;
  if (all <= width) return std::string(text);
  return fmt::format("{}…{}", Prefix(text, width - 1 - last), text.substr(Prefix(text, all - last).size()));
}

void Print(std::string_view text) {
  fmt::print("{}", formats::Printable(text));
}

void Tell(std::string_view text) {
  TellRaw(formats::Printable(text));
}

void TellRaw(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string Wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  const std::string blanks(indent, ' ');
  std::string lines;
  std::string line = blanks;
  while (!text.empty()) {
    std::size_t end = text.find_first_of(" ,");
    // The comma of "23,851,784" is no place to cut.
    while (end != std::string_view::npos && text[end] == ',' && end + 1 < text.size() &&
           text[end + 1] >= '0' && text[end + 1] <= '9') {
      end = text.find_first_of(" ,", end + 1);
    }
    const std::string_view word = text.substr(0, end == std::string_view::npos ? end : end + 1);
    const bool blank_at_end = word.ends_with(' ');
    if (line.size() > indent && TextWidth(line) + TextWidth(word) - (blank_at_end ? 1 : 0) > width) {
      line.erase(line.find_last_not_of(' ') + 1);
      lines += line + '\n';
      line = blanks;
    }
    line += word;
    text.remove_prefix(word.size());
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line.empty() ? lines : lines + line + '\n';
}

void TellSentence(std::string_view text) {
  if (isatty(STDERR_FILENO) == 0) return Tell(text);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Tell(Wrapped(text.substr(0, end), 0, kLineWidth));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

TextTable::TextTable(std::string_view aligns, const std::vector<std::string>& titles) {
  STOWPLAN_CHECK(aligns.size() == titles.size());
  for (std::size_t c = 0; c < titles.size(); ++c) {
    STOWPLAN_CHECK(aligns[c] == 'l' || aligns[c] == 'r');
    AddColumn(titles[c], aligns[c] == 'l' ? Align::kLeft : Align::kRight);
  }
}

void TextTable::AddColumn(std::string title, Align align) {
  titles_.push_back(std::move(title));
  aligns_.push_back(align);
}

void TextTable::AddRow(std::vector<std::string> cells) {
  rows_.push_back(std::move(cells));
}

std::string TextTable::ToString(int indent) const {
  std::vector<std::size_t> widths;
  for (const std::string& title : titles_) widths.push_back(TextWidth(title));
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < std::min(row.size(), widths.size()); ++c) {
      widths[c] = std::max(widths[c], TextWidth(row[c]));
    }
  }
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line(static_cast<std::size_t>(indent), ' ');
    for (std::size_t c = 0; c < std::min(cells.size(), widths.size()); ++c) {
      const std::string blanks(widths[c] - TextWidth(cells[c]), ' ');
      line += (c == 0 ? "" : "  ") + (aligns_[c] == Align::kLeft ? cells[c] + blanks : blanks + cells[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  };
  add_line(titles_);
  for (const auto& row : rows_) add_line(row);
  return text;
}

}  // namespace stowplan::output
