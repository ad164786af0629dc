// What to ask without knowing which agent suits: each agent that needs a sample or a few, then `pilot` from the best that
// they found, for the rest of the budget. The result is never worse than the best of them under the budget, and memory
// decides first: a placement that fits is before all that do not.
//
// Rules, list schedulers and partitioners are the registry's, in its order, but for `random` and what this task's devices
// exclude (single_gpu without a GPU). Spends the whole budget.
#include <algorithm>
#include <utility>
#include <vector>

#include "agents/agents.h"

namespace stowplan::agents {
namespace {

bool Suits(const AgentRow& row, const Task& task) {
  const std::string name = row.name;
  if (name == "single_gpu") return !DevicesOf(task, sim::DeviceClass::kGpu).empty();
  if (name == "cpu_only") return !DevicesOf(task, sim::DeviceClass::kCpu).empty();
  return name != "random" && (row.kind == AgentKind::kBaseline || row.kind == AgentKind::kConstructive);
}

class Portfolio final : public Agent, public Composed {
 public:
  explicit Portfolio(const Settings& read) : Agent(read.Canonical()), plan_(read.Int("plan")) {}

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    const auto ask = [&](const std::string& member) {
      MakeAgent(member)->Search(task, evaluator, options);
      last_.emplace_back(evaluator.samples(), member);
    };
    for (const AgentRow& row : Agents()) {
      if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
      if (Suits(row, task)) ask(row.name);
    }
    ask("pilot(plan=" + std::to_string(plan_) + ")");
  }

  std::string AuthorOf(std::int64_t sample) const override {
    const auto author =
        std::ranges::lower_bound(last_, sample, {}, [](const auto& one) { return one.first; });
    return author == last_.end() ? "" : author->second;
  }

 private:
  std::int64_t plan_ = 0;
  std::vector<std::pair<std::int64_t, std::string>> last_;  // sample of each member
};

}  // namespace

std::unique_ptr<Agent> MakePortfolio(const Settings& read) {
  return std::make_unique<Portfolio>(read);
}

}  // namespace stowplan::agents
