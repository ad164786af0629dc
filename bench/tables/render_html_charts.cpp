#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "bench/console.h"
#include "bench/log_axis.h"
#include "bench/tables/html.h"

namespace berth::bench {
namespace {

std::string Fill(const LogAxis& axis, const std::optional<double>& seconds, const std::string& text,
                 const char* style) {
  if (!seconds) return text.empty() ? "" : fmt::format("<div class=\"fill none\">{}</div>", EscapeHtml(text));
  return fmt::format("<div class=\"fill {}\" style=\"width:{:.1f}%\"></div>", style, 100 * axis.At(*seconds));
}

std::string BarRow(const LogAxis& axis, const std::string& title, const RenderedCell& cell,
                   const std::string& bound) {
  const std::string published = cell.published.empty() ? "" : "published " + cell.published;
  return fmt::format(
      "<div class=\"bar\"><span>{} <span class=\"soft\">{}</span></span><div "
      "class=\"track\">{}{}{}</div></div>\n",
      EscapeHtml(title), EscapeHtml(cell.ours),
      Fill(axis, cell.ours_seconds, cell.kind.empty() ? "" : "ours " + cell.ours, "o"),
      Fill(axis, cell.published_seconds, published, "t"), bound);
}

bool Shown(const RenderedCell& cell) {
  return !cell.kind.empty() || !cell.published.empty();
}

std::string Figure(const RenderedBlock& block, const RenderedLine& line, const LogAxis& axis) {
  std::string spoken;
  std::string rows;
  const std::string bound = line.bound_seconds
                                ? fmt::format("<div class=\"bound\" style=\"left:{:.1f}%\"></div>",
                                              100 * axis.At(*line.bound_seconds))
                                : "";
  for (std::size_t c = 0; c < line.cells.size(); ++c) {
    const RenderedCell& cell = line.cells[c];
    if (!Shown(cell)) continue;
    rows += BarRow(axis, block.columns[c], cell, bound);
    spoken += fmt::format(" {}: ours {}{};", block.columns[c], cell.ours,
                          cell.published.empty() ? "" : ", published " + cell.published);
  }
  std::string ticks;
  const std::vector<int> decades = axis.decades();
  for (const int e : decades) {
    ticks += fmt::format("<b style=\"left:{:.1f}%\">{}{}</b>", 100 * axis.At(std::pow(10, e)), PowerText(e),
                         e == decades.back() ? " s" : "");
  }
  return fmt::format(
      "<figure><figcaption>{}, {} GPUs</figcaption>\n<div role=\"img\" aria-label=\"{}\" "
      "style=\"--decade:{:.3f}%\">\n{}"
      "<div class=\"axis\"><span></span><div>{}</div></div></div></figure>\n",
      EscapeHtml(line.title), line.gpus, EscapeHtml("Bars of seconds per step." + spoken), 100 / axis.span(),
      rows, ticks);
}

constexpr double kWidth = 360, kHeight = 210, kLeft = 44, kRight = 8, kTop = 8, kBottom = 30;
constexpr std::size_t kStyles = 10;  // .s0 to .s9 of the style sheet: colour and dashes

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

// The horizontal axis of a chart: log from whole decades, or linear between its ends.
class XAxis {
 public:
  explicit XAxis(const RenderedChart& chart) : log_(chart.log_x) {
    for (const RenderedSeries& series : chart.series) {
      for (const auto& [x, y] : series.points) {
        axis_.Add(x);
        low_ = std::min(low_, x);
        high_ = std::max(high_, x);
      }
    }
    if (high_ <= low_) high_ = low_ * 1.01;
  }
  double At(double x) const {
    return kLeft + (kWidth - kLeft - kRight) * (log_ ? axis_.At(x) : (x - low_) / (high_ - low_));
  }
  std::string Ticks() const {
    std::string svg;
    const auto tick = [&](double x, const std::string& text) {
      svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                         std::min(At(x), kWidth - 18), kHeight - 16, text);
    };
    if (log_) {
      for (const int e : axis_.decades()) tick(std::pow(10, e), PowerText(e));
    } else {
      for (int part = 0; part <= 4; ++part) {
        const double x = low_ + (high_ - low_) * part / 4;
        tick(x, SecondsDigits(x));
      }
    }
    return svg;
  }

