#include "tables/testbed.h"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "cost_models/cost_models.h"
#include "cost_models/parameters/parameters.h"
#include "scenarios/scenarios.h"
#include "sim/base/rows.h"
#include "sim/base/spec.h"

namespace stowplan::tables {
namespace {

constexpr std::string_view kDataFolder = "$STOWPLAN_DATA/";

// "$STOWPLAN_DATA/x" with the folder in its place, where the environment names one.
std::string Resolved(const std::string& workload) {
  const char* const folder = std::getenv("STOWPLAN_DATA");
  if (!IsOfDataFolder(workload) || folder == nullptr) return workload;
  return (std::filesystem::path(folder) / workload.substr(kDataFolder.size())).string();
}

}  // namespace

bool IsOfDataFolder(const std::string& workload) {
  return workload.starts_with(kDataFolder);
}

std::string TestbedPath(const TableDefinition& table) {
  return fmt::format("results/{}/testbed.json", table.testbed.empty() ? table.name : table.testbed);
}

Testbed::Testbed(const std::string& path) : calibrated_(!path.empty() && std::filesystem::exists(path)) {
  const cost_models::Catalogue& catalogue = cost_models::BuiltinCatalogue();
  if (calibrated_) {
    cost_model_ = cost_models::MakeCostModel("chain(table,fitted,analytic(file=" + path + "))", catalogue);
  } else {
    cost_model_ = cost_models::MakeCostModel("", catalogue);
  }
  catalogue_ = cost_models::CalibratedCatalogue(cost_models::ParametersOf(*cost_model_), catalogue);
}

Testbed::~Testbed() = default;

std::unique_ptr<problem::LoadedProblem> Testbed::Load(const TableBlock& block, const TableLine& line) const {
  sim::Cluster cluster = scenarios::LoadCluster(line.cluster, *catalogue_);
  problem::OverrideRules(cluster, block.rules);
  return std::make_unique<problem::LoadedProblem>(scenarios::LoadGraph(Resolved(line.workload)),
                                                  std::move(cluster), *cost_model_);
}

std::string CannotRun(const TableLine& line) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(Resolved(line.workload), ignored)) return {};
  if (IsOfDataFolder(line.workload))
    return fmt::format("{} is not there; docs/reproducing.md says where it comes from", line.workload);
  const std::string name = Spec::Parse(line.workload).name;
  if (FindRow(scenarios::Workloads(), name) != nullptr) return {};
  return fmt::format("workload {} is not built", name);
}

}  // namespace stowplan::tables
