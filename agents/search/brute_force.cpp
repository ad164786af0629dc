// Every assignment of units to devices, in the order of an odometer whose last unit turns fastest: the exact
// oracle on tiny problems. Refuses what is beyond `limit` assignments or beyond the budget, since a part of
// the assignments proves nothing.
//
// Equal devices are not taken for interchangeable: ties between devices and between transfers are broken by
// their number, so that two placements that differ by a renaming of equal devices may run for different
// times.
#include <algorithm>

#include "agents/agents.h"
#include "sim/base/error.h"

namespace stowplan::agents {
namespace {

constexpr std::int64_t kBatch = 256;

class BruteForce final : public Agent {
 public:
  explicit BruteForce(const Settings& read) : Agent(read.Canonical()), limit_(read.Int("limit")) {}

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& /*options*/) override {
    const std::int64_t assignments = CountAssignments(task, evaluator.remaining());
    std::vector<std::size_t> digits(task.units.ops.size(), 0);  // positions in task.devices
    for (std::int64_t done = 0; done < assignments && !evaluator.stop_requested();) {
      std::vector<UnitPlacement> batch;
      for (; done < assignments && static_cast<std::int64_t>(batch.size()) < kBatch; ++done) {
        batch.emplace_back();
        for (const std::size_t digit : digits) batch.back().push_back(task.devices[digit]);
        evaluator.CountProposal();
        Advance(digits, task.devices.size());
      }
      evaluator.EvaluateBatch(batch);
    }
  }

 private:
  std::int64_t CountAssignments(const Task& task, std::int64_t budget) const {
    const std::string size =
        std::to_string(task.units.size()) + " units on " + std::to_string(task.devices.size()) + " devices";
    std::int64_t count = 1;
    const auto devices = static_cast<std::int64_t>(task.devices.size());
    for (UnitIndex unit = 0; unit < task.units.size(); ++unit) {
      if (count > limit_ / devices) {
        throw InputError(name() + ": " + size + " have more assignments than the limit of " +
                         std::to_string(limit_) +
                         "; take a coarser grouper, fewer devices or a higher limit");
      }
      count *= devices;
    }
    if (count > budget) {
      throw InputError(name() + ": " + size + " have " + std::to_string(count) + " assignments, but only " +
                       std::to_string(budget) + " samples are left to spend; give at least as many");
    }
    return count;
  }

  static void Advance(std::vector<std::size_t>& digits, std::size_t base) {
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
      if (++*digit < base) return;
      *digit = 0;
    }
  }

  std::int64_t limit_ = 0;
};

}  // namespace

std::unique_ptr<Agent> MakeBruteForce(const Settings& read) {
  return std::make_unique<BruteForce>(read);
}

}  // namespace stowplan::agents
