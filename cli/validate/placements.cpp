#include "cli/validate/placements.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>

#include "agents/agent.h"
#include "agents/evaluator.h"
#include "agents/task.h"
#include "problem/random_placements.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"

namespace stowplan::cli {
namespace {

using sim::DeviceIndex;
using sim::OpIndex;

class Chooser {
 public:
  Chooser(const sim::Problem& problem, std::uint64_t seed) : problem_(problem), bits_(seed) { Order(); }

  const std::vector<profiler::FamilyPlacement>& chosen() const { return chosen_; }

  // False if it was there already.
  bool Add(const std::string& family, sim::Placement placement) {
    if (!seen_.insert(placement.device).second) return false;
    chosen_.push_back({family, std::move(placement)});
    return true;
  }

  // Sets in program order, cut at these shares of the work; the parts take the devices in turn from `first`.
  sim::Placement Cut(std::vector<double> shares, DeviceIndex first) const {
    std::sort(shares.begin(), shares.end());
    const auto devices = problem_.cluster().size();
    std::vector<DeviceIndex> by_set(sets_.size());
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      const double middle = (work_before_[i] + work_before_[i + 1]) / 2 / work_before_.back();
      const auto part = std::upper_bound(shares.begin(), shares.end(), middle) - shares.begin();
      by_set[static_cast<std::size_t>(sets_[i])] = static_cast<DeviceIndex>((first + part) % devices);
    }
    return WithSources(by_set);
  }

  sim::Placement Blocks(int parts, DeviceIndex first) const {
    std::vector<double> shares;
    for (int i = 1; i < parts; ++i) shares.push_back(static_cast<double>(i) / parts);
    return Cut(shares, first);
  }

  sim::Placement FewCuts() {
    std::vector<double> shares(1 + bits_() % 4);
    for (double& share : shares) share = static_cast<double>(bits_() >> 11) * 0x1p-53;
    return Cut(shares,
               static_cast<DeviceIndex>(bits_() % static_cast<std::uint64_t>(problem_.cluster().size())));
  }

  sim::Placement Searched() {
    const agents::Task task = agents::MakeTask(problem_, "colocation");
    agents::Evaluator evaluator(task, {.budget = static_cast<std::int64_t>(20 + bits_() % 100)});
    const auto agent = agents::MakeAgent(bits_() % 2 == 0 ? "local_search" : "annealing");
    agent->Search(task, evaluator, {.seed = bits_() >> 1});
    return agents::Expand(
        task, evaluator.has_best() ? evaluator.best() : agents::UnitPlacement(task.units.ops.size(), 0));
  }

  sim::Placement Random() {
    return problem::DrawPlacements(problem_.graph(), problem_.cluster(), 1, bits_())[0];
  }

 private:
  // Colocation sets by where their first op that does something stands in the program.
  void Order() {
    const sim::OpGraph& graph = problem_.graph();
    std::vector<bool> seen(static_cast<std::size_t>(graph.colocation_sets()));
    std::vector<double> work(seen.size());
    for (const OpIndex op : graph.topological_order()) {
      const auto set = static_cast<std::size_t>(graph.colocation_set()[static_cast<std::size_t>(op)]);
      work[set] += sim::ToMicros(problem_.costs().at(op, 0)) + 1e-3;
      if (graph.ops[static_cast<std::size_t>(op)].IsSource() || seen[set]) continue;
      seen[set] = true;
      sets_.push_back(static_cast<std::int32_t>(set));
    }
    // Sets of sources alone come last and are moved to their readers.
    for (std::size_t set = 0; set < seen.size(); ++set)
      if (!seen[set]) sets_.push_back(static_cast<std::int32_t>(set));
    work_before_.push_back(0);
    for (const auto set : sets_)
      work_before_.push_back(work_before_.back() + work[static_cast<std::size_t>(set)]);
  }

  sim::Placement WithSources(const std::vector<DeviceIndex>& by_set) const {
    const sim::OpGraph& graph = problem_.graph();
    sim::Placement placement;
    for (OpIndex op = 0; op < graph.size(); ++op)
      placement.device.push_back(
          by_set[static_cast<std::size_t>(graph.colocation_set()[static_cast<std::size_t>(op)])]);
    for (OpIndex op = 0; op < graph.size(); ++op) {
      const sim::Op& source = graph.ops[static_cast<std::size_t>(op)];
      if (!source.IsSource() || !source.colocate.empty() || graph.consumers(op).empty()) continue;
      placement.device[static_cast<std::size_t>(op)] =
          placement.device[static_cast<std::size_t>(graph.consumers(op).front())];
    }
    return placement;
  }

  const sim::Problem& problem_;
  std::mt19937_64 bits_;
  std::vector<std::int32_t> sets_;
  std::vector<double> work_before_;  // [us], by position in sets_, and the whole
  std::set<std::vector<DeviceIndex>> seen_;
  std::vector<profiler::FamilyPlacement> chosen_;
};

}  // namespace

std::vector<profiler::FamilyPlacement> ChoosePlacements(const sim::Problem& problem, int count,
                                                        std::uint64_t seed) {
  constexpr int kPatience = 20;
  Chooser choose(problem, seed);
  choose.Add("one device", choose.Blocks(1, 0));
  int parts = 2, vain = 0;
  while (static_cast<int>(choose.chosen().size()) < count && vain < kPatience) {
    const std::size_t before = choose.chosen().size();
    choose.Add("blocks", choose.Blocks(parts, static_cast<DeviceIndex>(parts % 2)));
    ++parts;
    choose.Add("few cuts", choose.FewCuts());
    choose.Add("random", choose.Random());
    choose.Add("searched", choose.Searched());
    vain = choose.chosen().size() == before ? vain + 1 : 0;
  }
  std::vector<profiler::FamilyPlacement> chosen = choose.chosen();
  if (static_cast<int>(chosen.size()) > count) chosen.resize(static_cast<std::size_t>(count));
  return chosen;
}

void WriteChosen(const sim::Problem& problem, const std::vector<profiler::FamilyPlacement>& chosen,
                 const std::string& folder) {
  const std::filesystem::path out(folder);
  formats::MakeFolder((out / "placements").string());
  formats::WriteGraph((out / "graph.json.zst").string(), problem.graph());
  formats::WriteFile((out / "cluster.yaml").string(), formats::PrintCluster(problem.cluster()));
  std::map<std::string, int> count;
  for (const profiler::FamilyPlacement& choice : chosen) {
    std::string family = choice.family;
    std::replace(family.begin(), family.end(), ' ', '_');
    const std::string name = fmt::format("{}-{:02}.json", family, ++count[family]);
    formats::WriteFile((out / "placements" / name).string(),
                       formats::PrintPlacement(choice.placement, problem.graph(), problem.cluster()));
  }
}

}  // namespace stowplan::cli
