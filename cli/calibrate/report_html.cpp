#include <map>

#include <fmt/format.h>

#include "cli/calibrate/report.h"
#include "output/plot.h"

namespace stowplan::cli {
namespace {

using namespace cost_models;

// Held-out predictions where there are any, else those of the structural model.
double PredictedOf(const OpPoint& point) {
  return point.held_out_us > 0 ? point.held_out_us : point.analytic_us;
}

std::string OpPlots(const CalibrationResult& result) {
  std::string times, residuals;
  for (const OpFit& fit : result.ops) {
    std::map<OpClass, std::pair<output::Plot, output::Plot>> plots;
    for (const ClassFit& one : fit.classes) {
      if (one.borrowed) continue;
      auto& [time, residual] = plots[one.op_class];
      time.title = residual.title = fmt::format("{} on {}", ToString(one.op_class), fit.kind);
      output::PlotSeries predicted{.name = one.dtype}, off{.name = one.dtype};
      for (const OpPoint& point : one.points) {
        if (PredictedOf(point) <= 0) continue;
        predicted.points.emplace_back(PredictedOf(point), point.measured_us);
        off.points.emplace_back(point.work, 100 * (PredictedOf(point) / point.measured_us - 1));
      }
      time.series.push_back(std::move(predicted));
      residual.series.push_back(std::move(off));
    }
    for (auto& [op_class, pair] : plots) {
      pair.first.x_label = "predicted, us";
      pair.first.y_label = "measured, us";
      pair.first.diagonal = true;
      pair.second.x_label = IsContraction(op_class) ? "work, FLOPs" : "work, bytes";
      pair.second.y_label = "predicted / measured - 1, %";
      pair.second.linear_y = true;
      times += output::PlotHtml(pair.first);
      residuals += output::PlotHtml(pair.second);
    }
  }
  if (times.empty()) return {};
  return fmt::format(
      "<section>\n<h2>Ops: measured against predicted</h2>\n<p>Each shape predicted by curves that have not "
      "seen it; "
      "where there is no curve, by the structural model. On the dashed line they agree.</p>\n<div "
      "class=\"figures\">\n{}"
      "</div>\n<h2>Ops: error by size</h2>\n<div class=\"figures\">\n{}</div>\n</section>\n",
      times, residuals);
}

std::string CopyPlots(const CalibrationResult& result) {
  std::string figures;
  for (const PathFit& path : result.paths) {
    output::Plot plot{.title = path.fit.link.kind, .x_label = "bytes", .y_label = "us"};
    output::PlotSeries measured{.name = "measured"}, curve{.name = "curve", .line = true},
        line{.name = "latency + bytes / bandwidth", .line = true};
    for (const CopyPoint& point : path.fit.points) {
      const auto bytes = static_cast<double>(point.sample.bytes);
      measured.points.emplace_back(bytes, point.sample.us);
      curve.points.emplace_back(bytes, point.fitted_us);
      line.points.emplace_back(bytes, path.fit.alpha_beta.Micros(point.sample.bytes));
    }
    plot.series = {measured, line, curve};
    figures += output::PlotHtml(plot);
  }
  if (figures.empty()) return {};
  return "<section>\n<h2>Copies: time by size</h2>\n<div class=\"figures\">\n" + figures +
         "</div>\n</section>\n";
}

}  // namespace

std::string FitPlotsHtml(const CalibrationResult& result) {
  return OpPlots(result) + CopyPlots(result);
}

}  // namespace stowplan::cli
