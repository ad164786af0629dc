// Everything on one device: `cpu_only` on the first CPU, `single_gpu` on the first GPU among the devices that
// may be chosen. One sample.
#include "agents/agents.h"
#include "sim/base/error.h"

namespace stowplan::agents {
namespace {

class SingleDevice final : public Agent {
 public:
  SingleDevice(const Settings& read, sim::DeviceClass device_class)
      : Agent(read.Canonical()), device_class_(device_class) {}

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& /*options*/) override {
    if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
    const std::vector<sim::DeviceIndex> devices = DevicesOf(task, device_class_);
    if (devices.empty()) {
      std::vector<std::string> names;
      for (const sim::DeviceIndex d : task.devices) names.push_back(task.device(d).name);
      throw InputError(name() + " needs a device of class " + sim::ToString(device_class_) +
                       ", but there are only " + JoinNames(names) + " to place on");
    }
    evaluator.CountProposal();
    evaluator.Evaluate(UnitPlacement(task.units.ops.size(), devices.front()));
  }

 private:
  sim::DeviceClass device_class_;
};

}  // namespace

std::unique_ptr<Agent> MakeCpuOnly(const Settings& read) {
  return std::make_unique<SingleDevice>(read, sim::DeviceClass::kCpu);
}
std::unique_ptr<Agent> MakeSingleGpu(const Settings& read) {
  return std::make_unique<SingleDevice>(read, sim::DeviceClass::kGpu);
}

}  // namespace stowplan::agents
