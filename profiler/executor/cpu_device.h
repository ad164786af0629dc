// A device of CPU cores: its thread runs ops one after the other and, between two of them, copies what other
// CPUs send it.
#pragma once

#include "profiler/executor/device.h"

namespace stowplan::profiler {

class CpuDevice : public Device {
 public:
  CpuDevice(Machine& machine, sim::DeviceIndex index);
  void Prepare(const sim::Placement& placement, const ExecuteOptions& options) override;

 protected:
  void Work() override;
  void Send(std::int32_t transfer) override;

 private:
  bool Listen();
  void Receive(std::int32_t transfer);
  void Copy(std::int32_t transfer);  // from another CPU
  void RunOp(sim::OpIndex op);
  void Check(sim::OpIndex op, const PlannedOp& planned);

  Block scratch_ = NewBlock(0);
  std::vector<Block> blocks_;  // fixed ones
};

}  // namespace stowplan::profiler
