// Copies between host and device memory and between two devices, alone and in both directions at once.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>

#include "profiler/cuda/probe_table.h"
#include "sim/base/statistics.h"

namespace stowplan::profiler::cuda {
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
    STOWPLAN_CUDA(cudaMemcpyAsync(target, source, size, cudaMemcpyDefault, stream.get()));
  }

 private:
  bool pinned_, on_device_;
  bool to_device_ = false;
  DeviceBuffer device_, second_;
  std::unique_ptr<PinnedBuffer> fixed_;
  std::unique_ptr<char[]> pages_;
  void* host_ = nullptr;
};

// Makes a device the current one while it lives: streams, events and kernels belong to the current one.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    STOWPLAN_CUDA(cudaGetDevice(&before_));
    STOWPLAN_CUDA(cudaSetDevice(device));
  }
  ~CurrentDevice() { cudaSetDevice(before_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
};

// Memory of two devices, and copies from the first to the second: straight where the one reaches the other's memory,
// else through the host, which the driver sees to.
class PeerEnds {
 public:
  PeerEnds(int from, int to, sim::Bytes largest) : from_(from), to_(to) {
    int reaches = 0;
    STOWPLAN_CUDA(cudaDeviceCanAccessPeer(&reaches, from, to));
    reaches_ = reaches != 0;
    const auto bytes = static_cast<std::size_t>(largest);
    {
      const CurrentDevice there(to);
      target_ = DeviceBuffer(bytes);
    }
    const CurrentDevice here(from);
    source_ = DeviceBuffer(bytes);
    if (!reaches_) return;
    const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
    if (status == cudaErrorPeerAccessAlreadyEnabled) {
      ForgetLastError();
    } else {
      STOWPLAN_CUDA(status);
    }
  }
  int from() const { return from_; }
  bool reaches() const { return reaches_; }

  void Copy(sim::Bytes bytes, const Stream& stream) const {
    STOWPLAN_CUDA(cudaMemcpyPeerAsync(target_.get(), to_, source_.get(), from_,
                                      static_cast<std::size_t>(bytes), stream.get()));
  }

 private:
  int from_, to_;
  bool reaches_ = false;
  DeviceBuffer source_, target_;
};

constexpr char kThere[] = "copy_peer_there";  // from the first device that is visible to the second
constexpr char kBack[] = "copy_peer_back";

PeerEnds PeerEndsOf(std::string_view probe, sim::Bytes largest) {
  int devices = 0;
  STOWPLAN_CUDA(cudaGetDeviceCount(&devices));
  if (devices < 2)
    throw Unavailable("one GPU is visible; copies between GPUs need two (CUDA_VISIBLE_DEVICES says which)");
  const int from = probe == kThere ? 0 : 1;
  return {from, 1 - from, largest};
}

// So many copies that a queue of them takes about 2 ms, at most 64.
int QueueLength(const std::vector<double>& alone_us) {
  return static_cast<int>(std::clamp(2000 / std::max(Quantile(alone_us, 0.5), 1e-3), 1.0, 64.0));
}

// Of copies whose call does not wait for them.
void AddQueued(const Work& copy, Timer* timer, sim::Attributes* row) {
  const std::vector<double> alone = timer->OnDevice(copy);
  const int count = QueueLength(alone);
  row->emplace_back("call", Summary(timer->Call(copy)));
  row->emplace_back("device", Summary(alone));
  row->emplace_back("queued_copies", sim::Attribute{std::int64_t{count}});
  row->emplace_back("queued", Summary(timer->OnDevice(copy, count)));
}

// One direction of two that copy at once, with what times it on its device.
struct Direction {
  Direction(const char* says, int on, const Timing& timing,
            std::function<void(sim::Bytes, const Stream&)> one)
      : name(says), device(on), copy(std::move(one)), timer(timing, stream) {}
  const char* name;
  int device;
  std::function<void(sim::Bytes, const Stream&)> copy;
  Stream stream;
  Timer timer;
  Gate gate;
  Event begin, end, opened;
};

// What a direction's copies take while the other one's go on without a break, for each in turn.
sim::Attribute BusyRows(const std::array<std::unique_ptr<Direction>, 2>& ways,
                        const MeasureOptions& options) {
  const std::vector<sim::Bytes> sizes = CopySizes(options.quick);
  return Rows(MeasureRows(2 * sizes.size(), options, [&](std::size_t number) {
    const sim::Bytes bytes = sizes[number / 2];
    Direction &way = *ways[number % 2], &other = *ways[1 - number % 2];
    const CurrentDevice here(way.device);
    const int count = QueueLength(way.timer.OnDevice([&] { way.copy(bytes, way.stream); }));
    bool covered = true;
    const auto once = [&] {
      way.gate.Close(way.stream);
      way.opened.Record(way.stream);
      {
        const CurrentDevice there(other.device);
        STOWPLAN_CUDA(cudaStreamWaitEvent(other.stream.get(), way.opened.get()));
        for (int i = 0; i < 3 * count; ++i) other.copy(bytes, other.stream);
        other.end.Record(other.stream);
      }
      way.begin.Record(way.stream);
      for (int i = 0; i < count; ++i) way.copy(bytes, way.stream);
      way.end.Record(way.stream);
      way.gate.Open();
      way.stream.Wait();
      covered = covered && !other.end.Reached();  // events of two devices cannot be compared
      other.stream.Wait();
      return way.end.MicrosSince(way.begin) / count;
    };
    const std::vector<double> samples = way.timer.Samples(once);
    return sim::Attributes{{"direction", {std::string(way.name)}},
                           {"bytes", {bytes}},
                           {"busy", Summary(samples)},
                           {"queued_copies", {std::int64_t{count}}},
                           {"covered", {covered}}};
  }));
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
    if (ends.pinned()) AddQueued(copy, &timer, &row);
    return row;
  }));
}

