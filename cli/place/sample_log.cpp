#include "cli/place/sample_log.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "output/csv.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"
#include "tables/kept_placement.h"

namespace stowplan::cli {
namespace {

const output::CsvLine kHeader = {"sample", "runtime_us", "status", "excess", "placement"};

// The lines of an earlier call that come before this sample; one that a kill cut short is of no use.
std::string LinesBefore(std::int64_t sample, const std::string& path) {
  std::string text;
  for (const output::CsvLine& line : output::ParseCsv(formats::ReadFile(path), path)) {
    if (line == kHeader || line.size() != kHeader.size()) continue;
    if (std::strtoll(line[0].c_str(), nullptr, 10) < sample) text += output::PrintCsvLine(line);
  }
  return text;
}

}  // namespace

SampleLog::SampleLog(std::string path, const agents::Task& task, bool resume)
    : path_(std::move(path)), task_(task), resume_(resume) {}

void SampleLog::Append(std::int64_t sample, const agents::UnitPlacement& placement,
                       const agents::Evaluation& evaluation) {
  if (!file_.is_open()) Begin(sample);
  const char* status = evaluation.stopped ? "stopped" : (evaluation.feasible ? "ok" : "oom");
  Write(output::PrintCsvLine({std::to_string(sample), fmt::format("{}", sim::ToMicros(evaluation.runtime)),
                              status, evaluation.stopped ? "" : fmt::format("{:.6g}", Excess(evaluation)),
                              tables::KeepPlacement(placement)}));
}

// Only the first sample tells where a learner goes on.
void SampleLog::Begin(std::int64_t sample) {
  const std::string before =
      resume_ && std::filesystem::exists(path_) ? LinesBefore(sample, path_) : std::string();
  formats::WriteFile(path_,
                     output::PrintCsvLine(kHeader) + before);  // a kill leaves the lines that were there
  file_.open(path_, std::ios::binary | std::ios::app);
}

void SampleLog::Write(const std::string& text) {
  file_ << text << std::flush;
  if (!file_) throw RunError(path_ + ": the samples cannot be written.");
}

double SampleLog::Excess(const agents::Evaluation& evaluation) const {
  double excess = 0;
  for (std::size_t d = 0; d < evaluation.peak.size(); ++d) {
    const auto capacity = static_cast<double>(task_.device(static_cast<sim::DeviceIndex>(d)).capacity());
    excess += std::max(0.0, static_cast<double>(evaluation.peak[d]) / std::max(capacity, 1.0) - 1);
  }
  return evaluation.feasible ? 0 : excess;
}

std::string PrintUnits(const agents::Task& task) {
  using Json = nlohmann::ordered_json;
  const sim::OpGraph& graph = task.problem->graph();
  Json json = {
      {"format", "stowplan.units"}, {"version", 1}, {"graph", graph.name}, {"grouper", task.units.grouper}};
  for (const sim::Device& device : task.problem->cluster().devices) json["devices"].push_back(device.name);
  for (const std::vector<sim::OpIndex>& ops : task.units.ops) {
    Json names = Json::array();
    for (const sim::OpIndex op : ops) names.push_back(graph.ops[static_cast<std::size_t>(op)].name);
    json["units"].push_back(std::move(names));
  }
  json["edges"] = Json::array();
  for (const agents::UnitEdge& edge : task.edges)
    json["edges"].push_back(Json::array({edge.from, edge.to, edge.bytes}));
  return json.dump(1) + "\n";
}

}  // namespace stowplan::cli
