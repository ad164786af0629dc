// Op probes: each case alone, operands warm and cold.
#include <string_view>

#include "profiler/cuda/convolution.h"
#include "profiler/cuda/prepared_op.h"
#include "profiler/cuda/probe_table.h"

namespace berth::profiler::cuda {
namespace {

constexpr std::size_t kFlushed = std::size_t{256} << 20;  // [B] more than any cache holds

}  // namespace

sim::Attribute MeasureOps(const Probe& probe, const MeasureOptions& options) {
  const Stream stream;
  const Libraries libraries(stream);
  const DeviceBuffer other(kFlushed);
  Timer timer(options.timing, stream);
  const Work flush = [&] { BERTH_CUDA(cudaMemsetAsync(other.get(), 0, kFlushed, stream.get())); };
  const std::vector<OpCase> cases = options.quick ? Thinned(probe.cases()) : probe.cases();
  sim::Attribute::List rows = MeasureRows(cases.size(), options, [&](std::size_t number) {
    sim::Attributes row = KeyOf(cases[number]);
    try {
      const std::unique_ptr<PreparedOp> op = Prepare(cases[number], libraries);
      row.emplace_back("hot", Summary(timer.OnDevice(op->run)));
      row.emplace_back("cold", Summary(timer.OnDevice(op->run, 1, flush)));
      stream.Wait();  // before the operands go
    } catch (const Unavailable& reason) {
      row.emplace_back("unavailable", sim::Attribute{std::string(reason.what())});
    }
    return row;
  });
  sim::Attributes result = {{"rows", {std::move(rows)}}};
  if (std::string_view(probe.name) == "conv2d") result.emplace_back("convolutions", ChosenConvolutions());
  return {std::move(result)};
}

}  // namespace berth::profiler::cuda
