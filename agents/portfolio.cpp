// What to ask without knowing which agent suits: each agent that needs a sample or a few, then `pilot` from the best that
// they found, for the rest of the budget. The result is never worse than the best of them under the budget, and memory
// decides first: a placement that fits is before all that do not.
//
// Of the baselines and constructive agents it leaves out those that this task's devices exclude (single_gpu without a GPU)
// and `random`. Spends the whole budget.
#include "agents/agents.h"
#include "sim/error.h"

namespace berth::agents {
namespace {

constexpr const char* kRules[] = {"single_gpu", "cpu_only", "expert", "round_robin",   "m_topo", "m_etf",
                                  "m_sct",      "heft",     "metis",  "critical_path", "scotch"};

bool Suits(const std::string& rule, const Task& task) {
  if (rule == "single_gpu") return !DevicesOf(task, sim::DeviceClass::kGpu).empty();
  if (rule == "cpu_only") return !DevicesOf(task, sim::DeviceClass::kCpu).empty();
  return true;
}

class Portfolio final : public Agent {
 public:
  explicit Portfolio(const Spec& spec) {
    ParameterReader parameters(spec);
    parameters.Finish();
    name_ = parameters.Canonical();
  }

  std::string name() const override { return name_; }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    for (const char* rule : kRules) {
      if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
      if (Suits(rule, task)) MakeAgent(rule)->Search(task, evaluator, options);
    }
    MakeAgent("pilot")->Search(task, evaluator, options);
  }

 private:
  std::string name_;
};

}  // namespace

std::unique_ptr<Agent> MakePortfolio(const Spec& spec) {
  return std::make_unique<Portfolio>(spec);
}

}  // namespace berth::agents
