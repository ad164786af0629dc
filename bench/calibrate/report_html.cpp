#include <map>

#include <fmt/format.h>

#include "BenchData.h"
#include "bench/calibrate/report.h"
#include "bench/svg_plot.h"
#include "bench/tables/html.h"

namespace berth::bench {
namespace {

using namespace cost_models;

std::string TableHtml(const ReportSection& section) {
  std::string text = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table class=\"numbers\">"
      "<caption>{0}</caption>\n<thead><tr>",
      EscapeHtml(section.title));
  const auto style = [&](std::size_t c) { return c < section.left_columns ? " class=\"text\"" : ""; };
  for (std::size_t c = 0; c < section.header.size(); ++c)
    text += fmt::format("<th scope=\"col\"{}>{}</th>", style(c), EscapeHtml(section.header[c]));
  text += "</tr></thead>\n<tbody>\n";
  for (const auto& row : section.rows) {
    text += fmt::format("<tr><th scope=\"row\">{}</th>", EscapeHtml(row.front()));
    for (std::size_t c = 1; c < row.size(); ++c)
      text += fmt::format("<td{}>{}</td>", style(c), EscapeHtml(row[c]));
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string SectionHtml(const ReportSection& section) {
  std::string text = fmt::format("<section>\n<h2>{}</h2>\n", EscapeHtml(section.title));
  if (!section.rows.empty()) text += TableHtml(section);
  if (section.sentences.empty()) return text + "</section>\n";
  text += "<ul>\n";
  for (const std::string& sentence : section.sentences)
    text += fmt::format("<li>{}</li>\n", EscapeHtml(sentence));
  return text + "</ul>\n</section>\n";
}

// Held-out predictions where there are any, else those of the structural model.
double PredictedOf(const OpPoint& point) {
  return point.held_out_us > 0 ? point.held_out_us : point.analytic_us;
}

std::string OpPlots(const CalibrationResult& result) {
  std::string times, residuals;
  for (const OpFit& fit : result.ops) {
    std::map<OpClass, std::pair<Plot, Plot>> plots;
    for (const ClassFit& one : fit.classes) {
      if (one.borrowed) continue;
      auto& [time, residual] = plots[one.op_class];
      time.title = residual.title = fmt::format("{} on {}", ToString(one.op_class), fit.kind);
      PlotSeries predicted{.name = one.dtype}, off{.name = one.dtype};
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
      times += SvgFigure(pair.first);
      residuals += SvgFigure(pair.second);
    }
  }
  if (times.empty()) return {};
  return fmt::format(
      "<section>\n<h2>Ops: measured against predicted</h2>\n<p>Each shape predicted by curves that have not "
      "seen it; "
      "where there is no curve, by the structural model. On the dashed line they agree.</p>\n<div "
      "class=\"bars\">\n{}"
      "</div>\n<h2>Ops: error by size</h2>\n<div class=\"bars\">\n{}</div>\n</section>\n",
      times, residuals);
}

std::string CopyPlots(const CalibrationResult& result) {
  std::string figures;
  for (const PathFit& path : result.paths) {
    Plot plot{.title = path.fit.link.kind, .x_label = "bytes", .y_label = "us"};
    PlotSeries measured{.name = "measured"}, curve{.name = "curve", .line = true},
        line{.name = "latency + bytes / bandwidth", .line = true};
    for (const CopyPoint& point : path.fit.points) {
      const auto bytes = static_cast<double>(point.sample.bytes);
      measured.points.emplace_back(bytes, point.sample.us);
      curve.points.emplace_back(bytes, point.fitted_us);
      line.points.emplace_back(bytes, path.fit.alpha_beta.Micros(point.sample.bytes));
    }
    plot.series = {measured, line, curve};
    figures += SvgFigure(plot);
  }
  if (figures.empty()) return {};
  return "<section>\n<h2>Copies: time by size</h2>\n<div class=\"bars\">\n" + figures +
         "</div>\n</section>\n";
}

}  // namespace

std::string PrintFitReportHtml(const FitReport& report, const CalibrationResult& result) {
  std::string text =
      HtmlHead(report.title, std::string(BenchData("page.css")).append(BenchData("plots.css"))) +
      fmt::format("<h1>{}</h1>\n<dl>\n", EscapeHtml(report.title));
  for (const auto& [what, value] : report.facts)
    text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", EscapeHtml(what), EscapeHtml(value));
  text += "</dl>\n" + OpPlots(result) + CopyPlots(result);
  for (const ReportSection& section : report.sections) text += SectionHtml(section);
  return text + "</main>\n</body>\n</html>\n";
}

}  // namespace berth::bench
