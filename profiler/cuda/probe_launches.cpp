// What an op costs beyond its work: launches, gaps, nodes of graphs, allocation, and what two streams share.
#include <algorithm>

#include "profiler/cuda/cupti_activity.h"
#include "profiler/cuda/prepared_op.h"
#include "profiler/cuda/probe_table.h"
#include "profiler/traces/correlation.h"
#include "profiler/traces/sanitiser.h"
#include "sim/base/error.h"

namespace stowplan::profiler::cuda {
namespace {

constexpr int kQueue = 500;  // a stream takes about 1,000 launches before a call waits
constexpr int kTraced = 300;

double Micros(Nanos time) {
  return static_cast<double>(time) / 1e3;
}

// Records what `work` does; what recorders are known to get wrong refuses the part.
ActivityTrace Traced(const Work& work) {
  CuptiActivity recorder;
  recorder.Start();
  work();
  STOWPLAN_CUDA(cudaDeviceSynchronize());
  SanitisedTrace result = Sanitise(recorder.Stop());
  if (result.verdict == SanitisedTrace::Verdict::kRefused) throw Unavailable(result.sentence);
  return std::move(result.trace);
}

// A graph of `nodes` empty kernels in a row.
class EmptyGraph {
 public:
  EmptyGraph(int nodes, const Stream& stream) {
    STOWPLAN_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < nodes; ++i) LaunchEmpty(stream.get());
    cudaGraph_t graph = nullptr;
    STOWPLAN_CUDA(cudaStreamEndCapture(stream.get(), &graph));
    const cudaError_t made = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    Check(made, "cudaGraphInstantiate");
  }
  ~EmptyGraph() { cudaGraphExecDestroy(executable_); }
  EmptyGraph(const EmptyGraph&) = delete;
  EmptyGraph& operator=(const EmptyGraph&) = delete;
  void Launch(const Stream& stream) const { STOWPLAN_CUDA(cudaGraphLaunch(executable_, stream.get())); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

OpCase CaseOf(std::string op, std::string format, std::vector<std::pair<std::string, std::int64_t>> shape) {
  OpCase one;
  one.op = std::move(op);
  one.format = std::move(format);
  one.shape = std::move(shape);
  return one;
}

}  // namespace

sim::Attribute MeasureLaunch(const Probe&, const MeasureOptions& options) {
  const Stream stream;
  Timer timer(options.timing, stream);
  const Work empty = [&] { LaunchEmpty(stream.get()); };
  return {sim::Attributes{{"call", Summary(timer.Call(empty, 100))},
                          {"roundtrip", Summary(timer.Host(empty))},
                          {"queued", Summary(timer.OnDevice(empty, kQueue))},
                          {"event_pair", Summary(timer.OnDevice([] {}))}}};
}

sim::Attribute MeasureEmptyKernel(const Probe&, const MeasureOptions& options) {
  const Stream stream;
  Timer timer(options.timing, stream);
  return {sim::Attributes{{"device", Summary(timer.OnDevice([&] { LaunchEmpty(stream.get()); }))},
                          {"event_pair", Summary(timer.OnDevice([] {}))}}};
}

sim::Attribute MeasureKernelGap(const Probe&, const MeasureOptions&) {
  const Stream stream;
  Gate gate;
  LaunchEmpty(stream.get());  // loaded before the gate closes
  stream.Wait();
  const ActivityTrace queued = Traced([&] {
    gate.Close(stream);
    for (int i = 0; i < kTraced; ++i) LaunchEmpty(stream.get());
    gate.Open();
  });
  const ActivityTrace apart = Traced([&] {
    for (int i = 0; i < kTraced; ++i) {
      LaunchEmpty(stream.get());
      stream.Wait();
    }
  });
  std::vector<double> kernels, gaps, calls, delays;
  for (const KernelRecord& kernel : queued.kernels) {
    if (kernel.name.find("Empty") != std::string::npos) kernels.push_back(Micros(kernel.end - kernel.start));
  }
  for (const Gap& gap : Correlate(queued).gaps) {
    if (gap.cause == Gap::Cause::kDevice) gaps.push_back(Micros(gap.length));
  }
  for (const ApiCall& call : apart.calls) {
    if (call.level == ApiCall::Level::kRuntime && IsKernelLaunch(call.name))
      calls.push_back(Micros(call.end - call.start));
  }
  for (const Gap& gap : Correlate(apart).gaps) {
    if (gap.cause == Gap::Cause::kHost) delays.push_back(Micros(gap.launch_delay));
  }
  for (const auto* samples : {&kernels, &gaps, &calls, &delays}) {
    if (samples->size() < kTraced / 2) {
      throw Unavailable("the device's records hold fewer than half of the kernels: no permission to record?");
    }
  }
  return {sim::Attributes{{"kernel", Summary(kernels)},
                          {"gap_queued", Summary(gaps)},
                          {"launch_call", Summary(calls)},
                          {"launch_to_start", Summary(delays)}}};
}

sim::Attribute MeasureGraphNodes(const Probe&, const MeasureOptions& options) {
  const Stream stream;
  Timer timer(options.timing, stream);
  LaunchEmpty(stream.get());
  stream.Wait();
  sim::Attribute::List rows;
  for (const int nodes : {1, 10, 100, 1000}) {
    const EmptyGraph graph(nodes, stream);
    const Work launch = [&] { graph.Launch(stream); };
    std::vector<double> replays = timer.OnDevice(launch);
    for (double& replay : replays) replay /= nodes;
    rows.push_back({sim::Attributes{{"nodes", {std::int64_t{nodes}}},
                                    {"replay", Summary(replays)},
                                    {"call", Summary(timer.Call(launch))}}});
    stream.Wait();
  }
  return Rows(std::move(rows));
}

sim::Attribute MeasureAllocation(const Probe&, const MeasureOptions& options) {
  const Stream stream;
  struct Way {
    const char* name;
    std::function<void*(std::size_t)> allocate;
    std::function<void(void*)> release;
    bool slow = false;
  };
  const Way ways[] = {
      {"device",
       [](std::size_t bytes) {
         void* p = nullptr;
         STOWPLAN_CUDA(cudaMalloc(&p, bytes));
         return p;
       },
       [](void* p) { STOWPLAN_CUDA(cudaFree(p)); }},
      {"device_pool",
       [&](std::size_t bytes) {
         void* p = nullptr;
         STOWPLAN_CUDA(cudaMallocAsync(&p, bytes, stream.get()));
         stream.Wait();
         return p;
       },
       [&](void* p) {
         STOWPLAN_CUDA(cudaFreeAsync(p, stream.get()));
         stream.Wait();
       }},
      {"pinned",
       [](std::size_t bytes) {
         void* p = nullptr;
         STOWPLAN_CUDA(cudaMallocHost(&p, bytes));
         return p;
       },
       [](void* p) { STOWPLAN_CUDA(cudaFreeHost(p)); }, true},
  };
  sim::Attribute::List rows;
  for (const Way& way : ways) {
    for (int power = 10; power <= (options.quick ? 20 : 30); power += 5) {
      const std::size_t bytes = std::size_t{1} << power;
      // Pinning a gigabyte takes most of a second: once.
      const bool once = way.slow && power > 25;
      Timer timer(once ? Timing{.warmups = 0, .least = 1, .most = 1} : options.timing, stream);
      std::vector<double> frees;
      const std::vector<double> allocations = timer.Samples([&] {
        const double start = NowMicros();
        void* const block = way.allocate(bytes);
        const double allocated = NowMicros();
        way.release(block);
        frees.push_back(NowMicros() - allocated);
        return allocated - start;
      });
      frees.erase(frees.begin(),
                  frees.end() - static_cast<std::ptrdiff_t>(allocations.size()));  // the warm-ups
      rows.push_back({sim::Attributes{{"memory", {std::string(way.name)}},
                                      {"bytes", {static_cast<std::int64_t>(bytes)}},
                                      {"allocate", Summary(allocations)},
                                      {"free", Summary(frees)}}});
    }
  }
  return Rows(std::move(rows));
}

sim::Attribute MeasureStreams(const Probe&, const MeasureOptions& options) {
  const Stream streams[2];
  const Libraries first_libraries(streams[0]), second_libraries(streams[1]);
  const PinnedBuffer host(std::size_t{16} << 20);
  const DeviceBuffer device(std::size_t{16} << 20);
  Timer timer(options.timing, streams[0]);
  const auto copy = [&] {
    STOWPLAN_CUDA(
        cudaMemcpyAsync(device.get(), host.get(), device.bytes(), cudaMemcpyHostToDevice, streams[1].get()));
  };
  const OpCase small = CaseOf("gemm", "bf16", {{"m", 512}, {"n", 512}, {"k", 512}});
  const OpCase large = CaseOf("gemm", "bf16", {{"m", 4096}, {"n", 4096}, {"k", 4096}});
  const OpCase memory = CaseOf("add", "f32", {{"elements", std::int64_t{1} << 24}});
  const std::pair<OpCase, OpCase> pairs[] = {
      {small, small}, {large, large}, {large, memory}, {memory, memory}};
  sim::Attribute::List rows;
  const auto wall = [&](const Work& work) {
    return Summary(timer.Samples([&] {
      const double start = NowMicros();
      work();
      streams[0].Wait();
      streams[1].Wait();
      return NowMicros() - start;
    }));
  };
  // The second stream gets one call for `each` of the first: copies must end before the ops beside them do, or the
  // pair takes as long as the copies and says nothing of the ops.
  const auto add = [&](const std::string& name, const Work& first, const Work& second, int each = 1) {
    constexpr int kRepeats = 20;
    const auto repeated = [&](bool one, bool two) {
      return [&, one, two] {
        for (int i = 0; i < kRepeats; ++i) {
          if (one) first();
          if (two && i % each == 0) second();
        }
      };
    };
    rows.push_back({sim::Attributes{{"pair", {name}},
                                    {"calls", {std::int64_t{kRepeats}}},
                                    {"first", wall(repeated(true, false))},
                                    {"second", wall(repeated(false, true))},
                                    {"both", wall(repeated(true, true))}}});
  };
  const auto name_of = [](const OpCase& one) {
    return one.op + " " + one.format + " " + std::to_string(one.shape.front().second);
  };
  for (const auto& [a, b] : pairs) {
    const auto first = Prepare(a, first_libraries), second = Prepare(b, second_libraries);
    add(name_of(a) + " | " + name_of(b), first->run, second->run);
  }
  for (const OpCase& one : {large, memory}) {
    const auto op = Prepare(one, first_libraries);
    add(name_of(one) + " | copy h2d 16 MiB", op->run, copy, 10);
  }
  return Rows(std::move(rows));
}

}  // namespace stowplan::profiler::cuda
