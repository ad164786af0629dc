#include "bench/published_peer.h"

#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/process.h"
#include "sim/formats/formats.h"

namespace stowplan::bench {
namespace {

constexpr const char* kDriver = STOWPLAN_SOURCE_DIR "/bench/published_peer.py";
// Hours of its simulations, and a line of JSON for each.
constexpr ProcessLimits kLimits{.time = std::chrono::hours(24), .output = std::size_t{1} << 28};

nlohmann::ordered_json DescribeCase(const sim::Problem& problem,
                                    const std::vector<sim::Placement>& placements) {
  nlohmann::ordered_json json = {{"devices", problem.cluster().size()}, {"ops", nlohmann::json::array()}};
  const sim::OpGraph& graph = problem.graph();
  for (sim::OpIndex i = 0; i < graph.size(); ++i) {
    const sim::Op& op = graph.ops[static_cast<std::size_t>(i)];
    nlohmann::ordered_json row = {{"name", op.name},
                                  {"cost_us", sim::ToMicros(problem.costs().at(i, 0))},
                                  {"output_bytes", nlohmann::json::array()},
                                  {"inputs", nlohmann::json::array()}};
    for (const sim::Output& output : op.outputs) row["output_bytes"].push_back(output.bytes);
    for (const sim::TensorRef& input : op.inputs)
      row["inputs"].push_back(
          fmt::format("{}:{}", graph.ops[static_cast<std::size_t>(input.op)].name, input.output));
    for (const sim::OpIndex producer : op.control)
      row["inputs"].push_back("^" + graph.ops[static_cast<std::size_t>(producer)].name);
    json["ops"].push_back(std::move(row));
  }
  for (const sim::Placement& placement : placements) json["placements"].push_back(placement.device);
  return json;
}

class CaseFile {
 public:
  explicit CaseFile(const nlohmann::ordered_json& json)
      : path_(std::filesystem::temp_directory_path() / fmt::format("stowplan-compare-{}.json", getpid())) {
    formats::WriteFile(path_.string(), json.dump());
  }
  ~CaseFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  CaseFile(const CaseFile&) = delete;
  CaseFile& operator=(const CaseFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace

std::vector<PublishedRun> RunPublishedSimulator(const std::string& checkout, const sim::Problem& problem,
                                                const std::vector<sim::Placement>& placements) {
  if (!std::filesystem::is_directory(checkout))
    throw InputError(
        fmt::format("--published {}: wanted the folder of a checkout of Placeto's repository.", checkout));
  const CaseFile file(DescribeCase(problem, placements));
  const ProcessResult driver = RunProcess({"python3", "-B", kDriver, checkout, file.path()}, kLimits);
  if (!driver.failure.empty())
    throw RunError(fmt::format("python3 -B {} {} {} {}", kDriver, checkout, file.path(), driver.failure));
  std::vector<PublishedRun> runs;
  const nlohmann::json document = nlohmann::json::parse(driver.output);
  for (const nlohmann::json& run : document.at("runs"))
    runs.push_back({run.at("seconds"), run.at("runtime_us"), run.at("peak_bytes")});
  return runs;
}

}  // namespace stowplan::bench
