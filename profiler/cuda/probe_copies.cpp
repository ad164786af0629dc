// Copies between host and device memory, alone and in both directions at once.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include "profiler/cuda/probe_table.h"
#include "profiler/statistics.h"

namespace berth::profiler::cuda {
namespace {

// Both ends of a copy, of the largest size; the host's pages are touched before anything is timed.
class Ends {
 public:
  Ends(std::string_view probe, sim::Bytes largest)
      : pinned_(probe.ends_with("_pinned")),
        on_device_(probe == "copy_on_device"),
        device_(static_cast<std::size_t>(largest)) {
    const auto bytes = static_cast<std::size_t>(largest);
    if (on_device_) {
      second_ = DeviceBuffer(bytes);
    } else if (pinned_) {
      fixed_ = std::make_unique<PinnedBuffer>(bytes);
      host_ = fixed_->get();
    } else {
      pages_.reset(new char[bytes]);
      host_ = pages_.get();
    }
    if (host_ != nullptr) std::memset(host_, 1, bytes);
    to_device_ = probe.starts_with("copy_h2d");
  }
  bool pinned() const { return pinned_ || on_device_; }  // the call does not wait for the copy

  void Copy(sim::Bytes bytes, const Stream& stream) const {
    const auto size = static_cast<std::size_t>(bytes);
    void* const other_end = on_device_ ? second_.get() : host_;
    void* const target = to_device_ ? device_.get() : other_end;
    const void* const source = to_device_ ? other_end : device_.get();
    BERTH_CUDA(cudaMemcpyAsync(target, source, size, cudaMemcpyDefault, stream.get()));
  }

 private:
  bool pinned_, on_device_;
  bool to_device_ = false;
  DeviceBuffer device_, second_;
  std::unique_ptr<PinnedBuffer> fixed_;
  std::unique_ptr<char[]> pages_;
  void* host_ = nullptr;
};

// So many copies that a queue of them takes about 2 ms, at most 64.
int QueueLength(const std::vector<double>& alone_us) {
  return static_cast<int>(std::clamp(2000 / std::max(Quantile(alone_us, 0.5), 1e-3), 1.0, 64.0));
}

}  // namespace

sim::Attribute MeasureCopies(const Probe& probe, const MeasureOptions& options) {
  const std::vector<sim::Bytes> sizes = CopySizes(options.quick);
  const Stream stream;
  const Ends ends(probe.name, sizes.back());
  Timer timer(options.timing, stream);
  return Rows(MeasureRows(sizes.size(), options, [&](std::size_t number) {
    const sim::Bytes bytes = sizes[number];
    const Work copy = [&] { ends.Copy(bytes, stream); };
    sim::Attributes row = {{"bytes", {bytes}}, {"host", Summary(timer.Host(copy))}};
    if (ends.pinned()) {
      const std::vector<double> alone = timer.OnDevice(copy);
      const int count = QueueLength(alone);
      row.emplace_back("call", Summary(timer.Call(copy)));
      row.emplace_back("device", Summary(alone));
      row.emplace_back("queued_copies", sim::Attribute{std::int64_t{count}});
      row.emplace_back("queued", Summary(timer.OnDevice(copy, count)));
    }
    return row;
  }));
}

sim::Attribute MeasureBothCopies(const Probe&, const MeasureOptions& options) {
  const std::vector<sim::Bytes> sizes = CopySizes(options.quick);
  const Ends ends[] = {Ends("copy_h2d_pinned", sizes.back()), Ends("copy_d2h_pinned", sizes.back())};
  constexpr const char* kDirections[] = {"h2d", "d2h"};
  const Stream streams[2];
  Timer timers[] = {{options.timing, streams[0]}, {options.timing, streams[1]}};
  Gate gate;
  Event begin, end, other_end, opened;
  return Rows(MeasureRows(2 * sizes.size(), options, [&](std::size_t number) {
    const sim::Bytes bytes = sizes[number / 2];
    const std::size_t way = number % 2;
    const int count = QueueLength(timers[way].OnDevice([&] { ends[way].Copy(bytes, streams[way]); }));
    bool covered = true;
    const auto once = [&] {
      gate.Close(streams[way]);
      opened.Record(streams[way]);
      BERTH_CUDA(cudaStreamWaitEvent(streams[1 - way].get(), opened.get()));
      for (int i = 0; i < 3 * count; ++i) ends[1 - way].Copy(bytes, streams[1 - way]);
      other_end.Record(streams[1 - way]);
      begin.Record(streams[way]);
      for (int i = 0; i < count; ++i) ends[way].Copy(bytes, streams[way]);
      end.Record(streams[way]);
      gate.Open();
      streams[0].Wait();
      streams[1].Wait();
      covered = covered && other_end.MicrosSince(end) >= 0;
      return end.MicrosSince(begin) / count;
    };
    const std::vector<double> samples = timers[way].Samples(once);
    return sim::Attributes{{"direction", {std::string(kDirections[way])}},
                           {"bytes", {bytes}},
                           {"busy", Summary(samples)},
                           {"queued_copies", {std::int64_t{count}}},
                           {"covered", {covered}}};
  }));
}

}  // namespace berth::profiler::cuda
