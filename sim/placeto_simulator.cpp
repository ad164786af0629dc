#include "sim/placeto_simulator.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sim/error.h"
#include "sim/placeto_wiring.h"

namespace berth::sim {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr Picos kOpPause = 5'700'000;     // after an op that takes time
constexpr Picos kSendPause = 25'000'000;  // after a sending

Picos FloorMicro(Picos time) {
  return time / kPicosPerMicro * kPicosPerMicro;
}

// Everything one after the other: no time of a run is beyond it.
Wide LatestTime(const PlacetoWiring& wiring, const CostTable& costs) {
  Wide sum = 0;
  for (auto row = costs.picos.begin(); row != costs.picos.end(); row += costs.devices) {
    sum += Wide(*std::max_element(row, row + costs.devices)) + kOpPause;
  }
  for (const auto& parcel : wiring.parcels) sum += Wide(parcel.duration) + kSendPause;
  return sum;
}

// Every device runs one op at a time and every channel sends one parcel, first in, first out. So at most 2 D
// completions are pending, the next event is the least of 2 D keys, and a pause can be added to the start of
// what comes next instead of being an event. A key is time * 2^bits + resource, devices first: its order is
// the tie-break of DESIGN 4.3. Key is as wide as the latest time of the problem needs.
//
// Under a random placement whether a reader is local, ready or the last one is a toss-up, and a mispredicted
// branch costs as much as the rest of an event. The inner loops therefore have no such branches: they push
// first and count later, and they run over whole groups of readers.
template <typename Key>
class PlacetoSimulator final : public Simulator {
 public:
  PlacetoSimulator(const Problem& problem, PlacetoWiring wiring);
  const Outcome& Run(const Placement& placement, const RunOptions& options) override;

 private:
  static constexpr std::size_t kKeysAtOnce = 8;
  static constexpr Key kIdle = ~Key{0};
  static constexpr Picos kNever = std::numeric_limits<Picos>::max();

  struct OpState {
    std::int32_t missing;  // producers that have not arrived
    DeviceIndex device;
    // Its cost; from its start on the end of its use of what it reads, as far as that decides when memory is
    // released.
    Picos cost_or_use;
  };
  // A device or a channel with its queue: places [head, tail) of ready_ or outbox_ wait.
  struct Server {
    std::uint32_t head = 0;
    std::uint32_t tail = 0;
    std::uint32_t first = 0;
    std::uint32_t current = 0;  // the op that runs, the parcel that is sent
    Picos pause = 0;            // after `current`
    Picos free = 0;             // end of the last pause
    Picos busy = 0;
  };

  void Reset(const Placement& placement);
  bool RunEvents(Picos cutoff);
  Key NextKey() const;
  void EndOp(std::size_t d, Picos now);
  void EndSending(std::size_t d, Picos now);
  void StartNextOp(std::size_t d, Picos now);
  void StartNextSending(std::size_t d, Picos now);
  void StartIdleReaders(const PlacetoWiring::Parcel& parcel, Picos now);
  void DeliverSeveralOutputs(std::size_t op, std::size_t d, Picos now);
  void NoteQueued(std::uint32_t parcel, std::size_t from, Picos now);

  Picos LastUse(OpIndex op) const;
  Bytes Peak(std::size_t d);
  void RecordOps();
  void RecordMemory();

  const Problem& problem_;
  const PlacetoWiring wiring_;
  const std::size_t op_count_;
  const std::size_t device_count_;
  const int bits_;
  const Key mask_;
  std::vector<Key> keys_;        // devices, then channels; kIdle where nothing is pending
  std::vector<OpState> ops_;     // the last one is the reader that fills groups: on no device, never ready
  std::vector<Server> devices_;  // one more for that reader
  std::vector<Server> channels_;
  // By device, one place more for each than it can need because pushing writes before it is known whether it
  // counts.
  std::vector<OpIndex> ready_;            // the ops of a device in the order they run
  std::vector<Picos> start_;              // [place in ready_]
  std::vector<std::uint32_t> outbox_;     // the parcels of a device in the order they are sent
  std::vector<std::uint64_t> queued_in_;  // [parcel]: the last run in which it was queued
  std::uint64_t run_ = 0;
  bool record_transfers_ = false;
  std::vector<std::uint32_t> transfer_of_;  // [parcel]: its entry of Outcome::transfers

