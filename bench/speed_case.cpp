#include "bench/speed_case.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <numeric>
#include <optional>

#include "cost_models/cost_models.h"
#include "problem/random_placements.h"

namespace stowplan::bench {
namespace {

constexpr std::string_view kStar = "star-";

std::optional<int> DevicesOfStar(const std::string& cluster) {
  if (cluster.compare(0, kStar.size(), kStar) != 0) return std::nullopt;
  int devices = 0;
  std::from_chars(cluster.data() + kStar.size(), cluster.data() + cluster.size(), devices);
  return devices;
}

sim::Cluster MakeStar(const SpeedCase& from, int devices) {
  sim::Cluster cluster;
  cluster.name = from.cluster;
  cluster.switches = {"switch"};
  cluster.dispatch.cost = sim::FromMicros(5);
  for (int i = 0; i < devices; ++i) {
    const std::string name = "gpu" + std::to_string(i);
    cluster.devices.push_back({.name = name, .kind = "gpu", .memory = sim::Bytes{1} << 50});
    cluster.links.push_back({.name = "link-" + name,
                             .ends = {i, devices},
                             .bandwidth = 10'000'000'000,
                             .latency = sim::FromMicros(5)});
  }
  problem::OverrideRules(cluster, from.rules);
  if (!from.interconnect.empty()) cluster.interconnect = from.interconnect;
  cluster.Finish();
  return cluster;
}

problem::LoadedProblem LoadProblem(const SpeedCase& from) {
  const std::optional<int> star = DevicesOfStar(from.cluster);
  if (star) return {problem::LoadGraph(from.graph), MakeStar(from, *star), *cost_models::MakeCostModel({})};
  problem::ProblemSource source;
  source.graph = from.graph;
  source.cluster = from.cluster;
  source.rules = from.rules;
  source.interconnect = from.interconnect;
  return problem::LoadedProblem(source);
}

// Parts of program order, cut at places that move by one part over the placements. Of graphs without colocation sets.
sim::Placement Contiguous(const sim::OpGraph& graph, std::int64_t devices, std::int64_t number,
                          std::int64_t placements) {
  sim::Placement placement;
  placement.device.resize(graph.ops.size());
  std::int64_t position = 0;
  for (const sim::OpIndex op : graph.topological_order()) {
    const std::int64_t moved = position++ * devices * placements / graph.size() + number;
    placement.device[static_cast<std::size_t>(op)] =
        static_cast<sim::DeviceIndex>(std::min(moved / placements, devices - 1));
  }
  return placement;
}

}  // namespace

std::string StarName(int devices) {
  return std::string(kStar) + std::to_string(devices);
}

LoadedCase::LoadedCase(const SpeedCase& from) : loaded(LoadProblem(from)) {
  const std::int64_t wanted = std::clamp<std::int64_t>(2'000'000 / loaded.graph().size(), 4, 500);
  placements = problem::DrawPlacements(loaded.graph(), loaded.cluster(), wanted, 1);
  if (!from.contiguous) return;
  for (std::int64_t i = 0; i < wanted; ++i)
    placements[static_cast<std::size_t>(i)] = Contiguous(loaded.graph(), loaded.cluster().size(), i, wanted);
}

sim::Screen ScreenByOp(const LoadedCase& one, int threads) {
  std::vector<std::int32_t> units(one.loaded.graph().ops.size());
  std::iota(units.begin(), units.end(), 0);
  std::vector<sim::DeviceIndex> devices(one.loaded.cluster().devices.size());
  std::iota(devices.begin(), devices.end(), 0);
  return {one.loaded.problem(), units, devices, threads};
}

std::vector<std::vector<sim::DeviceIndex>> DevicesOf(const LoadedCase& one) {
  std::vector<std::vector<sim::DeviceIndex>> rows;
  for (const sim::Placement& placement : one.placements) rows.push_back(placement.device);
  return rows;
}

const LoadedCase& Load(const SpeedCase& from) {
  static std::map<std::string, std::unique_ptr<const LoadedCase>> kept;
  std::unique_ptr<const LoadedCase>& place = kept[from.graph + "|" + from.cluster + "|" + from.rules + "|" +
                                                  from.interconnect + (from.contiguous ? "|contiguous" : "")];
  if (place == nullptr) place = std::make_unique<const LoadedCase>(from);
  return *place;
}

}  // namespace stowplan::bench
