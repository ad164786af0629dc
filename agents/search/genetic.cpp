// A genetic search with elites, as the biased random-key algorithms are (Gonçalves, Resende, Journal of
// Heuristics 2011; REGAL, ICLR 2020, searches placements with one): every generation keeps the best `elite`
// share of the population and replaces the rest. A child is an elite placement with a run of units from any
// other (moves.h), then changed to a neighbour; a share of `mutants` are fresh random blocks instead. Genes
// are exchanged in runs, not one by one as there, because a child of single genes cuts nearly every edge.
//
// The first generation is `start` (StartsOf) and random blocks. Placements that do not fit are compared by
// overflow bytes first. Spends the whole budget.
#include <algorithm>

#include "agents/agents.h"
#include "agents/placements.h"
#include "agents/search/moves.h"
#include "agents/search/objective.h"

namespace stowplan::agents {
namespace {

struct Individual {
  Objective objective;
  UnitPlacement placement;
};

class Genetic final : public Agent {
 public:
  explicit Genetic(const Settings& read) : Agent(read.Canonical()) {
    start_ = read.Text("start");
    population_ = read.Int("population");
    elite_ = read.Double("elite");
    mutants_ = read.Double("mutants");
  }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    Rng rng(options.seed, "genetic");
    const Moves moves(task);
    const auto size = static_cast<std::size_t>(population_);
    const auto elites =
        std::clamp<std::size_t>(static_cast<std::size_t>(elite_ * static_cast<double>(size)), 1, size - 1);
    std::vector<UnitPlacement> young = StartsOf(start_, task, moves, options.seed);
    while (young.size() < size) young.push_back(BlockPlacement(task, rng));
    std::vector<Individual> population;
    while (evaluator.remaining() > 0 && !evaluator.stop_requested()) {
      Raise(task, evaluator, young, population);
      young.clear();
      while (young.size() < size - elites) young.push_back(Child(task, moves, population, elites, rng));
      population.resize(std::min(elites, population.size()));
    }
  }

 private:
  // Evaluates the young, adds them and sorts all, the best first; of equals the older.
  static void Raise(const Task& task, Evaluator& evaluator, const std::vector<UnitPlacement>& young,
                    std::vector<Individual>& population) {
    const std::vector<Evaluation> evaluations = evaluator.EvaluateBatch(young);
    for (std::size_t i = 0; i < evaluations.size(); ++i) {
      evaluator.CountProposal();
      population.push_back({ObjectiveOf(task, evaluations[i]), young[i]});
    }
    std::stable_sort(population.begin(), population.end(),
                     [](const Individual& a, const Individual& b) { return a.objective < b.objective; });
  }

  UnitPlacement Child(const Task& task, const Moves& moves, const std::vector<Individual>& population,
                      std::size_t elites, Rng& rng) const {
    if (rng.Uniform() < mutants_) return BlockPlacement(task, rng);
    const std::size_t parent = rng.Below(std::min(elites, population.size()));
    const std::size_t other = rng.Below(population.size());
    const UnitPlacement child = moves.Cross(population[parent].placement, population[other].placement, rng);
    return moves.Neighbour(child, rng);
  }

  std::string start_;
  std::int64_t population_ = 0;
  double elite_ = 0;
  double mutants_ = 0;
};

}  // namespace

std::unique_ptr<Agent> MakeGenetic(const Settings& read) {
  return std::make_unique<Genetic>(read);
}

}  // namespace stowplan::agents
