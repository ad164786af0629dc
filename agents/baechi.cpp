// The three placers of Baechi (Jeon et al., "Baechi: fast device placement of machine learning graphs", SoCC
// 2020; [code]: what its public code does).
//   m_topo  fills one device after the other in topological order, each up to an equal share of the memory
//   m_etf   earliest task first: the pair of ready op and device with the earliest start is next
//   m_sct   small communication times: m_etf, where devices wait for the favourite child of their last op
// All place on the GPUs (on all devices where there is none): Baechi's devices are alike, and an earliest start
// says nothing of how long an op takes there. Baechi's co-placement and fusion of ops before placing are the
// task's units here. Ops other than sources, units and memory of m_etf and m_sct: list_schedule.h. Baechi
// instead frees an output in the order of the schedule once it was read last, and fails where nothing fits.
#include <algorithm>
#include <memory>

#include "agents/agents.h"
#include "agents/earliest_first.h"
#include "agents/favourite_children.h"

namespace berth::agents {
namespace {

using sim::DeviceIndex;

// Each device takes units, in the order of their first op, up to a cap of all persistent and output bytes over
// the number of devices, plus the largest unit [code: m_topo.py, ops in place of units]: that is enough for
// all units. A device is also full once its persistent bytes would not fit; units left at the end go to the last
// device. Baechi looks at capacities nowhere here. One sample. Fails where equal bytes are not equal work.
class Topo final : public Agent {
 public:
  explicit Topo(const Spec& spec) {
    ParameterReader parameters(spec);
    parameters.Finish();
    name_ = parameters.Canonical();
  }

  std::string name() const override { return name_; }

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

 private:
  std::string name_;
};

// Up to five samples, with memory=no one. Fails where an op is ready early whose work belongs elsewhere.
class Etf final : public Agent {
 public:
  explicit Etf(const Spec& spec) {
    ParameterReader parameters(spec);
    memory_ = parameters.Bool("memory", true);
    parameters.Finish();
    name_ = parameters.Canonical();
  }

  std::string name() const override { return name_; }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& /*options*/) override {
    ListSchedule list(task, Accelerators(task));
    PlaceWithinMemory(evaluator, memory_, [&](double share) { return PlaceEarliestFirst(list, {}, share); });
  }

 private:
  std::string name_;
  bool memory_ = true;
};

class Sct final : public Agent {
 public:
  explicit Sct(const Spec& spec) {
    ParameterReader parameters(spec);
    memory_ = parameters.Bool("memory", true);
    threshold_ = parameters.Double("threshold", 0.1, 0, 0.49);
    window_ = parameters.Int("window", 5000, 0);
    parameters.Finish();
    name_ = parameters.Canonical();
  }

  std::string name() const override { return name_; }

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& /*options*/) override {
    if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
    ListSchedule list(task, Accelerators(task));
    const std::vector<sim::OpIndex> favourite = FavouriteChildren(list, threshold_, window_);
    PlaceWithinMemory(evaluator, memory_,
                      [&](double share) { return PlaceEarliestFirst(list, favourite, share); });
  }

 private:
  std::string name_;
  bool memory_ = true;
  double threshold_ = 0.1;
  std::int64_t window_ = 5000;
};

}  // namespace

std::unique_ptr<Agent> MakeTopo(const Spec& spec) {
  return std::make_unique<Topo>(spec);
}
std::unique_ptr<Agent> MakeEtf(const Spec& spec) {
  return std::make_unique<Etf>(spec);
}
std::unique_ptr<Agent> MakeSct(const Spec& spec) {
  return std::make_unique<Sct>(spec);
}

}  // namespace berth::agents
