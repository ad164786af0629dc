#include "profiler/executor/device_group.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "profiler/executor/accelerator_device.h"
#include "profiler/executor/cpu_device.h"
#include "profiler/executor/device_thread.h"
#include "sim/base/error.h"

namespace stowplan::profiler {
namespace {

using sim::DeviceIndex;
using sim::OpIndex;

void CheckParts(const sim::Cluster& cluster, const CoresByDevice& cores, const ExecutorParts& parts) {
  for (const sim::Device& device : cluster.devices) {
    const bool cpu = device.device_class == sim::DeviceClass::kCpu;
    if (cpu ? parts.cpu_kernel == nullptr : parts.accelerator == nullptr)
      throw InputError("device " + device.name + " of cluster " + cluster.name + " is of kind " +
                       device.kind + ", but this executor " +
                       (cpu ? "has nothing that runs ops on a CPU" : "on CPU threads wants CPUs alone"));
  }
  if (cores.size() != cluster.devices.size())
    throw InputError("cluster " + cluster.name + " has " + std::to_string(cluster.devices.size()) +
                     " devices, but cores are given for " + std::to_string(cores.size()));
  const std::vector<int>* of_cpus = nullptr;
  for (std::size_t d = 0; d < cores.size(); ++d) {
    if (cluster.devices[d].device_class != sim::DeviceClass::kCpu) continue;
    if (of_cpus != nullptr && cores[d].size() != of_cpus->size())
      throw InputError("the CPUs of cluster " + cluster.name + " must have as many cores as one another");
    of_cpus = &cores[d];
  }
}

class DeviceGroup : public Executor {
 public:
  DeviceGroup(const sim::OpGraph& graph, const sim::Cluster& cluster, const CoresByDevice& cores,
              ExecutorParts parts)
      : machine_(graph, cluster, parts.cpu_blocks),
        stand_ins_(std::move(parts.stand_ins)),
        facts_(std::move(parts.facts)),
        measure_pace_(parts.measure_pace) {
    // oneDNN lays a primitive out for the threads that its maker may use.
    for (DeviceIndex d = 0; d < cluster.size() && machine_.kernels.empty(); ++d)
      if (machine_.OnCpu(d)) OnDevice(cores[static_cast<std::size_t>(d)], [&] { MakeKernels(parts); });
    for (DeviceIndex d = 0; d < cluster.size(); ++d) {
      if (machine_.OnCpu(d)) {
        machine_.devices.push_back(std::make_unique<CpuDevice>(machine_, d));
      } else {
        machine_.devices.push_back(std::make_unique<AcceleratorDevice>(machine_, d, parts.accelerator(d)));
      }
    }
    for (std::size_t d = 0; d < machine_.devices.size(); ++d)
      threads_.emplace_back([this, d, mine = cores[d]] { Serve(d, mine); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return idle_ == threads_.size(); });
    if (failure_ != nullptr) {
      lock.unlock();
      Join();
      std::rethrow_exception(failure_);
    }
  }
  ~DeviceGroup() override { Join(); }
  DeviceGroup(const DeviceGroup&) = delete;
  DeviceGroup& operator=(const DeviceGroup&) = delete;

  std::vector<ExecutedStep> Run(const sim::Placement& placement, const ExecuteOptions& options) override {
    machine_.plan = MakePlan(machine_.graph, machine_.cluster, placement);
    machine_.values.Prepare(machine_.graph);
    const DeviceIndex devices = machine_.cluster.size();
    std::vector<std::size_t> messages(static_cast<std::size_t>(devices * devices));
    for (const PlannedTransfer& transfer : machine_.plan.transfers) {
      ++messages[static_cast<std::size_t>(transfer.from * devices + transfer.to)];
      ++messages[static_cast<std::size_t>(transfer.to * devices + transfer.from)];
    }
    for (std::size_t r = 0; r < messages.size(); ++r) machine_.rings[r].Prepare(messages[r]);
    machine_.asked = std::vector<std::atomic<bool>>(machine_.plan.transfers.size());
    machine_.counted = std::vector<std::atomic<std::int32_t>>(machine_.plan.storages.size());
    for (const auto& device : machine_.devices) device->Prepare(placement, options);
    options_ = options;
    steps_.clear();
    for (const auto& device : machine_.devices) {
      if (!device->oom) continue;
      steps_.push_back({.peak = std::vector<sim::Bytes>(machine_.devices.size()),
                        .oom = device->oom,
                        .exhausted = device->exhausted});
      return std::move(steps_);
    }
    run_ = 0;
    undisturbed_ = 0;
    go_on_ = options.warm_up + options.steps > 0;
    machine_.stop = false;

    std::unique_lock lock(mutex_);
    failure_ = nullptr;
    failed_ = false;
    idle_ = 0;
    ++job_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return idle_ == threads_.size(); });
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    return std::move(steps_);
  }

  const std::vector<OpIndex>& stand_ins() const override { return stand_ins_; }
  const sim::Attributes& facts() const override { return facts_; }

