// The three placers of Baechi (Jeon et al., "Baechi: fast device placement of machine learning graphs", SoCC
// 2020; [code]: what its public code does).
//   m_topo  fills one device after the other in topological order, each up to an equal share of the memory
//   m_etf   earliest task first: the pair of ready op and device with the earliest start is next
//   m_sct   small communication times: m_etf, where devices wait for the favourite child of their last op
// All place on the GPUs (on all devices where there is none): Baechi's devices are alike, and an earliest start
// says nothing of how long an op takes there. Baechi's co-placement and fusion of ops before placing are the
// task's units here; a unit goes where its first op goes, variables, constants and placeholders with their
// first reader (list_schedule.h). Where nothing fits Baechi fails; here the rest goes somewhere, and the
// simulator says what comes of it.
#include <algorithm>
#include <memory>

#include "agents/agents.h"
#include "agents/classical/earliest_first.h"
#include "agents/classical/favourite_children.h"
#include "agents/classical/linear_program.h"

namespace stowplan::agents {
namespace {

using sim::DeviceIndex;

// Each device takes units, in the order of their first op, up to a cap of all persistent and output bytes over
// the number of devices, plus the largest unit [code, of ops in place of units]: that is enough for all units.
// A device is also full once its persistent bytes would not fit; units left at the end go to the last device.
// Baechi looks at no capacity here. One sample. Fails where equal bytes are not equal work.
class Topo final : public Agent {
 public:
  explicit Topo(const Settings& read) : Agent(read.Canonical()) {}

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& /*options*/) override {
    if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
    const std::vector<DeviceIndex> devices = Accelerators(task);
    sim::Bytes all = 0;
    sim::Bytes largest = 0;
    for (std::size_t unit = 0; unit < task.units.ops.size(); ++unit) {
      all += task.persistent[unit] + task.output[unit];
      largest = std::max(largest, task.persistent[unit] + task.output[unit]);
    }
    const sim::Bytes cap = all / static_cast<sim::Bytes>(devices.size()) + largest;

    UnitPlacement placement(task.units.ops.size());
    auto device = devices.begin();
    sim::Bytes used = 0;
    sim::Bytes persistent = 0;
    for (std::size_t unit = 0; unit < placement.size(); ++unit) {
      used += task.persistent[unit] + task.output[unit];
      persistent += task.persistent[unit];
      if ((used > cap || persistent > task.device(*device).capacity()) && device + 1 != devices.end()) {
        ++device;
        used = task.persistent[unit] + task.output[unit];
        persistent = task.persistent[unit];
      }
      placement[unit] = *device;
    }
    evaluator.CountProposal();
    evaluator.Evaluate(placement);
  }
};

// m_etf and m_sct (earliest_first.h). Where the placement does not fit, another is made that leaves an eighth
// more of each device's memory free, up to a half: up to five samples, with memory=no one. Links are taken as
// idle but for the queue at each device. Fails where an op is ready early but its work belongs elsewhere.
//
// m_sct's guarantee asks that no transfer takes longer than the shortest op [recalled]; graphs do not keep it,
// and Baechi runs the rules all the same. favourite_children.h has the program; threshold = 0.1 as in Baechi's
// code. Baechi's program is of all ops at once (window=0); here one of at most `window` ops, as the solver's
// time grows faster than their number: 60,000 ops take seconds in place of minutes.
class EarliestFirstAgent final : public Agent {
 public:
  EarliestFirstAgent(const Settings& read, bool with_favourites)
      : Agent(read.Canonical()), with_favourites_(with_favourites) {
    memory_ = read.Bool("memory");
    if (with_favourites) {
      threshold_ = read.Double("threshold");
      window_ = read.Int("window");
    }
  }

  void Require(const Task& /*task*/) override {
    if (with_favourites_) RequireSolver();
  }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& /*options*/) override {
    if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
    Require(task);
    constexpr double kLargestReserve = 0.5;
    ListSchedule list(task, Accelerators(task));
    std::vector<sim::OpIndex> favourite;
    if (with_favourites_) favourite = FavouriteChildren(list, threshold_, window_);
    PlaceWithinMemory(evaluator, memory_, [&](double caution) {
      return PlaceEarliestFirst(list, favourite, kLargestReserve * caution);
    });
  }

 private:
  bool with_favourites_;
  bool memory_ = true;
  double threshold_ = 0;
  std::int64_t window_ = 0;
};

}  // namespace

std::unique_ptr<Agent> MakeTopo(const Settings& read) {
  return std::make_unique<Topo>(read);
}
std::unique_ptr<Agent> MakeEtf(const Settings& read) {
  return std::make_unique<EarliestFirstAgent>(read, false);
}
std::unique_ptr<Agent> MakeSct(const Settings& read) {
  return std::make_unique<EarliestFirstAgent>(read, true);
}

}  // namespace stowplan::agents
