// A drawing of points and lines as inline SVG, on log axes or with a linear one upward. Colours and marks are those of
// bench/data/plots.css: told apart by shape too, readable on light and dark.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace berth::bench {

struct PlotSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x above 0
  bool line = false;                              // joined, in the order given; else marks
};

struct Plot {
  std::string title;
  std::string x_label, y_label;
  bool linear_y = false;  // around 0, as far as the points go; else log
  bool diagonal = false;  // y = x, and one scale for both axes
  std::vector<PlotSeries> series;
};

// A figure with a caption, the drawing, and a key where there is more than one series. Empty of no points.
std::string SvgFigure(const Plot& plot);

}  // namespace berth::bench
