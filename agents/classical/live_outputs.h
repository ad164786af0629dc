// Memory of outputs and their copies in the order of a schedule in the making: taken when an op is scheduled,
// given back when all that read its outputs or a view of them are.
#pragma once

#include <utility>
#include <vector>

#include "agents/classical/list_schedule.h"

namespace stowplan::agents {

// The bytes of its outputs that are its own storage.
sim::Bytes OwnOutputBytes(const sim::Op& op);

class LiveOutputs {
 public:
  // Keeps a reference.
  explicit LiveOutputs(ListSchedule& list);

  // The op, whose unit has a device, holds its outputs there; until its first LetGo() at least.
  void Hold(sim::OpIndex op);
  // A copy of one of its outputs is on another device.
  void Copy(sim::OpIndex op, sim::DeviceIndex d, sim::Bytes bytes);
  // To be called once by the op itself after Hold(), and once by each of its consumers.
  void LetGo(sim::OpIndex op);

 private:
  ListSchedule& list_;
  std::vector<std::int32_t> holders_;  // by op: itself, its consumers, ops with views of its outputs
  std::vector<std::vector<sim::OpIndex>> viewed_;  // by op: whose outputs its own are views of
  std::vector<std::vector<std::pair<sim::DeviceIndex, sim::Bytes>>> copies_;  // by op
};

}  // namespace stowplan::agents
