#include "cli/place/place_record.h"

#include <fmt/format.h>

#include "output/csv.h"
#include "problem/fingerprint.h"
#include "problem/problem_json.h"
#include "problem/provenance.h"

namespace stowplan::cli {
namespace {

nlohmann::ordered_json RivalJson(const problem::Rival& rival, const agents::Task& task) {
  nlohmann::ordered_json json = {{"name", rival.name},
                                 {"runtime_us", sim::ToMicros(rival.runtime)},
                                 {"fits", rival.fits},
                                 {"devices", rival.plainness.devices},
                                 {"peak_bytes", nlohmann::ordered_json::object()}};
  for (std::size_t d = 0; d < rival.peak.size(); ++d)
    json["peak_bytes"][task.problem->cluster().devices[d].name] = rival.peak[d];
  return json;
}

}  // namespace

nlohmann::ordered_json Identity(const problem::SearchSource& search, std::int64_t seed,
                                const agents::Task& task, const std::string& agent) {
  return {{"agent", agent},
          {"scenario", search.name()},
          {"graph", task.problem->graph().name},
          {"graph_fingerprint", problem::GraphFingerprint(task.problem->graph())},
          {"cluster", task.problem->cluster().name},
          {"cost_model", task.problem->costs().cost_model},
          {"grouper", task.units.grouper},
          {"units", task.units.size()},
          {"seed", seed},
          {"budget", search.samples()},
          {"source", problem::ProblemJson(search.problem())}};
}

nlohmann::ordered_json Summary(const problem::SearchSource& search, std::int64_t seed, double within,
                               const Found& found) {
  const agents::Evaluator& evaluator = found.evaluator;
  const bool feasible = evaluator.has_best();
  nlohmann::ordered_json json = Identity(search, seed, found.task, found.agent);
  json.update({{"samples", evaluator.samples()},
               {"distinct", evaluator.distinct()},
               {"proposals", evaluator.proposals()},
               {"screens", evaluator.screens()},
               {"samples_to_best", nullptr},
               {"samples_to_1pct", nullptr},
               {"best_runtime_us", nullptr},
               {"feasible", feasible},
               {"lower_bound_us", sim::ToMicros(found.bound.best())},
               {"proven_infeasible", found.bound.nothing_fits},
               {"reference_runtime_us", sim::ToMicros(found.task.reference_runtime)},
               {"reference", found.task.reference},
               {"wall_seconds", found.wall_seconds},
               {"simulator_seconds", evaluator.simulator_seconds()},
               {"brief", found.brief},
               {"interrupted", found.interrupted()},
               {"ranks", found.ranks}});
  problem::AddProvenance(json);
  if (feasible) {
    json["samples_to_best"] = evaluator.samples_to_best();
    json["samples_to_1pct"] = evaluator.samples_to_within(0.01);
    json["best_runtime_us"] = sim::ToMicros(evaluator.best_runtime());
    if (!found.author.empty()) json["found_by"] = found.author;
    // The placement that is given, which may be plainer than the fastest.
    json["runtime_us"] = sim::ToMicros(found.advice->chosen.runtime);
    json["within_percent"] = within;
  }
  if (found.grouping) {
    json["groups"] = {{"lower_bound_us", sim::ToMicros(found.grouping->bound)}};
    if (found.grouping->samples > 0) {
      json["groups"]["single_ops_us"] = sim::ToMicros(found.grouping->single_ops);
      json["groups"]["single_ops_samples"] = found.grouping->samples;
    }
  }
  json["rivals"] = nlohmann::ordered_json::array();
  for (const problem::Rival& rival : found.rivals) json["rivals"].push_back(RivalJson(rival, found.task));
  json["reserve_bytes"] = nlohmann::ordered_json::object();
  for (const sim::Device& device : found.task.problem->cluster().devices) {
    if (device.reserve > 0) json["reserve_bytes"][device.name] = device.reserve;
  }
  if (!found.left_out.empty()) json["left_out"] = found.left_out;
  return json;
}

std::string CurveCsv(const agents::Evaluator& evaluator) {
  std::string text = output::PrintCsvLine({"sample", "best_runtime_us", "wall_seconds"});
  for (const agents::CurvePoint& point : evaluator.curve()) {
    text += output::PrintCsvLine({std::to_string(point.sample), fmt::format("{}", sim::ToMicros(point.best)),
                                  fmt::format("{:.3f}", point.wall_seconds)});
  }
  return text;
}

}  // namespace stowplan::cli
