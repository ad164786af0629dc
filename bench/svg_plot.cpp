#include "bench/svg_plot.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/log_axis.h"
#include "bench/tables/html.h"

namespace berth::bench {
namespace {

constexpr double kWidth = 360, kHeight = 260, kLeft = 54, kRight = 10, kTop = 8, kBottom = 34;
constexpr std::size_t kStyles = 6;  // .p0 to .p5 of the style sheet
constexpr std::size_t kMostTicks = 7;

// "1k", "10M": decades from 10^3 on in the steps of SI.
std::string Decade(int exponent) {
  if (exponent < 3) return PowerText(exponent);
  static constexpr const char* kUnits[] = {"", "k", "M", "G", "T", "P"};
  const int unit = std::min(exponent / 3, 5);
  return PowerText(exponent - 3 * unit) + kUnits[unit];
}

class Drawing {
 public:
  explicit Drawing(const Plot& plot) : plot_(plot) {
    for (const PlotSeries& series : plot.series) {
      for (const auto& [x, y] : series.points) {
        x_.Add(x);
        if (plot.diagonal) x_.Add(y);
        y_.Add(y);
        if (plot.diagonal) y_.Add(x);
        most_ = std::max(most_, std::abs(y));
      }
    }
    most_ *= 1.1;
    if (most_ == 0) most_ = 1;
  }
  bool empty() const { return x_.empty() || (!plot_.linear_y && y_.empty()); }

  std::string Svg() const {
    std::string svg = fmt::format("<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                                  kLeft, kTop, kWidth - kLeft - kRight, kHeight - kTop - kBottom);
    svg += XTicks() + (plot_.linear_y ? LinearTicks() : LogTicks());
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                       (kLeft + kWidth - kRight) / 2, kHeight - 3, EscapeHtml(plot_.x_label));
    svg += fmt::format("<text transform=\"translate(10 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
                       (kTop + kHeight - kBottom) / 2, EscapeHtml(plot_.y_label));
    if (plot_.diagonal)
      svg += fmt::format("<line class=\"rule\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n", kLeft,
                         kHeight - kBottom, kWidth - kRight, kTop);
    for (std::size_t s = 0; s < plot_.series.size(); ++s) svg += Series(s);
    return svg;
  }

  static std::string Mark(std::size_t style, double x, double y) {
    switch (style % kStyles) {
      case 0:
        return fmt::format("<circle class=\"p0\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\"/>", x, y);
      case 1:
        return fmt::format("<rect class=\"p1\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"4.8\" height=\"4.8\"/>",
                           x - 2.4, y - 2.4);
      case 2:
        return fmt::format("<path class=\"p2\" d=\"M{:.1f} {:.1f}l3 5.4h-6z\"/>", x, y - 3.2);
      case 3:
        return fmt::format("<path class=\"p3\" d=\"M{:.1f} {:.1f}l3.2 3.2l-3.2 3.2l-3.2-3.2z\"/>", x,
                           y - 3.2);
      case 4:
        return fmt::format("<path class=\"p4\" d=\"M{0:.1f} {1:.1f}l5 5m0-5l-5 5\"/>", x - 2.5, y - 2.5);
      default:
        return fmt::format("<path class=\"p5\" d=\"M{:.1f} {:.1f}h6m-3-3v6\"/>", x - 3, y);
    }
  }

 private:
  double X(double x) const { return kLeft + (kWidth - kLeft - kRight) * x_.At(x); }
  double Y(double y) const {
    const double at = plot_.linear_y ? (y + most_) / (2 * most_) : y_.At(y);
    return kHeight - kBottom - (kHeight - kTop - kBottom) * at;
  }

  // Every decade, or every second or third where they would run into one another.
  static std::vector<int> Shown(const LogAxis& axis) {
    const std::vector<int> all = axis.decades();
    const std::size_t step = (all.size() + kMostTicks - 1) / kMostTicks;
    std::vector<int> shown;
    for (std::size_t i = 0; i < all.size(); i += step) shown.push_back(all[i]);
    return shown;
  }

