#include "tables/report/figures.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "output/console.h"
#include "output/html.h"
#include "sim/formats/document/json_text.h"

namespace stowplan::tables {
namespace {

constexpr std::size_t kStyles = 10;  // of lines in page.css: colour and dashes

std::string Figures(const std::string& figures) {
  return "<div class=\"figures\">\n" + figures + "</div>\n";
}

std::string JsonOr(const std::optional<double>& value) {
  return value ? output::JsonNumber(*value) : "null";
}

std::optional<double> BestOf(const RenderedLine& line) {
  std::optional<double> best;
  for (const RenderedCell& cell : line.cells) {
    if (cell.ours_seconds && (!best || *cell.ours_seconds < *best)) best = cell.ours_seconds;
  }
  return best;
}

std::string DotFigure(const RenderedBlock& block, const RenderedLine& line, double best) {
  std::string rows, all;
  for (std::size_t c = 0; c < line.cells.size(); ++c) {
    const RenderedCell& cell = line.cells[c];
    if (!cell.ours_seconds && !cell.published_seconds) continue;
    std::string spoken = fmt::format("{}: {}", block.columns[c].title, cell.ours);
    if (!cell.spread.empty()) spoken += " " + cell.spread;
    if (!cell.published.empty()) spoken += ", published " + cell.published;
    rows += fmt::format(
        "{}{{\"name\":{},\"kind\":\"{}\",\"value\":{},\"low\":{},\"high\":{},\"published\":{},\"text\":{},"
        "\"spoken\":{}}}",
        rows.empty() ? "" : ",", formats::JsonString(block.columns[c].title), MarkOf(block.columns[c].group),
        JsonOr(cell.ours_seconds), output::JsonNumber(cell.low), output::JsonNumber(cell.high),
        JsonOr(cell.published_seconds), formats::JsonString(cell.ours), formats::JsonString(spoken));
    all += fmt::format("{}{}", all.empty() ? " " : "; ", spoken);
  }
  const std::string json =
      fmt::format("{{\"base\":{},\"bound\":{},\"unit\":\"times the best found\",\"rows\":[{}]}}",
                  output::JsonNumber(best), JsonOr(line.bound_seconds), rows);
  const std::string title = fmt::format("{}: best found {} s", line.name(), output::SecondsDigits(best));
  return output::FigureHtml("dots", title, "Dots, seconds per step." + all, json, "");
}

// Which style a series has: the first ten names on the page have one each, those behind them take what is free in their
// chart.
class Styles {
 public:
  std::vector<std::size_t> Of(const RenderedChart& chart) {
    std::vector<std::size_t> styles;
    std::set<std::size_t> taken;
    for (const RenderedSeries& series : chart.series) {
      styles.push_back(rank_.try_emplace(series.name, rank_.size()).first->second);
      taken.insert(styles.back());
    }
    for (std::size_t& style : styles) {
      if (style < kStyles) continue;
      style %= kStyles;
      for (std::size_t tried = 0; tried < kStyles && taken.contains(style); ++tried)
        style = (style + 1) % kStyles;
      taken.insert(style);
    }
    return styles;
  }

 private:
  std::map<std::string, std::size_t> rank_;  // in the order in which names come
};

}  // namespace

std::string DotFigures(const RenderedBlock& block) {
  std::string figures;
  for (const RenderedLine& line : block.lines) {
    if (const auto best = BestOf(line)) figures += DotFigure(block, line, *best);
  }
  if (figures.empty()) return {};
  std::string key = "<p class=\"key\">";
  for (const auto& [mark, text] : {std::pair{"learner", "learner"},
                                   {"search", "search"},
                                   {"scheduler", "partitioner or scheduler"},
                                   {"rule", "fixed placement"},
                                   {"published", "published"},
                                   {"bound", "proven lower bound"}})
    key += fmt::format("<span data-mark=\"{}\">{}</span>", mark, text);
  return key +
         "</p>\n<p class=\"soft\">A mark is the median over seeds, its bar reaches from the smallest to the "
         "largest. The "
         "scale is logarithmic; what lies beyond it is an arrow.</p>\n" +
         Figures(figures);
}

std::string CurveFigures(const std::vector<RenderedChart>& charts) {
  std::string figures;
  Styles styles_of;
  for (const RenderedChart& chart : charts) {
    const std::vector<std::size_t> styles = styles_of.Of(chart);
    std::string series, spoken = chart.spoken, key = "<p class=\"key\">";
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
      const RenderedSeries& one = chart.series[s];
      series += fmt::format("{}{{\"name\":{},\"style\":{},\"points\":{}}}", s == 0 ? "" : ",",
                            formats::JsonString(one.name), styles[s], output::JsonPoints(one.points));
      spoken += " " + one.spoken + ";";
      key += fmt::format("<span data-line=\"{}\">{} {}</span>", styles[s], output::EscapeHtml(one.name),
                         output::EscapeHtml(one.value));
    }
    const std::string json = fmt::format("{{\"x_label\":{},\"log_x\":{},\"series\":[{}]}}",
                                         formats::JsonString(chart.x_label), chart.log_x, series);
    figures += output::FigureHtml("curves", chart.title, spoken, json, key + "</p>\n");
  }
  const bool cut =
      std::any_of(charts.begin(), charts.end(), [](const RenderedChart& chart) { return chart.log_x; });
  return (cut ? "<p class=\"soft\">What is above twice the slowest end is cut off at the top.</p>\n" : "") +
         Figures(figures);
}

std::string TimelineFigures(const std::vector<RenderedTimeline>& timelines) {
  std::string figures;
  for (const RenderedTimeline& timeline : timelines) {
    std::string lanes;
    for (const TimelineLane& lane : timeline.lanes) {
      const auto parts = [](const auto& shares) {
        std::vector<std::string> texts;
        for (const double share : shares) texts.push_back(fmt::format("{:.2g}", share));
        return fmt::format("[{}]", fmt::join(texts, ","));
      };
      lanes += fmt::format("{}{{\"device\":{},\"works\":{},\"sends\":{}}}", lanes.empty() ? "" : ",",
                           formats::JsonString(lane.device), parts(lane.works), parts(lane.sends));
    }
    figures += output::FigureHtml(
        "lanes", timeline.title, "Timeline. " + timeline.spoken,
        fmt::format("{{\"seconds\":{},\"lanes\":[{}]}}", output::JsonNumber(timeline.seconds), lanes), "");
  }
  return "<p class=\"soft\">A lane for each device: when it works (paler, the less of the time), and in the "
         "thin strip "
         "under it when it sends.</p>\n" +
         Figures(figures);
}

}  // namespace stowplan::tables