 private:
  void MakeKernels(const ExecutorParts& parts) {
    for (OpIndex op = 0; op < machine_.graph.size(); ++op) {
      MadeKernel made = parts.cpu_kernel(machine_.graph, op);
      if (made.stand_in) stand_ins_.push_back(op);
      machine_.kernels.push_back(std::move(made.kernel));
    }
    std::sort(stand_ins_.begin(), stand_ins_.end());
    stand_ins_.erase(std::unique(stand_ins_.begin(), stand_ins_.end()), stand_ins_.end());
  }

  void Join() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

  // What fails on a device ends the job for all; the first that failed is told.
  template <typename Work>
  void Guarded(const Work& work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (failure_ == nullptr) failure_ = std::current_exception();
      machine_.stop = true;
      failed_ = true;
    }
  }

  // The life of one device's thread.
  void Serve(std::size_t d, const std::vector<int>& cores) {
    Guarded([&] { BecomeDevice(cores); });
    std::unique_lock lock(mutex_);
    for (std::int64_t seen = job_;; seen = job_) {
      ++idle_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return over_ || job_ != seen; });
      if (over_) return;
      lock.unlock();
      RunSteps(d);
      lock.lock();
    }
  }

  void RunSteps(std::size_t d) {
    Device& device = *machine_.devices[d];
    while (go_on_) {
      if (options_.pause_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(options_.pause_us));
      Guarded([&] { device.Reset(); });
      machine_.barrier.Wait();
      const bool before = AtPace();
      machine_.barrier.Wait();
      // Nobody may send to a device that is not ready to receive.
      if (!failed_) Guarded([&] { device.RunStep(); });
      machine_.barrier.Wait();
      device.off_pace = !AtPace() || !before;
      machine_.barrier.Wait();
      if (d == 0) EndStep();
      machine_.barrier.Wait();
    }
  }

  bool AtPace() const {
    return measure_pace_ == nullptr || options_.pace.ns == 0 || options_.pace.Holds(measure_pace_());
  }

  // By device 0, while the others wait.
  void EndStep() {
    if (failed_) {
      go_on_ = false;
      return;
    }
    ExecutedStep step;
    std::int64_t start = machine_.devices[0]->start_ns;
    std::int64_t last = start;
    for (const auto& device : machine_.devices) {
      start = std::min(start, device->start_ns);
      last = std::max(last, device->start_ns);
    }
    // A device that comes late had lost its core behind the barrier, which no counter tells.
    constexpr std::int64_t kLate = 20'000;
    step.disturbed = last - start > kLate;
    for (const auto& device : machine_.devices) {
      step.ns = std::max(step.ns, device->end_ns - start);
      step.disturbed = step.disturbed || device->disturbed || device->off_pace;
      step.peak.push_back(device->peak());
      if (device->oom && !step.oom) {
        step.oom = device->oom;
        step.exhausted = device->exhausted;
      }
      if (device->not_finite >= 0) step.not_finite = device->not_finite;
      // An accelerator's clock is known to within microseconds: nothing ran before the step began.
      const auto shift = [start](auto& span) {
        span.start_ns = std::max<std::int64_t>(span.start_ns - start, 0);
        span.end_ns = std::max(span.end_ns - start, span.start_ns);
      };
      for (OpSpan span : device->op_spans) {
        shift(span);
        span.enqueuing_ns = std::min(span.enqueuing_ns, span.end_ns - span.start_ns);
        step.ops.push_back(span);
      }
      for (CopySpan span : device->copy_spans) {
        shift(span);
        step.copies.push_back(span);
      }
    }
    ++run_;
    const bool out_of_memory = step.oom.has_value();
    if (run_ > options_.warm_up || out_of_memory) {
      undisturbed_ += step.disturbed ? 0 : 1;
      steps_.push_back(std::move(step));
    }
    const int kept = run_ - options_.warm_up;
    go_on_ = !out_of_memory &&
             (kept < options_.steps || (undisturbed_ < options_.steps && kept < options_.at_most));
  }

  Machine machine_;
  std::vector<OpIndex> stand_ins_;
  sim::Attributes facts_;
  std::function<std::int64_t()> measure_pace_;
  std::vector<std::thread> threads_;

  std::mutex mutex_;  // of what follows up to the blank line
  std::condition_variable changed_;
  std::size_t idle_ = 0;
  std::int64_t job_ = 0;
  bool over_ = false;
  std::exception_ptr failure_;

  std::atomic<bool> failed_ = false;
  ExecuteOptions options_;  // of the job; what follows belongs to device 0 while it runs
  std::vector<ExecutedStep> steps_;
  int run_ = 0;
  int undisturbed_ = 0;
  bool go_on_ = false;  // read by all between barriers
};

}  // namespace

std::unique_ptr<Executor> MakeExecutor(const sim::OpGraph& graph, const sim::Cluster& cluster,
                                       const CoresByDevice& cores, ExecutorParts parts) {
  CheckParts(cluster, cores, parts);
  return std::make_unique<DeviceGroup>(graph, cluster, cores, std::move(parts));
}

}  // namespace stowplan::profiler
