// Op probes: each case alone, operands warm and cold.
#include <string_view>

#include "profiler/cuda/convolution.h"
#include "profiler/cuda/prepared_op.h"
#include "profiler/cuda/probe_table.h"
#include "profiler/executor/graph_ops.h"

namespace stowplan::profiler::cuda {
namespace {

constexpr std::size_t kFlushed = std::size_t{256} << 20;  // [B] more than any cache holds

// What measuring ops takes, for as long as it goes on.
class OpTimer {
 public:
  explicit OpTimer(const Timing& timing) : libraries_(stream_), other_(kFlushed), timer_(timing, stream_) {}
  const Libraries& libraries() const { return libraries_; }

  void AddTimes(const PreparedOp& op, sim::Attributes* row) {
    row->emplace_back("hot", Summary(timer_.OnDevice(op.run)));
    row->emplace_back("cold", Summary(timer_.OnDevice(op.run, 1, [this] {
                        STOWPLAN_CUDA(cudaMemsetAsync(other_.get(), 0, kFlushed, stream_.get()));
                      })));
    stream_.Wait();  // before the operands go
  }

 private:
  const Stream stream_;
  const Libraries libraries_;
  const DeviceBuffer other_;
  Timer timer_;
};

}  // namespace

sim::Attribute MeasureOps(const Probe& probe, const MeasureOptions& options) {
  OpTimer timer(options.timing);
  const std::vector<OpCase> cases = CasesToMeasure(probe.cases(), options.quick);
  sim::Attribute::List rows = MeasureRows(cases.size(), options, [&](std::size_t number) {
    sim::Attributes row = KeyOf(cases[number]);
    try {
      timer.AddTimes(*Prepare(cases[number], timer.libraries()), &row);
    } catch (const Unavailable& reason) {
      row.emplace_back("unavailable", sim::Attribute{std::string(reason.what())});
    }
    return row;
  });
  sim::Attributes result = {{"rows", {std::move(rows)}}};
  if (std::string_view(probe.name) == "conv2d") result.emplace_back("convolutions", ChosenConvolutions());
  return {std::move(result)};
}

sim::Attribute MeasureGraphOps(const sim::OpGraph& graph, const MeasureOptions& options) {
  OpTimer timer(options.timing);
  sim::Attribute result = MeasureOpsOf(graph, options, [&](const sim::OpGraph& lone, sim::Attributes* row) {
    bool stand_in = false;
    const auto op = PrepareGraph(lone, Tf32{}, timer.libraries(), &stand_in);
    if (stand_in) row->emplace_back("stand_in", sim::Attribute{true});
    timer.AddTimes(*op, row);
  });
  std::get<sim::Attributes>(result.value).emplace_back("convolutions", ChosenConvolutions());
  return result;
}

}  // namespace stowplan::profiler::cuda
