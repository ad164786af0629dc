#include "sim/formats/document/json_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <nlohmann/json.hpp>

#include "sim/base/error.h"
#include "sim/formats/document/decimal.h"
#include "sim/formats/document/document_builder.h"
#include "sim/formats/document/source.h"

namespace stowplan::formats {
namespace {

// "[json.exception.parse_error.101] parse error at line 1, column 9: what" -> "what".
std::string Explanation(const std::string& message) {
  constexpr std::size_t kShown = 200;
  std::string text = message;
  const auto bracket = text.find("] ");
  if (bracket != std::string::npos) text.erase(0, bracket + 2);
  if (text.starts_with("parse error")) {
    const auto colon = text.find(": ");
    if (colon != std::string::npos) text.erase(0, colon + 2);
  }
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return text;
}

// A real is an exact whole number if its text is one and double holds it without loss.
bool IsExactInteger(double value, const std::string& text) {
  constexpr double kLimit = 9.2e18;  // below 2^63
  if (std::trunc(value) != value || std::fabs(value) > kLimit) return false;
  const auto decimal = ParseDecimal(text);
  const auto exact = decimal ? ToExactInteger(*decimal) : std::nullopt;
  return exact && *exact == static_cast<std::int64_t>(value);
}

// Room for all of them at once: growing, a document of many would take twice as much for a moment. Commas and brackets in texts
// count too; what is not needed is never touched.
std::size_t MostNodes(std::string_view text) {
  const auto begins = std::ranges::count_if(text, [](char c) { return c == ',' || c == '[' || c == '{'; });
  return static_cast<std::size_t>(begins) + 1;
}

// Takes the events of nlohmann's parser, which checks the grammar. The names are its interface;
// what is wrong leaves by InputError, so every event answers "go on".
class Handler {
 public:
  Handler(std::string_view text, const std::string& source)
      : text_(text), source_(source), builder_(source, text.size(), MostNodes(text)) {}

  bool null() { return builder_.Null(), true; }
  bool boolean(bool value) { return builder_.Bool(value), true; }
  bool number_integer(std::int64_t value) { return builder_.Integer(value), true; }
  bool number_unsigned(std::uint64_t value) {
    constexpr auto kTop = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value > kTop) return builder_.Real(static_cast<double>(value), false, std::to_string(value)), true;
    return builder_.Integer(static_cast<std::int64_t>(value)), true;
  }
  bool number_float(double value, const std::string& text) {
    return builder_.Real(value, IsExactInteger(value, text), text), true;
  }
  bool string(const std::string& value) { return builder_.String(value), true; }
  bool binary(const std::vector<std::uint8_t>&) { return true; }  // never called for JSON
  bool start_object(std::size_t) { return builder_.BeginObject(), true; }
  bool key(const std::string& value) { return builder_.Key(value), true; }
  bool end_object() { return builder_.End(), true; }
  bool start_array(std::size_t) { return builder_.BeginList(), true; }
  bool end_array() { return builder_.End(), true; }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) {
    const bool too_large = error.id == 406;  // out_of_range: a number beyond double
    throw InputError(source_ + ":" + LineAndColumn(text_, position == 0 ? 0 : position - 1) +
                     (too_large ? ": " : ": is not valid JSON: ") + Explanation(error.what()));
  }

  Document Finish() { return builder_.Finish(); }

 private:
  std::string_view text_;
  const std::string& source_;
  DocumentBuilder builder_;
};

}  // namespace

Document ParseJson(std::string_view text, const std::string& source) {
  CheckUtf8(text, source);
  Handler handler(text, source);
  nlohmann::json::sax_parse(text.begin(), text.end(), &handler);
  return handler.Finish();
}

}  // namespace stowplan::formats
