#include "bench/published_peer.h"

#include <array>
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/formats/formats.h"

namespace stowplan::bench {
namespace {

constexpr const char* kDriver = STOWPLAN_SOURCE_DIR "/bench/published_peer.py";

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

std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string OutputOf(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw RunError("the system starts no shell for: " + command);
  std::string output;
  std::array<char, 4096> block{};
  for (std::size_t got = 0; (got = std::fread(block.data(), 1, block.size(), pipe)) > 0;)
    output.append(block.data(), got);
  if (pclose(pipe) != 0) throw RunError("this failed: " + command);
  return output;
}

}  // namespace

std::vector<PublishedRun> RunPublishedSimulator(const std::string& checkout, const sim::Problem& problem,
                                                const std::vector<sim::Placement>& placements) {
  if (!std::filesystem::is_directory(checkout))
    throw InputError(
        fmt::format("--published {}: wanted the folder of a checkout of Placeto's repository.", checkout));
  const CaseFile file(DescribeCase(problem, placements));
  const std::string output =
      OutputOf(fmt::format("python3 -B {} {} {}", Quoted(kDriver), Quoted(checkout), Quoted(file.path())));
  std::vector<PublishedRun> runs;
  const nlohmann::json document = nlohmann::json::parse(output);
  for (const nlohmann::json& run : document.at("runs"))
    runs.push_back({run.at("seconds"), run.at("runtime_us"), run.at("peak_bytes")});
  return runs;
}

}  // namespace stowplan::bench
