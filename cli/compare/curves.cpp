#include "cli/compare/curves.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "output/console.h"
#include "output/html.h"
#include "sim/formats/document/json_text.h"

namespace stowplan::cli {
namespace {

using Points = std::vector<std::pair<double, double>>;

// Of lines in page.css, colour and dashes.
constexpr std::size_t kStyles = 10;

// Of the seed in the middle; of an even number the later one.
Points MedianCurve(const tables::CellSummary& cell) {
  std::vector<const tables::CellRecord*> sorted;
  for (const tables::CellRecord& record : cell.records) {
    if (record.runtime_us) sorted.push_back(&record);
  }
  std::ranges::sort(sorted, {}, [](const auto* record) { return *record->runtime_us; });
  return tables::CurvePoints(*sorted[sorted.size() / 2]);
}

}  // namespace

std::string ComparisonCurvesHtml(const tables::TableResults& results) {
  const tables::TableBlock& block = results.table().blocks.front();
  const tables::TableLine& line = block.lines.front();
  std::vector<std::pair<std::string, Points>> curves;
  for (const tables::TableColumn& column : block.columns) {
    const tables::CellSummary& cell = results.At(block.key, line.key, column.key);
    if (cell.sampled && cell.median) curves.emplace_back(column.title, MedianCurve(cell));
  }
  if (curves.empty()) return {};
  std::ranges::sort(curves, {}, [](const auto& curve) { return curve.second.back().second; });
  if (curves.size() > kStyles) curves.resize(kStyles);  // more cannot be told apart
  std::string series, spoken = "Best seconds per step against samples.", key = "<p class=\"key\">";
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const auto& [name, points] = curves[i];
    const std::string last = output::SecondsDigits(points.back().second);
    series += fmt::format("{}{{\"name\":{},\"style\":{},\"points\":{}}}", i == 0 ? "" : ",",
                          formats::JsonString(name), i, output::JsonPoints(points));
    spoken += fmt::format(" {} ends at {} s after {:.0f} samples;", name, last, points.back().first);
    key += fmt::format("<span data-line=\"{}\">{} {}</span>", i, output::EscapeHtml(name), last);
  }
  const std::string json = fmt::format(
      "{{\"x_label\":\"samples\",\"y_label\":\"seconds per step\",\"log_x\":true,\"series\":[{}]}}", series);
  return "<section>\n<h2>Best runtime against samples</h2>\n"
         "<p class=\"soft\">What is above twice the slowest end is cut off at the top.</p>\n"
         "<div class=\"figures\">\n" +
         output::FigureHtml("curves", "Best so far, seconds per step", spoken, json, key + "</p>\n") +
         "</div>\n</section>\n";
}

}  // namespace stowplan::cli