  std::string XTicks() const {
    std::string svg;
    for (const int e : Shown(x_)) {
      const double x = X(std::pow(10, e));
      svg += fmt::format(
          "<line class=\"grid\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/><text x=\"{3:.1f}\" "
          "y=\"{4}\" "
          "text-anchor=\"middle\">{5}</text>\n",
          x, kTop, kHeight - kBottom, std::min(x, kWidth - 16), kHeight - 19, Decade(e));
    }
    return svg;
  }
  std::string YTick(double at, const std::string& text) const {
    return fmt::format(
        "<line class=\"grid\" x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\"/><text x=\"{3}\" "
        "y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5}</text>\n",
        kLeft, at, kWidth - kRight, kLeft - 4, at + 4, text);
  }
  std::string LogTicks() const {
    std::string svg;
    for (const int e : Shown(y_)) svg += YTick(Y(std::pow(10, e)), Decade(e));
    return svg;
  }
  // 0 and two steps of 1, 2 or 5 times a power of ten to each side.
  std::string LinearTicks() const {
    double step = std::pow(10, std::floor(std::log10(most_ / 2)));
    for (const double more : {5.0, 2.0}) {
      if (2 * more * step <= most_) {
        step *= more;
        break;
      }
    }
    std::string svg;
    for (const double y : {-2 * step, -step, 0.0, step, 2 * step})
      svg += YTick(Y(y), fmt::format("{}{:.{}f}", y > 0 ? "+" : "", y, step < 1 ? 1 : 0));
    return svg;
  }

  std::string Series(std::size_t s) const {
    const PlotSeries& series = plot_.series[s];
    std::string svg;
    if (series.line) {
      for (const auto& [x, y] : series.points)
        if (x > 0 && (plot_.linear_y || y > 0)) svg += fmt::format("{:.1f},{:.1f} ", X(x), Y(y));
      return fmt::format("<polyline class=\"l{}\" points=\"{}\"/>\n", s % kStyles, svg);
    }
    for (const auto& [x, y] : series.points)
      if (x > 0 && (plot_.linear_y || y > 0)) svg += Mark(s, X(x), Y(y));
    return svg + "\n";
  }

  const Plot& plot_;
  LogAxis x_, y_;
  double most_ = 0;
};

std::string Key(const Plot& plot) {
  std::string key = "<p class=\"key\">";
  for (std::size_t s = 0; s < plot.series.size(); ++s) {
    const std::string sample = plot.series[s].line
                                   ? fmt::format("<polyline class=\"l{}\" points=\"0,5 26,5\"/>", s % kStyles)
                                   : Drawing::Mark(s, 13, 5);
    key += fmt::format(
        "<span><svg class=\"sample\" viewBox=\"0 0 26 10\" aria-hidden=\"true\">{}</svg>{}</span>", sample,
        EscapeHtml(plot.series[s].name));
  }
  return key + "</p>\n";
}

}  // namespace

std::string SvgFigure(const Plot& plot) {
  const Drawing drawing(plot);
  if (drawing.empty()) return {};
  std::size_t count = 0;
  for (const PlotSeries& series : plot.series) count += series.points.size();
  const std::string spoken =
      fmt::format("{}: {} against {}, {} points", plot.title, plot.y_label, plot.x_label, count);
  return fmt::format(
      "<figure><figcaption>{}</figcaption>\n<svg viewBox=\"0 0 {} {}\" role=\"img\" "
      "aria-label=\"{}\">\n{}</svg>\n"
      "{}</figure>\n",
      EscapeHtml(plot.title), kWidth, kHeight, EscapeHtml(spoken), drawing.Svg(),
      plot.series.size() > 1 || plot.series.front().name != "" ? Key(plot) : "");
}

}  // namespace berth::bench
