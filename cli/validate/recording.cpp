#include "cli/validate/recording.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "cost_models/cost_models.h"
#include "problem/loaded_problem.h"
#include "scenarios/scenarios.h"
#include "sim/base/error.h"

namespace stowplan::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".json.zst";

}  // namespace

sim::OpGraph LoadMeasuredGraph(const std::string& workload, const std::string& folder) {
  if (!folder.empty()) problem::RefuseSpecialFile(workload, folder + ": workload of a recording");
  const fs::path beside = fs::path(folder) / fs::path(workload).filename();
  std::error_code ignored;  // a workload with its parameters may be longer than any path
  const bool elsewhere =
      !folder.empty() && !fs::exists(workload, ignored) && fs::is_regular_file(beside, ignored);
  sim::OpGraph graph = scenarios::LoadGraph(elsewhere ? beside.string() : workload);
  for (sim::Op& op : graph.ops) {
    op.cost_us.reset();
    op.cost_us_by_kind.clear();
  }
  return graph;
}

std::string FileStem(const std::string& workload) {
  std::string stem;
  for (const char c : workload.substr(workload.find_last_of('/') + 1)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '=';
    stem += plain ? c : '-';
  }
  while (stem.ends_with('-')) stem.pop_back();
  return stem;
}

std::vector<std::string> FindRecordings(const std::string& folder) {
  if (!fs::is_directory(folder))
    throw InputError(folder + ": is no folder of recordings; `stowplan validate --record --out " + folder +
                     "` makes one");
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().string().ends_with(kEnding)) paths.push_back(entry.path().string());
  if (paths.empty()) throw InputError(folder + ": holds no recording, which are files NAME.json.zst");
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string CostsBeside(const std::string& path) {
  const std::string own = path.substr(0, path.size() - kEnding.size()) + ".cost_model.json";
  const fs::path common = fs::path(path).parent_path() / "cost_model.json";
  return !fs::exists(own) && fs::exists(common) ? common.string() : own;
}

Recording ReadValidation(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return profiler::ReadStepRecording(
      path,
      [&](const std::string& workload) { return LoadMeasuredGraph(workload, folder.empty() ? "." : folder); },
      cost_models::BuiltinCatalogue());
}

}  // namespace stowplan::cli
