// What ops compute on a GPU against what the CPU's kernels do. Without a GPU the CPU's half is tested, and that the samples
// know every type.
#include "profiler/backend.h"
#include "profiler/cpu/cpu_kernels.h"
#include "profiler/cuda/cuda_accelerator.h"
#include "profiler/cuda/gpu_kernels.h"
#include "profiler/cuda/sm_partition.h"
#include "profiler/executor/device_group.h"
#include "profiler/host_machine.h"
#include "tests/profiler/cuda/op_samples.h"
#include "tests/testing.h"

namespace stowplan::profiler::cuda {
namespace {

using testing::Numbers;
using testing::OpSample;
using testing::OpSamples;
using testing::SampleNumbers;

bool HasGpu() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0;
}

// The tensors of a sample's op: what each holds before, and which are one.
struct Tensors {
  explicit Tensors(const OpSample& sample) : op(sample.graph.ops[static_cast<std::size_t>(sample.op)]) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const sim::OpIndex producer = op.inputs[i].op;
      const sim::Op& source = sample.graph.ops[static_cast<std::size_t>(producer)];
      const auto words =
          static_cast<std::size_t>(std::max(source.outputs[0].bytes, source.persistent_bytes)) / 4;
      before.push_back(SampleNumbers(producer, source.outputs[0], words));
    }
    variable = !op.inputs.empty() && sample.graph.ops[0].type == "Variable";
    for (const sim::Output& output : op.outputs) {
      shares_first.push_back(output.storage == sim::Output::Storage::kInput);
      before.emplace_back(shares_first.back() ? 0 : static_cast<std::size_t>(output.bytes) / 4, 7.F);
    }
  }
  const sim::Op& op;
  std::vector<Numbers> before;  // inputs, outputs; empty for what shares input 0
  std::vector<bool> shares_first;
  bool variable = false;  // input 0 has slots

  // As `Run` of a kernel wants them, from the pointers to `before`.
  template <typename Run>
  void Call(const std::vector<void*>& blocks, void* scratch, const Run& run) const {
    const auto inputs_end = blocks.begin() + static_cast<std::ptrdiff_t>(op.inputs.size());
    const std::vector<void*> inputs(blocks.begin(), inputs_end);
    std::vector<void*> outputs(inputs_end, blocks.end());
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (shares_first[i]) outputs[i] = inputs[0];
    run(KernelArguments{
        .inputs = &inputs, .outputs = &outputs, .slots = variable ? inputs[0] : nullptr, .scratch = scratch});
  }
};

// All tensors after the op.
std::vector<Numbers> RunOnCpu(const OpSample& sample) {
  MadeKernel made = MakeCpuKernel(sample.graph, sample.op);
  EXPECT_FALSE(made.stand_in) << sample.name;
  const Tensors tensors(sample);
  std::vector<Block> blocks;
  std::vector<void*> pointers;
  for (const Numbers& numbers : tensors.before) {
    blocks.push_back(NewBlock(static_cast<sim::Bytes>(numbers.size() * 4)));
    pointers.push_back(blocks.back().get());
    std::copy(numbers.begin(), numbers.end(), static_cast<float*>(pointers.back()));
  }
  const Block scratch = NewBlock(made.kernel->scratch_bytes());
  std::memset(scratch.get(), 0, static_cast<std::size_t>(made.kernel->scratch_bytes()));
  tensors.Call(pointers, scratch.get(), [&](const KernelArguments& a) { made.kernel->Run(a); });
  std::vector<Numbers> after = tensors.before;
  for (std::size_t i = 0; i < after.size(); ++i)
    std::copy_n(static_cast<const float*>(pointers[i]), after[i].size(), after[i].begin());
  return after;
}

std::vector<Numbers> RunOnGpu(const OpSample& sample, const Libraries& libraries, Tf32 tf32) {
  MakingOf making{libraries, tf32};
  std::optional<GpuKernel> kernel;
  try {
    kernel = MakeGpuKernel(OpTensors(sample.graph, sample.op), making);
  } catch (const Unavailable&
               reason) {  // a convolution that this cuDNN does not have: a stand-in, when it is executed
    std::cerr << sample.name << ": " << reason.what() << '\n';
    return RunOnCpu(sample);
  }
  EXPECT_TRUE(kernel) << sample.name;
  if (!kernel) return {};
  const Tensors tensors(sample);
  std::vector<DeviceBuffer> buffers;
  std::vector<void*> pointers;
  for (const Numbers& numbers : tensors.before) {
    buffers.emplace_back(std::max<std::size_t>(numbers.size(), 1) * 4);
    pointers.push_back(buffers.back().get());
    STOWPLAN_CUDA(cudaMemcpy(pointers.back(), numbers.data(), numbers.size() * 4, cudaMemcpyHostToDevice));
  }
  const DeviceBuffer scratch(kernel->scratch_bytes);
  tensors.Call(pointers, scratch.get(), [&](const KernelArguments& a) { kernel->run(a, libraries); });
  STOWPLAN_CUDA(cudaStreamSynchronize(libraries.stream()));
  std::vector<Numbers> after = tensors.before;
  for (std::size_t i = 0; i < after.size(); ++i)
    STOWPLAN_CUDA(cudaMemcpy(after[i].data(), pointers[i], after[i].size() * 4, cudaMemcpyDeviceToHost));
  return after;
}

