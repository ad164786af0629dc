#include "cli/calibrate/fit_json.h"

#include <nlohmann/json.hpp>

#include "problem/provenance.h"

namespace stowplan::cli {
namespace {

using Json = nlohmann::ordered_json;
using Pairs = std::vector<std::pair<double, double>>;

Json Begin(const std::string& parameters) {
  return {{"format", "stowplan.fit"}, {"version", 1}, {"parameters", parameters}};
}

std::string End(Json json, const std::vector<std::string>& notes) {
  json["notes"] = notes;
  problem::AddProvenance(json);
  return json.dump(1) + "\n";
}

Json ErrorsJson(const Pairs& pairs) {
  const cost_models::ErrorSummary errors = cost_models::Errors(pairs);
  if (errors.n == 0) return nullptr;
  return {{"n", errors.n},
          {"mean", errors.mape},
          {"median", errors.median},
          {"p95", errors.p95},
          {"time_weighted", errors.time_weighted}};
}

Json OpsJson(const cost_models::OpFit& fit, const cost_models::ClassFit& one) {
  Pairs held_out, analytic;
  for (const cost_models::OpPoint& point : one.points) {
    if (point.held_out_us > 0) held_out.emplace_back(point.measured_us, point.held_out_us);
    if (point.analytic_us > 0) analytic.emplace_back(point.measured_us, point.analytic_us);
  }
  return {{"kind", fit.kind},
          {"class", cost_models::ToString(one.op_class)},
          {"dtype", one.dtype},
          {"points", one.points.size()},
          {"table_entries", one.table_entries},
          {"curve", one.has_curve},
          {"held_out_error", ErrorsJson(held_out)},
          {"structural_error", ErrorsJson(analytic)}};
}

Json CopiesJson(const cost_models::PathFit& path) {
  Pairs held_out;
  for (const cost_models::CopyPoint& point : path.fit.points) {
    if (!point.outlier && point.held_out_us > 0) held_out.emplace_back(point.sample.us, point.held_out_us);
  }
  return {{"link", path.fit.link.kind},
          {"points", path.fit.points.size()},
          {"held_out_error", ErrorsJson(held_out)}};
}

Json StepJson(const cost_models::StepFit& step) {
  Pairs pairs;
  for (const cost_models::StepPoint& point : step.points)
    pairs.emplace_back(point.measured_us, point.predicted_us);
  return {{"ops", step.points.size()}, {"error", ErrorsJson(pairs)}};
}

}  // namespace

std::string PrintFitJson(const std::string& parameters, const cost_models::CalibrationResult& result) {
  Json json = Begin(parameters);
  for (const char* key : {"kinds", "ops", "copies", "steps"}) json[key] = Json::array();
  for (const cost_models::KindParameters& kind : result.parameters.kinds) json["kinds"].push_back(kind.kind);
  for (const cost_models::OpFit& fit : result.ops) {
    for (const cost_models::ClassFit& one : fit.classes) json["ops"].push_back(OpsJson(fit, one));
  }
  for (const cost_models::PathFit& path : result.paths) json["copies"].push_back(CopiesJson(path));
  for (const cost_models::StepFit& step : result.steps) json["steps"].push_back(StepJson(step));
  return End(std::move(json), result.notes);
}

std::string PrintFitJson(const std::string& parameters, const std::string& table,
                         const cost_models::TableFit& fit) {
  Json json = Begin(parameters);
  json["table"] = table;
  json["values"] = Json::array();
  for (const cost_models::FittedParameter& value : fit.parameters) {
    json["values"].push_back({{"name", value.name},
                              {"value", value.value},
                              {"sensitivity", value.sensitivity},
                              {"identified", value.identified},
                              {"at_bound", value.at_bound}});
  }
  json["cells"] = Json::array();
  for (const cost_models::CellResidual& cell : fit.cells) {
    json["cells"].push_back({{"name", cell.name},
                             {"published_seconds", cell.published_seconds},
                             {"simulated_seconds", cell.simulated_seconds}});
  }
  json["median_relative_error"] = fit.median_relative_error;
  json["rms_log_ratio"] = fit.rms_log_ratio;
  json["condition"] = fit.condition;
  json["converged"] = fit.converged;
  return End(std::move(json), fit.notes);
}

}  // namespace stowplan::cli