sim::Attribute MeasurePeerCopies(const Probe& probe, const MeasureOptions& options) {
  const std::vector<sim::Bytes> sizes = CopySizes(options.quick);
  const PeerEnds ends = PeerEndsOf(probe.name, sizes.back());
  const CurrentDevice here(ends.from());
  const Stream stream;
  Timer timer(options.timing, stream);
  return Rows(MeasureRows(sizes.size(), options, [&](std::size_t number) {
    const sim::Bytes bytes = sizes[number];
    const Work copy = [&] { ends.Copy(bytes, stream); };
    sim::Attributes row = {
        {"bytes", {bytes}}, {"through_host", {!ends.reaches()}}, {"host", Summary(timer.Host(copy))}};
    AddQueued(copy, &timer, &row);
    return row;
  }));
}

sim::Attribute MeasureBothCopies(const Probe&, const MeasureOptions& options) {
  const sim::Bytes largest = CopySizes(options.quick).back();
  const Ends to_device("copy_h2d_pinned", largest), to_host("copy_d2h_pinned", largest);
  const auto way = [&](const char* name, const Ends& ends) {
    return std::make_unique<Direction>(
        name, 0, options.timing, [&](sim::Bytes bytes, const Stream& stream) { ends.Copy(bytes, stream); });
  };
  return BusyRows({way("h2d", to_device), way("d2h", to_host)}, options);
}

sim::Attribute MeasureBothPeerCopies(const Probe&, const MeasureOptions& options) {
  const sim::Bytes largest = CopySizes(options.quick).back();
  const PeerEnds there = PeerEndsOf(kThere, largest), back = PeerEndsOf(kBack, largest);
  const auto way = [&](const char* name, const PeerEnds& ends) {
    const CurrentDevice here(ends.from());
    return std::make_unique<Direction>(
        name, ends.from(), options.timing,
        [&](sim::Bytes bytes, const Stream& stream) { ends.Copy(bytes, stream); });
  };
  return BusyRows({way("there", there), way("back", back)}, options);
}

}  // namespace stowplan::profiler::cuda