 private:
  bool log_;
  LogAxis axis_;
  double low_ = 1e300;
  double high_ = 0;
};

std::string Drawing(const RenderedChart& chart, const std::vector<std::size_t>& styles) {
  const XAxis x(chart);
  double low = 1e300, high = 0;
  for (const RenderedSeries& series : chart.series) {
    for (const auto& [at, value] : series.points) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (high <= low) high = low * 1.01;
  // Of curves the best, which is the lowest, stands at the bottom.
  // Where searches begin is often ten times where they end; parts of graphs begin at 0.
  const bool log_y = chart.log_x && low > 0;
  const auto scaled = [&](double value) { return log_y ? std::log(value) : value; };
  const auto y = [&](double value) {
    return kTop + (kHeight - kTop - kBottom) * (scaled(high) - scaled(value)) / (scaled(high) - scaled(low));
  };
  std::string svg = fmt::format("<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                                kLeft, kTop, kWidth - kLeft - kRight, kHeight - kTop - kBottom);
  svg += x.Ticks();
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", kWidth / 2, kHeight - 3,
                     EscapeHtml(chart.x_label));
  for (const double tick : {low, log_y ? std::sqrt(low * high) : (low + high) / 2, high}) {
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 4, y(tick) + 4,
                       SecondsDigits(tick));
  }
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    std::string points;
    double last = -1;
    for (const auto& [at, value] : chart.series[s].points) {
      if (last >= 0) points += fmt::format("{:.1f},{:.1f} ", x.At(at), y(last));
      points += fmt::format("{:.1f},{:.1f} ", x.At(at), y(value));
      last = value;
    }
    svg += fmt::format("<polyline class=\"s{}\" points=\"{}\"/>\n", styles[s], points);
  }
  return svg;
}

std::string Legend(const RenderedChart& chart, const std::vector<std::size_t>& styles) {
  std::string legend = "<p class=\"key\">";
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    legend += fmt::format(
        "<span><svg style=\"width:1.8rem\" viewBox=\"0 0 28 6\" aria-hidden=\"true\"><polyline class=\"s{}\" "
        "points=\"0,3 28,3\"/></svg>{} {}</span>",
        styles[s], EscapeHtml(chart.series[s].name), EscapeHtml(chart.series[s].value));
  }
  return legend + "</p>\n";
}

}  // namespace

std::string HtmlBars(const RenderedBlock& block) {
  LogAxis axis;
  for (const RenderedLine& line : block.lines) {
    axis.Add(line.bound_seconds);
    for (const RenderedCell& cell : line.cells) {
      axis.Add(cell.ours_seconds);
      axis.Add(cell.published_seconds);
    }
  }
  if (axis.empty()) return {};
  std::string text =
      "<p class=\"key\"><span><i class=\"fill o\"></i>ours (solid)</span><span><i class=\"fill "
      "t\"></i>published (hatched)</span>"
      "<span>dashed line: proven lower bound</span><span>log scale, shorter is faster</span></p>\n<div "
      "class=\"bars\">\n";
  for (const RenderedLine& line : block.lines) text += Figure(block, line, axis);
  return text + "</div>\n";
}

std::string HtmlCharts(const std::vector<RenderedChart>& charts) {
  std::string text = "<div class=\"bars\">\n";
  Styles styles_of;
  for (const RenderedChart& chart : charts) {
    const std::vector<std::size_t> styles = styles_of.Of(chart);
    std::string spoken = chart.spoken;
    for (const RenderedSeries& series : chart.series) spoken += " " + series.spoken + ";";
    text += fmt::format(
        "<figure><figcaption>{}</figcaption>\n<svg viewBox=\"0 0 {} {}\" role=\"img\" "
        "aria-label=\"{}\">\n{}</svg>\n{}</figure>\n",
        EscapeHtml(chart.title), kWidth, kHeight, EscapeHtml(spoken), Drawing(chart, styles),
        Legend(chart, styles));
  }
  return text + "</div>\n";
}

}  // namespace berth::bench