// Of two results; sums come in another order.
void ExpectNear(const std::vector<Numbers>& expected, const std::vector<Numbers>& found, double tolerance,
                const std::string& name) {
  ASSERT_EQ(found.size(), expected.size()) << name;
  for (std::size_t t = 0; t < expected.size(); ++t) {
    for (std::size_t i = 0; i < expected[t].size(); ++i) {
      const double a = expected[t][i], b = found[t][i];
      if (std::memcmp(&expected[t][i], &found[t][i], sizeof(float)) == 0) continue;
      ASSERT_LE(std::abs(a - b), tolerance * (1 + std::abs(a)))
          << name << ", tensor " << t << ", element " << i << ": " << a << " and " << b;
    }
  }
}

TEST(OpSamplesTest, KnowEveryTypeThatComputes) {
  std::set<std::string> sampled, known;
  for (const OpSample& sample : OpSamples())
    sampled.insert(sample.graph.ops[static_cast<std::size_t>(sample.op)].type);
  const auto& idle = TypesThatDoNothing();
  for (const std::string_view type : GpuKernelTypes())
    if (std::find(idle.begin(), idle.end(), type) == idle.end()) known.emplace(type);
  EXPECT_EQ(sampled, known);
}

TEST(OpSamplesTest, TheCpuComputesFiniteNumbersAndWritesEveryOutput) {
  for (const OpSample& sample : OpSamples()) {
    const Tensors tensors(sample);
    const std::vector<Numbers> after = RunOnCpu(sample);
    for (std::size_t t = tensors.op.inputs.size(); t < after.size(); ++t) {
      for (const float number : after[t]) {
        ASSERT_TRUE(std::isfinite(number)) << sample.name;
        ASSERT_NE(number, 7.F) << sample.name << ": an element was not written";
      }
    }
  }
}

TEST(GpuKernelsTest, ComputeWhatTheCpuDoes) {
  if (!HasGpu()) GTEST_SKIP() << "there is no GPU";
  const Stream stream;
  const Libraries libraries(stream);
  for (const OpSample& sample : OpSamples())
    ExpectNear(RunOnCpu(sample), RunOnGpu(sample, libraries, {.products = false, .convolutions = false}),
               2e-5, sample.name);
}

// As graphs are executed: convolutions rounded to tf32.
TEST(GpuKernelsTest, ComputeNearlyTheSameWithTensorCores) {
  if (!HasGpu()) GTEST_SKIP() << "there is no GPU";
  const Stream stream;
  const Libraries libraries(stream);
  for (const OpSample& sample : OpSamples()) {
    if (sample.name.find("Conv") != std::string::npos)
      ExpectNear(RunOnCpu(sample), RunOnGpu(sample, libraries, {}), 1e-2, sample.name);
  }
}

// ---- whole steps ----------------------------------------------------------------------------------------------

constexpr std::size_t kElements = 3 * 67;

// Ops on tensors of one shape that read any of those before them.
sim::OpGraph RandomGraph(std::mt19937& random) {
  sim::OpGraph graph;
  graph.name = "random";
  const auto below = [&](std::size_t n) { return static_cast<sim::OpIndex>(random() % n); };
  static const std::vector<std::pair<const char*, int>> types = {
      {"Relu", 1}, {"Tanh", 1}, {"Sigmoid", 1}, {"Softmax", 1}, {"Add", 2}, {"Mul", 2}, {"Sub", 2}};
  const std::size_t ops = 12 + random() % 20;
  for (std::size_t i = 0; i < ops; ++i) {
    const auto& [type, inputs] = types[random() % types.size()];
    sim::Op op;
    op.name = "op" + std::to_string(i);
    op.type = i < 2 ? "Placeholder" : type;
    op.outputs.emplace_back();
    op.outputs[0].dtype = "f32";
    op.outputs[0].shape = {3, 67};
    op.outputs[0].bytes = kElements * 4;
    for (int k = 0; i >= 2 && k < inputs; ++k) op.inputs.push_back({below(i), 0});
    graph.ops.push_back(std::move(op));
  }
  graph.Finish();
  return graph;
}

