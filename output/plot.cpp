#include "output/plot.h"

#include <fmt/format.h>

#include "output/html.h"
#include "sim/formats/document/json_text.h"

namespace stowplan::output {

std::string PlotHtml(const Plot& plot) {
  std::string series, key;
  std::vector<std::vector<std::string>> numbers;
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    const PlotSeries& one = plot.series[s];
    std::vector<std::pair<double, double>> shown;
    for (const auto& [x, y] : one.points) {
      if (x <= 0 || (!plot.linear_y && y <= 0)) continue;
      shown.emplace_back(x, y);
      numbers.push_back({one.name, JsonNumber(x), JsonNumber(y)});
    }
    series += fmt::format("{}{{\"name\":{},\"line\":{},\"points\":{}}}", s == 0 ? "" : ",",
                          formats::JsonString(one.name), one.line, JsonPoints(shown));
    key += fmt::format("<span data-{}=\"{}\">{}</span>", one.line ? "line" : "mark", s, EscapeHtml(one.name));
  }
  if (numbers.empty()) return {};
  const std::string spoken =
      fmt::format("{}: {} against {}, {} points", plot.title, plot.y_label, plot.x_label, numbers.size());
  const std::string json =
      fmt::format("{{\"x_label\":{},\"y_label\":{},\"linear_y\":{},\"diagonal\":{},\"series\":[{}]}}",
                  formats::JsonString(plot.x_label), formats::JsonString(plot.y_label), plot.linear_y,
                  plot.diagonal, series);
  std::string more;
  if (plot.series.size() > 1 || !plot.series.front().name.empty())
    more = "<p class=\"key\">" + key + "</p>\n";
  more += FoldHtml("the numbers",
                   TableHtml(plot.title, "numbers", {"series", plot.x_label, plot.y_label}, numbers));
  return FigureHtml("points", plot.title, spoken, json, more);
}

}  // namespace stowplan::output
