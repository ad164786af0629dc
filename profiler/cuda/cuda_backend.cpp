// What the plug-in gives to stowplan-profile (profiler/backend.h).
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "profiler/backend.h"
#include "profiler/cuda/check.h"
#include "profiler/cuda/cuda_accelerator.h"
#include "profiler/cuda/cupti_activity.h"
#include "profiler/cuda/probe_table.h"
#include "profiler/cuda/sm_partition.h"
#include "profiler/executor/device_group.h"
#include "sim/base/error.h"
#include "sim/base/plugin_interface.h"
#include "sim/base/process.h"
#include "stowplan_interface.h"

namespace stowplan::profiler::cuda {
namespace {

std::string VersionText(int version) {  // 13000 is "13.0"
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// As nvidia-smi names the device in use: its own numbers do not follow CUDA_VISIBLE_DEVICES.
std::string UuidText(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    const bool group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    text += fmt::format("{}{:02x}", group ? "-" : "", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

// What the driver's own tool answers about the device in use; empty without the tool.
std::string Ask(const std::string& query) {
  int device = 0;
  cudaDeviceProp properties{};
  if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&properties, device) != cudaSuccess)
    return "";
  constexpr ProcessLimits kLimits{.time = std::chrono::seconds(10), .output = 1 << 20};
  const ProcessResult told =
      RunProcess({"nvidia-smi", query, "--format=csv,noheader", "-i", UuidText(properties.uuid)}, kLimits,
                 Process::Stream::kNull);
  return told.failure.empty() ? told.output : "";  // what it refuses it says on standard output
}

// Its answers to these questions; null without the tool.
sim::Attribute AskDriver(const std::string& fields) {
  const std::string told = Ask("--query-gpu=" + fields);
  if (told.empty()) return {};
  std::istringstream answers(told.substr(0, told.find('\n'))), names(fields);
  sim::Attributes facts;
  std::string name, answer;
  while (std::getline(names, name, ',') && std::getline(answers, answer, ',')) {
    const auto begin = answer.find_first_not_of(" \n"), end = answer.find_last_not_of(" \n");
    facts.emplace_back(
        name, sim::Attribute{begin == std::string::npos ? "" : answer.substr(begin, end - begin + 1)});
  }
  return {facts};
}

// For the recording: why ops have stand-ins, the algorithms that were chosen, how the GPU was divided.
sim::Attributes Facts(const KernelTable<GpuKernel>& table, const SmPartition* partition) {
  sim::Attributes facts;
  sim::Attribute::List reasons;
  for (const auto& [type, reason] : table.reasons)
    reasons.push_back({sim::Attributes{{"type", {type}}, {"reason", {reason}}}});
  if (!reasons.empty()) facts.emplace_back("stand_in_reasons", sim::Attribute{std::move(reasons)});
  facts.emplace_back("convolutions", ChosenConvolutions());
  if (partition != nullptr) {
    sim::Attribute::List counts;
    for (const int count : partition->multiprocessors()) counts.push_back({std::int64_t{count}});
    facts.emplace_back("multiprocessors", sim::Attribute{std::move(counts)});
  }
  return facts;
}

// Device 0. Asks without making a context, so that a recorded program has the device to itself.
class CudaBackend : public Backend {
 public:
  CudaBackend() {
    // Three streams for each accelerator must not wait for one another in 8 hardware queues. Before the first call.
    ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0) {
      throw Unavailable(fmt::format("CUDA finds no device ({})", status == cudaSuccess
                                                                     ? "the driver lists none"
                                                                     : cudaGetErrorString(status)));
    }
    STOWPLAN_CUDA(cudaGetDeviceProperties(&properties_, 0));
  }

  sim::Attributes Machine() const override {
    return {{"gpu", {std::string(properties_.name)}},
            {"gpu_memory_bytes", {static_cast<std::int64_t>(properties_.totalGlobalMem)}},
            {"gpu_multiprocessors", {std::int64_t{properties_.multiProcessorCount}}},
            {"gpu_capability", {fmt::format("{}.{}", properties_.major, properties_.minor)}},
            {"gpu_copy_engines", {std::int64_t{properties_.asyncEngineCount}}},
            {"gpu_l2_bytes", {std::int64_t{properties_.l2CacheSize}}},
            {"gpu_ecc", {properties_.ECCEnabled != 0}},
            {"gpu_settings", AskDriver("driver_version,vbios_version,pcie.link.gen.max,pcie.link.width.max,"
                                       "clocks.max.sm,clocks.max.memory,power.limit,mig.mode.current")}};
  }

  sim::Attributes Software() const override {
    int driver = 0, runtime = 0, blas = 0;
    STOWPLAN_CUDA(cudaDriverGetVersion(&driver));
    STOWPLAN_CUDA(cudaRuntimeGetVersion(&runtime));
    cublasHandle_t handle = nullptr;
    STOWPLAN_CUDA(cublasCreate(&handle));
    cublasGetVersion(handle, &blas);
    cublasDestroy(handle);
    return {{"cuda_driver", {VersionText(driver)}},
            {"cuda_runtime", {VersionText(runtime)}},
            {"cublas", {std::int64_t{blas}}},
            {"cudnn", {static_cast<std::int64_t>(cudnnGetVersion())}},
            {"cupti", {CuptiActivity::Version()}}};
  }

  sim::Attribute Clocks() const override {
    return AskDriver(
        "clocks.sm,clocks.memory,temperature.gpu,power.draw,pcie.link.gen.current,"
        "pcie.link.width.current,clocks_throttle_reasons.active");
  }

  std::vector<std::string> Disturbances() const override {
    std::vector<std::string> found;
    std::istringstream lines(Ask("--query-compute-apps=pid"));
    std::vector<std::string> others;
    for (std::string line; std::getline(lines, line);) {
      const bool number = !line.empty() && line.find_first_not_of("0123456789") == line.npos;
      if (number && line != std::to_string(::getpid())) others.push_back(line);
    }
    if (!others.empty())
      found.push_back(fmt::format("other processes use the GPU (pid {}): what is measured is of a shared GPU",
                                  fmt::join(others, ", ")));
    if (std::string_view(properties_.name).find("MIG") != std::string_view::npos)
      found.push_back(
          fmt::format("{} is a slice of a GPU: what is measured is of the slice", properties_.name));
    return found;
  }

  sim::Attribute Run(const Probe& probe, const MeasureOptions& options) override {
    const MeasureProbe measure = FindMeasurement(probe.name);
    STOWPLAN_CHECK(measure != nullptr);
    return measure(probe, options);
  }
  sim::Attribute RunOps(const sim::OpGraph& graph, const MeasureOptions& options) override {
    return MeasureGraphOps(graph, options);
  }

  std::optional<sim::Bytes> FreeMemory() const override {
    std::size_t free = 0, total = 0;
    STOWPLAN_CUDA(cudaMemGetInfo(&free, &total));
    return static_cast<sim::Bytes>(free);
  }

  std::unique_ptr<Executor> MakeGraphExecutor(const sim::OpGraph& graph, const sim::Cluster& cluster,
                                              const CoresByDevice& cores, Backend* cpu,
                                              const GraphRunOptions& options) override {
    std::shared_ptr<const GraphKernels> kernels;
    {
      const Stream stream;
      const Libraries libraries(stream);
      kernels =
          std::make_shared<const GraphKernels>(MakeGraphKernels(graph, libraries, options.stand_in_types));
      stream.Wait();
    }
    std::shared_ptr<const SmPartition> partition;
    std::vector<double> shares;
    std::vector<std::size_t> part_of(cluster.devices.size());
    for (std::size_t d = 0; d < options.sm_shares.size(); ++d) {
      if (cluster.devices[d].device_class == sim::DeviceClass::kCpu) continue;
      part_of[d] = shares.size();
      shares.push_back(options.sm_shares[d]);
    }
    if (!shares.empty()) partition = std::make_shared<const SmPartition>(shares);

    ExecutorParts parts;
    parts.cpu_blocks = NewPinnedBlock;
    if (cpu != nullptr) {
      parts.cpu_kernel = [cpu](const sim::OpGraph& of, sim::OpIndex op) {
        return cpu->MakeKernelOnCpu(of, op);
      };
    }
    const auto clock = std::make_shared<GpuClock>();
    parts.accelerator = [=, first = true](sim::DeviceIndex device) mutable {
      const std::size_t part = part_of[static_cast<std::size_t>(device)];
      return std::make_unique<CudaAccelerator>(
          kernels, partition == nullptr ? Stream() : SmPartition::NewStream(partition, part), clock,
          std::exchange(first, false));
    };
    parts.stand_ins = kernels->table.stand_ins;
    parts.facts = Facts(kernels->table, partition.get());
    return MakeExecutor(graph, cluster, cores, std::move(parts));
  }

 private:
  cudaDeviceProp properties_{};
};

}  // namespace
}  // namespace stowplan::profiler::cuda

STOWPLAN_EXPORT_INTERFACE(STOWPLAN_INTERFACE);

extern "C" __attribute__((visibility("default"))) std::unique_ptr<stowplan::profiler::Backend>
stowplan_profiler_backend();

std::unique_ptr<stowplan::profiler::Backend> stowplan_profiler_backend() {
  return std::make_unique<stowplan::profiler::cuda::CudaBackend>();
}