sim::Cluster HostAndGpus() {
  sim::Cluster cluster;
  cluster.name = "host and two accelerators on one GPU";
  for (const char* name : {"cpu0", "gpu0", "gpu1"}) {
    const bool cpu = name[0] == 'c';
    cluster.devices.push_back({.name = name,
                               .kind = cpu ? "cpu" : "gpu",
                               .device_class = cpu ? sim::DeviceClass::kCpu : sim::DeviceClass::kGpu,
                               .memory = sim::Bytes{1} << 30,
                               .granularity = 256});
  }
  cluster.links.push_back({.name = "a", .ends = {0, 1}, .bandwidth = 1'000'000'000, .latency = 0});
  cluster.links.push_back({.name = "b", .ends = {0, 2}, .bandwidth = 1'000'000'000, .latency = 0});
  cluster.Finish();
  return cluster;
}

// What every op wrote, by op: pinned, so that a GPU's copies there are work of its queue.
using Written = std::vector<Block>;

class RecordingAccelerator : public CudaAccelerator {
 public:
  RecordingAccelerator(std::shared_ptr<const GraphKernels> kernels, std::shared_ptr<GpuClock> clock,
                       bool sets_clock, const Written& written)
      : CudaAccelerator(std::move(kernels), Stream(), std::move(clock), sets_clock), written_(written) {}
  void RunOp(sim::OpIndex op, const KernelArguments& arguments) override {
    CudaAccelerator::RunOp(op, arguments);
    Copy(Queue::kOps, written_[static_cast<std::size_t>(op)].get(), arguments.outputs->at(0), kElements * 4);
  }

 private:
  const Written& written_;
};

class RecordingKernel : public Kernel {
 public:
  RecordingKernel(std::unique_ptr<Kernel> kernel, void* into) : kernel_(std::move(kernel)), into_(into) {}
  std::int64_t scratch_bytes() const override { return kernel_->scratch_bytes(); }
  void Run(const KernelArguments& arguments) override {
    kernel_->Run(arguments);
    std::memcpy(into_, arguments.outputs->at(0), kElements * 4);
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  void* into_;
};

std::vector<Numbers> RunSteps(const sim::OpGraph& graph, const sim::Placement& placement, bool traced) {
  Written written;
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    written.push_back(NewPinnedBlock(kElements * 4));
    std::memset(written.back().get(), 0, kElements * 4);
  }
  const Stream stream;
  const Libraries libraries(stream);
  const auto kernels = std::make_shared<const GraphKernels>(MakeGraphKernels(graph, libraries, {}));
  EXPECT_THAT(kernels->table.stand_ins, ::testing::IsEmpty());
  const auto clock = std::make_shared<GpuClock>();
  ExecutorParts parts;
  parts.cpu_blocks = NewPinnedBlock;
  parts.cpu_kernel = [&](const sim::OpGraph& of, sim::OpIndex op) {
    MadeKernel made = MakeCpuKernel(of, op);
    if (made.kernel != nullptr)
      made.kernel = std::make_unique<RecordingKernel>(std::move(made.kernel),
                                                      written[static_cast<std::size_t>(op)].get());
    return made;
  };
  parts.accelerator = [&](sim::DeviceIndex device) {
    return std::make_unique<RecordingAccelerator>(kernels, clock, device == 1, written);
  };
  const sim::Cluster cluster = HostAndGpus();
  const std::vector<int> available = AvailableCores();
  CoresByDevice cores;
  for (std::size_t d = 0; d < cluster.devices.size(); ++d) cores.push_back({available[d % available.size()]});
  const auto steps = MakeExecutor(graph, cluster, cores, parts)
                         ->Run(placement, {.warm_up = 1, .steps = 3, .at_most = 3, .traced = traced});
  for (const ExecutedStep& step : steps) {
    EXPECT_FALSE(step.oom);
    for (const OpSpan& op : step.ops) {
      EXPECT_GE(op.start_ns, 0);
      EXPECT_LE(op.end_ns, step.ns + 100'000) << "the clocks are 0.1 ms apart";
    }
  }
  std::vector<Numbers> numbers;
  for (const Block& block : written) {
    const auto* const begin = static_cast<const float*>(block.get());
    numbers.emplace_back(begin, begin + kElements);
  }
  return numbers;
}

TEST(GpuStepsTest, RandomPlacementsComputeWhatTheCpuDoes) {
  if (!HasGpu()) GTEST_SKIP() << "there is no GPU";
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    std::mt19937 random(seed);
    const sim::OpGraph graph = RandomGraph(random);
    sim::Placement alone, spread;
    alone.device.assign(graph.ops.size(), 0);
    for (std::size_t op = 0; op < graph.ops.size(); ++op)
      spread.device.push_back(static_cast<sim::DeviceIndex>(random() % 3));
    ExpectNear(RunSteps(graph, alone, false), RunSteps(graph, spread, seed % 2 == 0), 1e-4,
               "seed " + std::to_string(seed));
  }
}

TEST(GpuPartitionTest, KernelsRunOnBothParts) {
  if (!HasGpu()) GTEST_SKIP() << "there is no GPU";
  std::shared_ptr<const SmPartition> partition;
  try {
    partition = std::make_shared<const SmPartition>(std::vector<double>{0.5, 0.25});
  } catch (const Unavailable& reason) {
    GTEST_SKIP() << reason.what();
  }
  ASSERT_EQ(partition->multiprocessors().size(), 2U);
  EXPECT_GT(partition->multiprocessors()[0], partition->multiprocessors()[1]);
  for (const std::size_t part : {0U, 1U}) {
    const Stream stream = SmPartition::NewStream(partition, part);
    const Libraries libraries(stream);
    for (const OpSample& sample : OpSamples())
      ExpectNear(RunOnCpu(sample), RunOnGpu(sample, libraries, {.products = false, .convolutions = false}),
                 2e-5, sample.name);
  }
}

}  // namespace
}  // namespace stowplan::profiler::cuda
