// What to ask without knowing which agent suits: each agent that needs a sample or a few, then for the rest of the budget
// searches that share what they find (team.h), from the best of those. The result is never worse than the best of them under
// the budget, and memory decides first: a placement that fits is before all that do not.
//
// Rules, list schedulers and partitioners are the registry's, in its order, but for `random` and what this task's devices
// exclude (single_gpu without a GPU). Spends the whole budget. Who cannot be asked here is left out, whatever the reason.
#include "agents/search/portfolio.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "agents/agents.h"
#include "agents/search/team.h"
#include "sim/base/error.h"

namespace stowplan::agents {
namespace {

bool Suits(const AgentRow& row, const Task& task) {
  const std::string name = row.name;
  if (name == "single_gpu") return !DevicesOf(task, sim::DeviceClass::kGpu).empty();
  if (name == "cpu_only") return !DevicesOf(task, sim::DeviceClass::kCpu).empty();
  return name != "random" && (row.kind == AgentKind::kBaseline || row.kind == AgentKind::kConstructive);
}

std::string ReasonOf(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    return "this machine has not enough memory for it";
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "it failed";
  }
}

bool IsInputError(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const InputError&) {
    return true;
  } catch (...) {
    return false;
  }
}

class Portfolio final : public Agent, public Composed {
 public:
  Portfolio(const Settings& read, AgentMaker make)
      : Agent(read.Canonical()), plan_(read.Int("plan")), make_(std::move(make)) {}

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    const auto done = [&] { return evaluator.remaining() == 0 || evaluator.stop_requested(); };
    if (done()) return;
    std::vector<std::string> first;
    for (const AgentRow& row : Agents()) {
      if (Suits(row, task)) first.emplace_back(row.name);
    }
    // What anybody lacks is known before the first of them is asked.
    std::vector<Member> members = Ready(first, task, options);
    for (Member& member : members) {
      if (done()) return;
      Ask(member, task, evaluator, options);
    }
    if (done()) return;
    Team({.plan = plan_}, task, evaluator, options,
         {.left_out = [&](const std::string& who, const std::string& why) { LeaveOut(who, why); },
          .sampled = [&](const std::string& who) { Sampled(evaluator.samples(), who); }})
        .Search();
  }

  std::string AuthorOf(std::int64_t sample) const override {
    const std::lock_guard lock(telling_);
    const auto author =
        std::ranges::lower_bound(last_, sample, {}, [](const auto& one) { return one.first; });
    return author == last_.end() ? "" : author->second;
  }
  double SimulationsOfSample() const override { return 16; }
  std::vector<std::string> LeftOut() const override {
    const std::lock_guard lock(telling_);
    return left_out_;
  }

 private:
  struct Member {
    std::string spec;
    std::unique_ptr<Agent> agent;
  };

  // Those that can be asked, on all ranks the same.
  std::vector<Member> Ready(const std::vector<std::string>& specs, const Task& task,
                            const SearchOptions& options) {
    std::vector<Member> ready;
    for (const std::string& spec : specs) {
      std::unique_ptr<Agent> agent;
      std::exception_ptr failure;
      try {
        agent = make_(spec);
        agent->Require(task);
      } catch (...) {
        failure = std::current_exception();
      }
      const std::vector<std::string> reasons = options.ranks->Exchange(failure ? ReasonOf(failure) : "");
      const auto reason = std::ranges::find_if(reasons, [](const std::string& one) { return !one.empty(); });
      if (reason == reasons.end()) {
        ready.push_back({spec, std::move(agent)});
      } else {
        LeaveOut(spec, *reason);
      }
    }
    return ready;
  }

  void Ask(Member& member, const Task& task, Evaluator& evaluator, const SearchOptions& options) {
    const std::int64_t before = evaluator.samples();
    std::exception_ptr failure;
    try {
      member.agent->Search(task, evaluator, options);
    } catch (...) {
      failure = std::current_exception();
      // A sample that failed is nobody's fault here. What another rank does not share would leave that one waiting.
      if (evaluator.failed() || !(options.ranks->alone() || IsInputError(failure))) throw;
    }
    member.agent.reset();
    if (!failure || evaluator.samples() > before) Sampled(evaluator.samples(), member.spec);
    if (failure) LeaveOut(member.spec, ReasonOf(failure));
  }

  void Sampled(std::int64_t last, const std::string& who) {
    const std::lock_guard lock(telling_);
    last_.emplace_back(last, who);
  }

  void LeaveOut(const std::string& spec, const std::string& reason) {
    const std::lock_guard lock(telling_);
    left_out_.push_back(spec.substr(0, spec.find('(')) + ": " + reason);
  }

  std::int64_t plan_ = 0;
  AgentMaker make_;
  mutable std::mutex telling_;                              // of what follows
  std::vector<std::pair<std::int64_t, std::string>> last_;  // sample of each member
  std::vector<std::string> left_out_;
};

}  // namespace

std::unique_ptr<Agent> MakePortfolioOf(const Settings& read, AgentMaker make) {
  return std::make_unique<Portfolio>(read, std::move(make));
}

std::unique_ptr<Agent> MakePortfolio(const Settings& read) {
  return MakePortfolioOf(read, MakeAgent);
}

}  // namespace stowplan::agents