  std::vector<Bytes> release_;  // scratch of Peak()
  std::vector<std::uint32_t> bucket_;

  Outcome outcome_;
};

template <typename Key>
PlacetoSimulator<Key>::PlacetoSimulator(const Problem& problem, PlacetoWiring wiring)
    : problem_(problem),
      wiring_(std::move(wiring)),
      op_count_(problem.graph().ops.size()),
      device_count_(problem.cluster().devices.size()),
      bits_(std::bit_width(2 * device_count_ - 1)),
      mask_((Key{1} << bits_) - 1),
      keys_((2 * device_count_ + kKeysAtOnce - 1) / kKeysAtOnce * kKeysAtOnce),
      ops_(op_count_ + 1),
      devices_(device_count_ + 1),
      channels_(device_count_),
      ready_(op_count_ + device_count_ + 1),
      start_(ready_.size()),
      outbox_(wiring_.parcels.size() + device_count_),
      queued_in_(wiring_.parcels.size()),
      release_(op_count_ + 1),
      bucket_(2 * op_count_ + 2) {
  outcome_.devices.resize(device_count_);
}

template <typename Key>
void PlacetoSimulator<Key>::Reset(const Placement& placement) {
  ++run_;
  const Picos* costs = problem_.costs().picos.data();
  std::fill(keys_.begin(), keys_.end(), kIdle);
  std::fill(devices_.begin(), devices_.end(), Server{});
  std::fill(channels_.begin(), channels_.end(), Server{});
  for (std::size_t i = 0; i < op_count_; ++i) {
    const auto d = static_cast<std::size_t>(placement.device[i]);
    ops_[i] = {wiring_.producers[i], placement.device[i], costs[i * device_count_ + d]};
    ++devices_[d].tail;
    channels_[d].tail += wiring_.ops[i + 1].parcel - wiring_.ops[i].parcel;
  }
  ops_[op_count_] = {std::numeric_limits<std::int32_t>::max(), static_cast<DeviceIndex>(device_count_),
                     -kNever};
  std::uint32_t place = 0, parcel = 0;
  for (std::size_t d = 0; d <= device_count_; ++d) {
    const auto ops = devices_[d].tail;
    devices_[d].first = devices_[d].head = devices_[d].tail = place;
    place += ops + 1;
    if (d == device_count_) break;
    const auto parcels = channels_[d].tail;
    channels_[d].first = channels_[d].head = channels_[d].tail = parcel;
    parcel += parcels + 1;
  }
  for (std::size_t i = 0; i < op_count_; ++i) {
    if (ops_[i].missing > 0) continue;
    ready_[devices_[static_cast<std::size_t>(ops_[i].device)].tail++] = static_cast<OpIndex>(i);
  }
}

template <typename Key>
inline Key PlacetoSimulator<Key>::NextKey() const {
  Key best = kIdle;
  const Key* const end = keys_.data() + keys_.size();
  for (const Key* k = keys_.data(); k != end; k += kKeysAtOnce) {
    const Key low = std::min(std::min(k[0], k[1]), std::min(k[2], k[3]));
    const Key high = std::min(std::min(k[4], k[5]), std::min(k[6], k[7]));
    best = std::min(best, std::min(low, high));
  }
  return best;
}

// Starts the head of a device's queue, at once or when its pause is over.
template <typename Key>
inline void PlacetoSimulator<Key>::StartNextOp(std::size_t d, Picos now) {
  Server& device = devices_[d];
  const auto op = static_cast<std::uint32_t>(ready_[device.head]);
  OpState& state = ops_[op];
  const Picos cost = state.cost_or_use;
  const Picos start = std::max(now, device.free);
  start_[device.head++] = start;
  device.current = op;
  device.pause = cost > 0 ? kOpPause : 0;
  device.busy += cost;
  state.cost_or_use = FloorMicro(start) + FloorMicro(cost) - kPicosPerMicro;
  keys_[d] = (static_cast<Key>(start + cost) << bits_) | static_cast<Key>(d);
}

// Starts the head of an idle channel's queue, if there is one.
template <typename Key>
inline void PlacetoSimulator<Key>::StartNextSending(std::size_t d, Picos now) {
  Server& channel = channels_[d];
  const bool waits = channel.head != channel.tail;
  const std::uint32_t parcel = outbox_[channel.head];  // an old one if nothing waits
  const Picos start = std::max(now, channel.free);
  const Picos end = start + wiring_.parcels[parcel].duration;
  const std::size_t resource = device_count_ + d;
  const Key key = (static_cast<Key>(end) << bits_) | static_cast<Key>(resource);
  keys_[resource] = key | (Key{waits} - 1);  // kIdle, all ones, if nothing waits
  channel.current = parcel;
  channel.head += waits;
  if (record_transfers_ && waits) {
    TransferTimes& times = outcome_.transfers[transfer_of_[parcel]];
    times.start = start;
    times.end = end;
  }
}

template <typename Key>
void PlacetoSimulator<Key>::NoteQueued(std::uint32_t parcel, std::size_t from, Picos now) {
  const TensorRef tensor = wiring_.tensors[parcel];
  const auto readers = wiring_.readers.begin() + wiring_.parcels[parcel].reader;
  const auto sender = static_cast<DeviceIndex>(from);
  const auto remote = std::find_if(readers, wiring_.readers.end(), [&](OpIndex reader) {
    return ops_[static_cast<std::size_t>(reader)].device != sender;
  });
  const auto& outputs = problem_.graph().ops[static_cast<std::size_t>(tensor.op)].outputs;
  const auto output = static_cast<std::size_t>(tensor.output);
  TransferTimes times;
  times.tensor = tensor;
  times.from = sender;
  times.to = ops_[static_cast<std::size_t>(*remote)].device;
  times.bytes = output < outputs.size() ? outputs[output].bytes : 0;
  times.queued = now;
  transfer_of_[parcel] = static_cast<std::uint32_t>(outcome_.transfers.size());
  outcome_.transfers.push_back(times);
}

// EndOp() for an op several of whose outputs are read: they queue in the order of their first remote readers.
template <typename Key>
void PlacetoSimulator<Key>::DeliverSeveralOutputs(std::size_t op, std::size_t d, Picos now) {
  Server& device = devices_[d];
  Server& channel = channels_[d];
  for (auto e = wiring_.first_edge[op]; e < wiring_.first_edge[op + 1]; ++e) {
    const auto [consumer, parcel] = wiring_.edges[e];
    OpState& state = ops_[static_cast<std::size_t>(consumer)];
    if (static_cast<std::size_t>(state.device) == d) {
      if (--state.missing == 0) ready_[device.tail++] = consumer;
    } else if (queued_in_[parcel] != run_) {
      queued_in_[parcel] = run_;
      outbox_[channel.tail++] = parcel;
      if (record_transfers_) NoteQueued(parcel, d, now);
    }
  }
}

template <typename Key>
inline void PlacetoSimulator<Key>::EndOp(std::size_t d, Picos now) {
  Server& device = devices_[d];
  Server& channel = channels_[d];
  const std::size_t op = device.current;
  const auto [begin, parcel] = wiring_.ops[op];
  const auto [end, next_parcel] = wiring_.ops[op + 1];
  if (next_parcel - parcel < 2) {
    const auto here = static_cast<DeviceIndex>(d), nowhere = static_cast<DeviceIndex>(device_count_);
    const OpIndex* const last = wiring_.readers.data() + end;
    std::uint32_t tail = device.tail;
    bool sends = false;
    for (const OpIndex* group = wiring_.readers.data() + begin; group != last; group += kReaderGroup) {
      for (std::uint32_t i = 0; i < kReaderGroup; ++i) {
        OpState& state = ops_[static_cast<std::size_t>(group[i])];
        const bool local = state.device == here;
        state.missing -= local;
        ready_[tail] = group[i];
        tail += local & (state.missing == 0);
        sends |= !local & (state.device != nowhere);
      }
    }
    device.tail = tail;
    outbox_[channel.tail] = parcel;
    channel.tail += sends;
    if (record_transfers_ && sends) NoteQueued(parcel, d, now);
  } else {
    DeliverSeveralOutputs(op, d, now);
  }
  device.free = now + device.pause;
  keys_[d] = kIdle;
  if (device.head != device.tail) StartNextOp(d, now);
  if (keys_[device_count_ + d] == kIdle) StartNextSending(d, now);
}

template <typename Key>
inline void PlacetoSimulator<Key>::EndSending(std::size_t d, Picos now) {
  Server& channel = channels_[d];
  const PlacetoWiring::Parcel& parcel = wiring_.parcels[channel.current];
  const auto here = static_cast<DeviceIndex>(d);
  const OpIndex* const last = wiring_.readers.data() + parcel.end;
  bool wakes = false;
  for (const OpIndex* group = wiring_.readers.data() + parcel.reader; group != last; group += kReaderGroup) {
    for (std::uint32_t i = 0; i < kReaderGroup; ++i) {
      OpState& state = ops_[static_cast<std::size_t>(group[i])];
      const bool remote = state.device != here;
      state.missing -= remote;
      const bool ready = remote & (state.missing == 0);
      Server& device = devices_[static_cast<std::size_t>(state.device)];
      ready_[device.tail] = group[i];
      device.tail += ready;
      wakes |= ready & (keys_[static_cast<std::size_t>(state.device)] == kIdle);
    }
  }
  if (wakes) StartIdleReaders(parcel, now);
  channel.free = now + kSendPause;
  StartNextSending(d, now);
}

template <typename Key>
void PlacetoSimulator<Key>::StartIdleReaders(const PlacetoWiring::Parcel& parcel, Picos now) {
  for (auto i = parcel.reader; i < parcel.end; ++i) {
    const auto d = static_cast<std::size_t>(ops_[static_cast<std::size_t>(wiring_.readers[i])].device);
    if (devices_[d].head != devices_[d].tail && keys_[d] == kIdle) StartNextOp(d, now);
  }
}

// False if it was given up at the cutoff.
template <typename Key>
bool PlacetoSimulator<Key>::RunEvents(Picos cutoff) {
  for (std::size_t d = 0; d < device_count_; ++d) {
    if (devices_[d].head != devices_[d].tail) StartNextOp(d, 0);
  }
  for (;;) {
    const Key key = NextKey();
    if (key == kIdle) return true;
    const auto now = static_cast<Picos>(key >> bits_);
    if (now > cutoff) {
      outcome_.runtime = now;
      return false;
    }
    const auto resource = static_cast<std::size_t>(key & mask_);
    if (resource < device_count_) {
      EndOp(resource, now);
    } else {
      EndSending(resource - device_count_, now);
    }
  }
}

// ---- peak memory ----

// An op's outputs are held from its start until the last use of its readers; -kNever if it has none.
template <typename Key>
inline Picos PlacetoSimulator<Key>::LastUse(OpIndex op) const {
  const auto i = static_cast<std::size_t>(op);
  const OpIndex* const last = wiring_.readers.data() + wiring_.ops[i + 1].reader;
  Picos use = -kNever;
  for (const OpIndex* group = wiring_.readers.data() + wiring_.ops[i].reader; group != last;
       group += kReaderGroup) {
    for (std::uint32_t k = 0; k < kReaderGroup; ++k) {
      use = std::max(use, ops_[static_cast<std::size_t>(group[k])].cost_or_use);
    }
  }
  return use;
}

// A peak is reached when an op starts. So each hold is released before the first op of the device that starts
// after its end; that op is found through a table of up to 2 n buckets of equal time, usually at the first or
// second place.
template <typename Key>
Bytes PlacetoSimulator<Key>::Peak(std::size_t d) {
  const std::uint32_t n = devices_[d].tail - devices_[d].first;
  if (n == 0) return 0;
  const OpIndex* const order = ready_.data() + devices_[d].first;
  Picos* const start = start_.data() + devices_[d].first;
  start[n] = kNever;
  const Picos last = start[n - 1];
  const int shift = std::bit_width(static_cast<std::uint64_t>(last) / (2 * std::uint64_t{n}));
  const auto buckets = static_cast<std::size_t>(last >> shift) + 1;
  // bucket_[b]: how many ops start in a bucket before b.
  std::fill_n(bucket_.begin(), buckets + 1, 0);
  for (std::uint32_t k = 0; k < n; ++k) bucket_[static_cast<std::size_t>(start[k] >> shift) + 1] = k + 1;
  for (std::size_t b = 1; b <= buckets; ++b) bucket_[b] = std::max(bucket_[b], bucket_[b - 1]);
  std::fill_n(release_.begin(), n + 1, 0);

  Bytes live = 0, peak = 0;
  for (std::uint32_t k = 0; k < n; ++k) {
    live -= release_[k];
    Picos end = LastUse(order[k]);
    if (end == -kNever) end = start[k];
    if (end < start[k]) continue;
    const Bytes bytes = wiring_.output_bytes[static_cast<std::size_t>(order[k])];
    live += bytes;
    peak = std::max(peak, live);
    std::uint32_t after = bucket_[static_cast<std::size_t>(std::min(end, last) >> shift)];
    after += start[after] <= end;
    after += start[after] <= end;
    while (start[after] <= end) ++after;
    release_[after] += bytes;
  }
  return peak;
}

// ---- what is recorded ----

template <typename Key>
void PlacetoSimulator<Key>::RecordOps() {
  outcome_.ops.resize(op_count_);
  for (std::size_t d = 0; d < device_count_; ++d) {
    for (auto place = devices_[d].first; place < devices_[d].tail; ++place) {
      const Picos end = start_[place] + problem_.costs().at(ready_[place], static_cast<DeviceIndex>(d));
      outcome_.ops[static_cast<std::size_t>(ready_[place])] = {start_[place], start_[place], end};
    }
  }
}

template <typename Key>
void PlacetoSimulator<Key>::RecordMemory() {
  for (OpIndex op = 0; op < static_cast<OpIndex>(op_count_); ++op) {
    const auto i = static_cast<std::size_t>(op);
    const Bytes bytes = wiring_.output_bytes[i];
    const Picos start = outcome_.ops[i].start;
    const Picos use = LastUse(op);
    const Picos end = use == -kNever ? start : use;
    if (bytes == 0 || end < start) continue;
    MemoryPoint point{start, ops_[i].device, 0, op, OutOfMemory::What::kOutput, bytes};
    outcome_.memory.push_back(point);
    point.time = end;
    point.change = -bytes;
    outcome_.memory.push_back(point);
  }
  std::stable_sort(outcome_.memory.begin(), outcome_.memory.end(),
                   [](const MemoryPoint& a, const MemoryPoint& b) {
                     return std::pair(a.time, a.change < 0) < std::pair(b.time, b.change < 0);
                   });
  std::vector<Bytes> live(device_count_);
  for (MemoryPoint& point : outcome_.memory) {
    point.live = live[static_cast<std::size_t>(point.device)] += point.change;
  }
}

template <typename Key>
const Outcome& PlacetoSimulator<Key>::Run(const Placement& placement, const RunOptions& options) {
  record_transfers_ = options.record == RunOptions::Record::kTimeline;
  if (record_transfers_) transfer_of_.resize(wiring_.parcels.size());
  outcome_.ops.clear();
  outcome_.transfers.clear();
  outcome_.memory.clear();
  outcome_.runtime = 0;
  Reset(placement);
  outcome_.stopped = !RunEvents(options.cutoff.value_or(kNever));
  if (outcome_.stopped) {
    std::fill(outcome_.devices.begin(), outcome_.devices.end(), DeviceUse{});
    outcome_.transfers.clear();
    return outcome_;
  }
  std::size_t done = 0;
  for (std::size_t d = 0; d < device_count_; ++d) {
    outcome_.runtime = std::max({outcome_.runtime, devices_[d].free, channels_[d].free});
    outcome_.devices[d] = {devices_[d].busy, Peak(d)};
    done += devices_[d].head - devices_[d].first;
  }
  BERTH_CHECK_EQ(done, op_count_);
  if (options.record != RunOptions::Record::kNothing) RecordOps();
  if (record_transfers_) RecordMemory();
  return outcome_;
}

}  // namespace

std::unique_ptr<Simulator> MakePlacetoSimulator(const Problem& problem) {
  PlacetoWiring wiring(problem.graph());
  const Wide latest = LatestTime(wiring, problem.costs());
  if (latest > Wide(std::numeric_limits<Picos>::max())) {
    throw InputError(
        "graph '" + problem.graph().name +
        "': its ops and transfers one after the other take more than 2^63 ps, which a simulated time "
        "cannot hold; make the costs or the tensors smaller");
  }
  const int bits = std::bit_width(2 * problem.cluster().devices.size() - 1);
  if (latest < Wide{1} << (63 - bits)) {
    return std::make_unique<PlacetoSimulator<std::uint64_t>>(problem, std::move(wiring));
  }
  return std::make_unique<PlacetoSimulator<Wide>>(problem, std::move(wiring));
}

}  // namespace berth::sim
