#include "tables/curve.h"

#include <algorithm>

#include "output/csv.h"

namespace stowplan::tables {
namespace {

// put(word) for each of the words between single blanks.
template <typename Put>
void ForEachWord(std::string_view text, const Put& put) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    put(std::string(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

std::vector<std::pair<double, double>> ParseCurve(std::string_view curve, const std::string& where) {
  std::vector<std::pair<double, double>> points;
  ForEachWord(curve, [&](const std::string& point) {
    const std::size_t colon = std::min(point.find(':'), point.size());
    points.emplace_back(
        output::ParseMeasured(point.substr(0, colon), where + ", curve"),
        output::ParseMeasured(point.substr(std::min(colon + 1, point.size())), where + ", curve"));
  });
  return points;
}

std::vector<double> ParseCurveSeconds(std::string_view seconds, const std::string& where) {
  std::vector<double> values;
  ForEachWord(seconds, [&](const std::string& word) {
    values.push_back(output::ParseMeasured(word, where + ", seconds of curve"));
  });
  return values;
}

}  // namespace stowplan::tables
