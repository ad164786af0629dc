// The executor on plain CPU threads: one for each device, started once, which run step after step together.
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "profiler/executor/cpu_device.h"
#include "sim/error.h"

namespace berth::profiler {
namespace {

class CpuExecutor : public Executor {
 public:
  CpuExecutor(const sim::OpGraph& graph, const sim::Cluster& cluster,
              const std::vector<std::vector<int>>& cores)
      : machine_(graph, cluster) {
    for (const sim::Device& device : cluster.devices) {
      if (device.device_class != sim::DeviceClass::kCpu)
        throw InputError("device " + device.name + " of cluster " + cluster.name + " is of kind " +
                         device.kind + ", but the executor on CPU threads wants CPUs alone");
    }
    if (cores.size() != cluster.devices.size())
      throw InputError("cluster " + cluster.name + " has " + std::to_string(cluster.devices.size()) +
                       " devices, but cores are given for " + std::to_string(cores.size()));
    for (const std::vector<int>& mine : cores) {
      if (mine.size() != cores.front().size())
        throw InputError("the devices of cluster " + cluster.name +
                         " must have as many cores as one another");
    }
    // oneDNN lays a primitive out for the threads that its maker may use.
    OnDevice(cores.front(), [&] {
      for (OpIndex op = 0; op < graph.size(); ++op) {
        MadeKernel made = MakeKernel(graph, op);
        if (made.stand_in) stand_ins_.push_back(op);
        machine_.kernels.push_back(std::move(made.kernel));
      }
    });
    for (DeviceIndex d = 0; d < cluster.size(); ++d)
      devices_.push_back(std::make_unique<CpuDevice>(machine_, d));
    for (const auto& device : devices_) {
      for (const auto& other : devices_) device->others.push_back(other.get());
    }
    for (std::size_t d = 0; d < devices_.size(); ++d)
      threads_.emplace_back([this, d, mine = cores[d]] { Serve(d, mine); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return idle_ == threads_.size(); });
    if (failure_ != nullptr) {
      lock.unlock();
      Join();
      std::rethrow_exception(failure_);
    }
  }
  ~CpuExecutor() override { Join(); }
  CpuExecutor(const CpuExecutor&) = delete;
  CpuExecutor& operator=(const CpuExecutor&) = delete;

  std::vector<Step> Run(const sim::Placement& placement, const ExecuteOptions& options) override {
    machine_.plan = MakePlan(machine_.graph, machine_.cluster, placement);
    machine_.values.Prepare(machine_.graph);
    const auto devices = static_cast<DeviceIndex>(devices_.size());
    std::vector<std::size_t> messages(static_cast<std::size_t>(devices * devices));
    for (const PlannedTransfer& transfer : machine_.plan.transfers) {
      ++messages[static_cast<std::size_t>(transfer.from * devices + transfer.to)];
      ++messages[static_cast<std::size_t>(transfer.to * devices + transfer.from)];
    }
    for (std::size_t r = 0; r < messages.size(); ++r) machine_.rings[r].Prepare(messages[r]);
    machine_.asked = std::vector<std::atomic<bool>>(machine_.plan.transfers.size());
    machine_.counted = std::vector<std::atomic<std::int32_t>>(machine_.plan.storages.size());
    for (const auto& device : devices_) device->Prepare(placement, options);
    options_ = options;
    steps_.clear();
    run_ = 0;
    undisturbed_ = 0;
    go_on_ = options.warm_up + options.steps > 0;
    machine_.stop = false;

    std::unique_lock lock(mutex_);
    idle_ = 0;
    ++job_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return idle_ == threads_.size(); });
    return std::move(steps_);
  }

  const std::vector<OpIndex>& stand_ins() const override { return stand_ins_; }

 private:
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

  // The life of one device's thread.
  void Serve(std::size_t d, const std::vector<int>& cores) {
    std::exception_ptr failure;
    try {
      BecomeDevice(cores);
    } catch (...) {
      failure = std::current_exception();
    }
    std::unique_lock lock(mutex_);
    if (failure != nullptr) failure_ = failure;
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
    while (go_on_) {
      if (options_.pause_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(options_.pause_us));
      devices_[d]->Reset();
      machine_.barrier.Wait();
      const bool before = options_.pace.Holds(MeasurePace());
      machine_.barrier.Wait();
      devices_[d]->RunStep();
      machine_.barrier.Wait();
      devices_[d]->off_pace = !options_.pace.Holds(MeasurePace()) || !before;
      machine_.barrier.Wait();
      if (d == 0) EndStep();
      machine_.barrier.Wait();
    }
  }

  // By device 0, while the others wait.
  void EndStep() {
    Step step;
    std::int64_t start = devices_[0]->start_ns;
    std::int64_t last = start;
    for (const auto& device : devices_) {
      start = std::min(start, device->start_ns);
      last = std::max(last, device->start_ns);
    }
    // A device that comes late had lost its core behind the barrier, which no counter tells.
    constexpr std::int64_t kLate = 20'000;
    step.disturbed = last - start > kLate;
    for (const auto& device : devices_) {
      step.ns = std::max(step.ns, device->end_ns - start);
      step.disturbed = step.disturbed || device->disturbed || device->off_pace;
      step.peak.push_back(device->peak());
      if (device->oom && !step.oom) step.oom = device->oom;
      if (device->not_finite >= 0) step.not_finite = device->not_finite;
      for (OpSpan span : device->op_spans) {
        span.start_ns -= start;
        span.end_ns -= start;
        step.ops.push_back(span);
      }
      for (CopySpan span : device->copy_spans) {
        span.start_ns -= start;
        span.end_ns -= start;
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
  std::vector<std::unique_ptr<CpuDevice>> devices_;
  std::vector<std::thread> threads_;

  std::mutex mutex_;  // of what follows up to the blank line
  std::condition_variable changed_;
  std::size_t idle_ = 0;
  std::int64_t job_ = 0;
  bool over_ = false;
  std::exception_ptr failure_;

  ExecuteOptions options_;  // of the job; what follows belongs to device 0 while it runs
  std::vector<Step> steps_;
  int run_ = 0;
  int undisturbed_ = 0;
  bool go_on_ = false;  // read by all between barriers
};

}  // namespace

std::unique_ptr<Executor> MakeCpuExecutor(const sim::OpGraph& graph, const sim::Cluster& cluster,
                                          const std::vector<std::vector<int>>& cores) {
  return std::make_unique<CpuExecutor>(graph, cluster, cores);
}

}  // namespace berth::profiler
