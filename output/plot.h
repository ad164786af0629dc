// Marks and lines on two axes, as a figure of a page: both log, or the upward one linear around 0.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace stowplan::output {

struct PlotSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x above 0; y too, unless linear
  bool line = false;                              // joined, in the order given; else marks
};

struct Plot {
  std::string title;
  std::string x_label, y_label;
  bool linear_y = false;  // as far as the points go, to both sides
  bool diagonal = false;  // y = x, and one scale for both axes
  std::vector<PlotSeries> series;
};

// The drawing, a key where there is more than one series, the numbers folded. Empty of no points.
std::string PlotHtml(const Plot& plot);

}  // namespace stowplan::output
