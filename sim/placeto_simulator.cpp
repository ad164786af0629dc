#include "sim/placeto_simulator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sim/error.h"

namespace berth::sim {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr Picos kOpPause = 5'700'000;     // after an op that takes time
constexpr Picos kSendPause = 25'000'000;  // after a sending
constexpr Bytes kBytesPerMicro = 7600;

Picos SendTime(Bytes bytes) {
  return static_cast<Picos>((Wide(bytes) * kPicosPerMicro + kBytesPerMicro / 2) / kBytesPerMicro);
}

Picos FloorMicro(Picos time) {
  return time / kPicosPerMicro * kPicosPerMicro;
}

// Who reads what, as this preset sees it: a consumer names each producer once, with the last output that it
// names; a control input is an input of output 0 and is named after the data. An output that somebody reads
// is a parcel: what is sent, at most once in a run.
struct Wiring {
  // [op], one more at the end. The edges and the parcels of an op are contiguous.
  struct Range {
    std::uint32_t edge = 0;
    std::uint32_t parcel = 0;
  };
  struct Edge {
    OpIndex consumer = 0;
    std::uint32_t parcel = 0;
  };
  struct Parcel {
    std::uint32_t edge = 0;  // first of its edges in `readers`
    std::int32_t output = 0;
    OpIndex producer = 0;
    Picos duration = 0;
    Bytes bytes = 0;
  };

  std::vector<Range> ops;
  std::vector<OpIndex> readers;         // by op, then parcel, then consumer
  std::vector<Edge> edges;              // by op, then consumer; differs where an op has several parcels
  std::vector<Parcel> parcels;          // one more at the end
  std::vector<std::int32_t> producers;  // [op]: number of different ones
  std::vector<Bytes> output_bytes;      // [op]: sum over its outputs

  explicit Wiring(const OpGraph& graph);
};

Wiring::Wiring(const OpGraph& graph) {
  const auto n = static_cast<std::size_t>(graph.size());
  struct Reader {
    OpIndex consumer;
    std::int32_t output;
  };
  std::vector<std::vector<Reader>> of(n);
  producers.resize(n);
  for (OpIndex c = 0; c < graph.size(); ++c) {
    const Op& op = graph.ops[static_cast<std::size_t>(c)];
    const auto name = [&](OpIndex producer, std::int32_t output) {
      auto& list = of[static_cast<std::size_t>(producer)];
      if (!list.empty() && list.back().consumer == c) {
        list.back().output = output;
      } else {
        list.push_back({c, output});
        ++producers[static_cast<std::size_t>(c)];
      }
    };
    for (const TensorRef& input : op.inputs) name(input.op, input.output);
    for (const OpIndex control : op.control) name(control, 0);
    Bytes sum = 0;
    for (const Output& output : op.outputs) sum += output.bytes;
    output_bytes.push_back(sum);
  }
  for (std::size_t p = 0; p < n; ++p) {
    const auto first_parcel = static_cast<std::uint32_t>(parcels.size());
    ops.push_back({static_cast<std::uint32_t>(edges.size()), first_parcel});
    std::vector<Reader> by_output = of[p];
    std::stable_sort(by_output.begin(), by_output.end(),
                     [](const Reader& a, const Reader& b) { return a.output < b.output; });
    for (const Reader& reader : by_output) {
      if (parcels.size() == first_parcel || parcels.back().output != reader.output) {
        const auto& outputs = graph.ops[p].outputs;
        const auto output = static_cast<std::size_t>(reader.output);
        const Bytes bytes =
            output < outputs.size() ? outputs[output].bytes : 0;  // a control input of an op without
        parcels.push_back({static_cast<std::uint32_t>(readers.size()), reader.output, static_cast<OpIndex>(p),
                           SendTime(bytes), bytes});
      }
      readers.push_back(reader.consumer);
    }
    for (const Reader& reader : of[p]) {
      const auto parcel = std::find_if(parcels.begin() + first_parcel, parcels.end(),
                                       [&](const Parcel& x) { return x.output == reader.output; });
      edges.push_back({reader.consumer, static_cast<std::uint32_t>(parcel - parcels.begin())});
    }
  }
  ops.push_back({static_cast<std::uint32_t>(edges.size()), static_cast<std::uint32_t>(parcels.size())});
  parcels.push_back({static_cast<std::uint32_t>(readers.size())});
}

// Everything one after the other: no time of a run is beyond it.
Wide LatestTime(const Wiring& wiring, const CostTable& costs) {
  Wide sum = 0;
  const auto devices = static_cast<std::size_t>(costs.devices);
  for (std::size_t i = 0; i < costs.picos.size(); i += devices) {
    const auto row = costs.picos.begin() + static_cast<std::ptrdiff_t>(i);
    sum += Wide(*std::max_element(row, row + costs.devices)) + kOpPause;
  }
  for (const auto& parcel : wiring.parcels) sum += Wide(parcel.duration) + kSendPause;
  return sum;
}

// Every device runs one op at a time and every channel sends one parcel, first in, first out. So at most 2 D
// completions are pending, the next event is the least of 2 D keys, and a pause can be added to the start of
// what comes next instead of being an event. A key is time * 2^bits + resource, devices first: its order is
// the tie-break of DESIGN 4.3. Key is as wide as the latest time of the problem needs.
template <typename Key>
class PlacetoSimulator final : public Simulator {
 public:
  PlacetoSimulator(const Problem& problem, Wiring wiring)
      : problem_(problem),
        wiring_(std::move(wiring)),
        bits_(std::bit_width(2u * static_cast<unsigned>(problem.cluster().size()) - 1)),
        mask_((Key{1} << bits_) - 1) {
    const auto ops = static_cast<std::size_t>(problem.graph().size());
    const auto devices = static_cast<std::size_t>(problem.cluster().size());
    keys_.resize((2 * devices + kKeysAtOnce - 1) / kKeysAtOnce * kKeysAtOnce);
    ops_.resize(ops);
    start_.resize(ops);
    last_use_.resize(ops);
    devices_.resize(devices);
    channels_.resize(devices);
    // Pushing writes before it knows whether it counts, hence one place more for each device.
    ready_.resize(ops + devices);
    outbox_.resize(wiring_.parcels.size() + devices);
    queued_in_.resize(wiring_.parcels.size());
    release_.resize(ops + 1);
    start_in_order_.resize(ops);
    bucket_.resize(2 * ops + 2);
    outcome_.devices.resize(devices);
  }

  const Outcome& Run(const Placement& placement, const RunOptions& options) override;

 private:
  static constexpr std::size_t kKeysAtOnce = 8;
  static constexpr Key kIdle = ~Key{0};

  struct OpState {
    std::int32_t missing;  // producers that have not arrived
    DeviceIndex device;
    Picos cost;
  };
  // A device or a channel with its queue: [head, tail) of ready_ or outbox_ wait.
  struct Server {
    std::uint32_t head = 0;
    std::uint32_t tail = 0;
    std::uint32_t first = 0;
    std::uint32_t current = 0;  // the op that runs, the parcel that is sent
    Picos free = 0;             // end of the last pause
  };

  void Reset(const Placement& placement);
  bool RunEvents(Picos cutoff);
  Key NextKey() const;
  void EndOp(DeviceIndex d, Picos now);
  void EndSending(DeviceIndex d, Picos now);
  void StartNextOp(DeviceIndex d, Picos now);
  void StartNextSending(DeviceIndex d, Picos now);
  std::uint32_t DeliverParcels(OpIndex op, DeviceIndex d, std::uint32_t tail, Picos now);
  void NoteQueued(std::uint32_t parcel, DeviceIndex from, Picos now);

  Picos HoldEnd(OpIndex op) const;
  void FindLastUses();
  Bytes Peak(DeviceIndex d);
  void RecordOps();
  void RecordMemory();

  const Problem& problem_;
  const Wiring wiring_;
  const int bits_;
  const Key mask_;
  std::vector<Key> keys_;  // devices, then channels; kIdle where nothing is pending
  std::vector<OpState> ops_;
  std::vector<Picos> start_;
  std::vector<Server> devices_;
  std::vector<Server> channels_;
  std::vector<OpIndex> ready_;            // by device: its ops in the order they run
  std::vector<std::uint32_t> outbox_;     // by device: its parcels in the order they are sent
  std::vector<std::uint64_t> queued_in_;  // [parcel]: the last run in which it was queued
  std::uint64_t run_ = 0;
  bool record_transfers_ = false;
  std::vector<std::uint32_t> transfer_of_;  // [parcel]: its entry of Outcome::transfers

  // Scratch of the peaks.
  std::vector<Picos> last_use_;  // [op]: end of the holds of its producers as far as it decides
  std::vector<Bytes> release_;
  std::vector<Picos> start_in_order_;
  std::vector<std::uint32_t> bucket_;

  Outcome outcome_;
};

template <typename Key>
void PlacetoSimulator<Key>::Reset(const Placement& placement) {
  ++run_;
  const CostTable& costs = problem_.costs();
  const auto devices = devices_.size();
  std::fill(keys_.begin(), keys_.end(), kIdle);
  std::fill(devices_.begin(), devices_.end(), Server{});
  std::fill(channels_.begin(), channels_.end(), Server{});
  std::fill(outcome_.devices.begin(), outcome_.devices.end(), DeviceUse{});
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const auto d = static_cast<std::size_t>(placement.device[i]);
    ops_[i] = {wiring_.producers[i], placement.device[i], costs.picos[i * devices + d]};
    outcome_.devices[d].busy += ops_[i].cost;
    ++devices_[d].tail;
    channels_[d].tail += wiring_.ops[i + 1].parcel - wiring_.ops[i].parcel;
  }
  std::uint32_t op = 0, parcel = 0;
  for (std::size_t d = 0; d < devices; ++d) {
    const auto ops = devices_[d].tail, parcels = channels_[d].tail;
    devices_[d].first = devices_[d].head = devices_[d].tail = op;
    channels_[d].first = channels_[d].head = channels_[d].tail = parcel;
    op += ops + 1;
    parcel += parcels + 1;
  }
  for (OpIndex i = 0; i < static_cast<OpIndex>(ops_.size()); ++i) {
    const OpState& state = ops_[static_cast<std::size_t>(i)];
    if (state.missing == 0) ready_[devices_[static_cast<std::size_t>(state.device)].tail++] = i;
  }
}

template <typename Key>
Key PlacetoSimulator<Key>::NextKey() const {
  Key best = kIdle;
  for (std::size_t i = 0; i < keys_.size(); i += kKeysAtOnce) {
    const Key* k = keys_.data() + i;
    const Key low = std::min(std::min(k[0], k[1]), std::min(k[2], k[3]));
    const Key high = std::min(std::min(k[4], k[5]), std::min(k[6], k[7]));
    best = std::min(best, std::min(low, high));
  }
  return best;
}

// Starts the head of a device's queue, at once or when its pause is over.
template <typename Key>
inline void PlacetoSimulator<Key>::StartNextOp(DeviceIndex d, Picos now) {
  Server& device = devices_[static_cast<std::size_t>(d)];
  const auto op = static_cast<std::size_t>(ready_[device.head++]);
  const Picos start = std::max(now, device.free);
  start_[op] = start;
  device.current = static_cast<std::uint32_t>(op);
  keys_[static_cast<std::size_t>(d)] =
      (static_cast<Key>(start + ops_[op].cost) << bits_) | static_cast<Key>(d);
}

template <typename Key>
inline void PlacetoSimulator<Key>::StartNextSending(DeviceIndex d, Picos now) {
  Server& channel = channels_[static_cast<std::size_t>(d)];
  const std::uint32_t parcel = outbox_[channel.head++];
  const Picos start = std::max(now, channel.free);
  const Picos end = start + wiring_.parcels[parcel].duration;
  const auto resource = devices_.size() + static_cast<std::size_t>(d);
  channel.current = parcel;
  keys_[resource] = (static_cast<Key>(end) << bits_) | static_cast<Key>(resource);
  if (record_transfers_) {
    TransferTimes& times = outcome_.transfers[transfer_of_[parcel]];
    times.start = start;
    times.end = end;
  }
}

template <typename Key>
void PlacetoSimulator<Key>::NoteQueued(std::uint32_t parcel, DeviceIndex from, Picos now) {
  const Wiring::Parcel& sent = wiring_.parcels[parcel];
  const auto remote =
      std::find_if(wiring_.readers.begin() + sent.edge, wiring_.readers.end(),
                   [&](OpIndex reader) { return ops_[static_cast<std::size_t>(reader)].device != from; });
  transfer_of_[parcel] = static_cast<std::uint32_t>(outcome_.transfers.size());
  outcome_.transfers.push_back({{sent.producer, sent.output},
                                from,
                                ops_[static_cast<std::size_t>(*remote)].device,
                                sent.bytes,
                                now,
                                0,
                                0});
}

// The general case of EndOp: an op several of whose outputs are read. Returns the new end of the outbox.
template <typename Key>
std::uint32_t PlacetoSimulator<Key>::DeliverParcels(OpIndex op, DeviceIndex d, std::uint32_t tail,
                                                    Picos now) {
  const auto i = static_cast<std::size_t>(op);
  for (auto e = wiring_.ops[i].edge; e < wiring_.ops[i + 1].edge; ++e) {
    const auto [consumer, parcel] = wiring_.edges[e];
    OpState& state = ops_[static_cast<std::size_t>(consumer)];
    if (state.device == d) {
      if (--state.missing == 0) ready_[devices_[static_cast<std::size_t>(d)].tail++] = consumer;
    } else if (queued_in_[parcel] != run_) {
      queued_in_[parcel] = run_;
      outbox_[tail++] = parcel;
      if (record_transfers_) NoteQueued(parcel, d, now);
    }
  }
  return tail;
}

template <typename Key>
inline void PlacetoSimulator<Key>::EndOp(DeviceIndex d, Picos now) {
  Server& device = devices_[static_cast<std::size_t>(d)];
  Server& channel = channels_[static_cast<std::size_t>(d)];
  const std::size_t op = device.current;
  const Wiring::Range range = wiring_.ops[op], next = wiring_.ops[op + 1];
  if (next.parcel - range.parcel <= 1) {
    // Without branches on what is where: random placements would mispredict every other one.
    std::uint32_t tail = device.tail;
    bool remote = false;
    for (auto e = range.edge; e < next.edge; ++e) {
      const OpIndex consumer = wiring_.readers[e];
      OpState& state = ops_[static_cast<std::size_t>(consumer)];
      const bool local = state.device == d;
      state.missing -= local;
      ready_[tail] = consumer;
      tail += local & (state.missing == 0);
      remote |= !local;
    }
    device.tail = tail;
    outbox_[channel.tail] = range.parcel;
    channel.tail += remote;
    if (record_transfers_ && remote) NoteQueued(range.parcel, d, now);
  } else {
    channel.tail = DeliverParcels(static_cast<OpIndex>(op), d, channel.tail, now);
  }
  device.free = now + (ops_[op].cost > 0 ? kOpPause : 0);
  keys_[static_cast<std::size_t>(d)] = kIdle;
  if (device.head != device.tail) StartNextOp(d, now);
  if (channel.head != channel.tail && keys_[devices_.size() + static_cast<std::size_t>(d)] == kIdle) {
    StartNextSending(d, now);
  }
}

template <typename Key>
inline void PlacetoSimulator<Key>::EndSending(DeviceIndex d, Picos now) {
  Server& channel = channels_[static_cast<std::size_t>(d)];
  const Wiring::Parcel* parcel = &wiring_.parcels[channel.current];
  for (auto e = parcel[0].edge; e < parcel[1].edge; ++e) {
    const OpIndex consumer = wiring_.readers[e];
    OpState& state = ops_[static_cast<std::size_t>(consumer)];
    if (state.device == d || --state.missing > 0) continue;
    ready_[devices_[static_cast<std::size_t>(state.device)].tail++] = consumer;
    if (keys_[static_cast<std::size_t>(state.device)] == kIdle) StartNextOp(state.device, now);
  }
  channel.free = now + kSendPause;
  keys_[devices_.size() + static_cast<std::size_t>(d)] = kIdle;
  if (channel.head != channel.tail) StartNextSending(d, now);
}

// False if it was given up at the cutoff.
template <typename Key>
bool PlacetoSimulator<Key>::RunEvents(Picos cutoff) {
  const auto devices = static_cast<DeviceIndex>(devices_.size());
  for (DeviceIndex d = 0; d < devices; ++d) {
    if (devices_[static_cast<std::size_t>(d)].head != devices_[static_cast<std::size_t>(d)].tail)
      StartNextOp(d, 0);
  }
  for (;;) {
    const Key key = NextKey();
    if (key == kIdle) return true;
    const auto now = static_cast<Picos>(key >> bits_);
    if (now > cutoff) {
      outcome_.runtime = now;
      return false;
    }
    const auto resource = static_cast<DeviceIndex>(key & mask_);
    if (resource < devices) {
      EndOp(resource, now);
    } else {
      EndSending(resource - devices, now);
    }
  }
}

// ---- peak memory----

// An op's outputs are held from its start to the last of these over its consumers (its own start if it has
// none).
template <typename Key>
void PlacetoSimulator<Key>::FindLastUses() {
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    last_use_[i] = FloorMicro(start_[i]) + FloorMicro(ops_[i].cost) - kPicosPerMicro;
  }
}

template <typename Key>
inline Picos PlacetoSimulator<Key>::HoldEnd(OpIndex op) const {
  const auto i = static_cast<std::size_t>(op);
  const auto begin = wiring_.ops[i].edge, end = wiring_.ops[i + 1].edge;
  if (begin == end) return start_[i];
  Picos last = last_use_[static_cast<std::size_t>(wiring_.readers[begin])];
  for (auto e = begin + 1; e < end; ++e)
    last = std::max(last, last_use_[static_cast<std::size_t>(wiring_.readers[e])]);
  return last;
}

// The peak can only be reached when an op starts. So each hold is released before the first op of the device
// that starts after its end; that op is found through a table of buckets of equal time, about as many as ops.
template <typename Key>
Bytes PlacetoSimulator<Key>::Peak(DeviceIndex d) {
  const Server& device = devices_[static_cast<std::size_t>(d)];
  const OpIndex* order = ready_.data() + device.first;
  const std::uint32_t n = device.tail - device.first;
  if (n == 0) return 0;
  const Picos last = start_[static_cast<std::size_t>(order[n - 1])];
  const int shift = std::bit_width(static_cast<std::uint64_t>(last) / n);  // at most n buckets up to `last`
  std::size_t buckets = 0;
  for (std::uint32_t k = 0; k < n; ++k) {
    start_in_order_[k] = start_[static_cast<std::size_t>(order[k])];
    const auto b = static_cast<std::size_t>(start_in_order_[k] >> shift);
    while (buckets <= b) bucket_[buckets++] = k;
  }
  bucket_[buckets] = n;
  std::fill(release_.begin(), release_.begin() + n + 1, 0);

  Bytes live = 0, peak = 0;
  for (std::uint32_t k = 0; k < n; ++k) {
    live -= release_[k];
    const OpIndex op = order[k];
    const Bytes bytes = wiring_.output_bytes[static_cast<std::size_t>(op)];
    const Picos end = HoldEnd(op);
    if (end < start_in_order_[k]) continue;
    live += bytes;
    peak = std::max(peak, live);
    std::uint32_t after = n;
    if (end < last) {
      const auto b = static_cast<std::size_t>(end >> shift);
      const Picos* starts = start_in_order_.data();
      after = static_cast<std::uint32_t>(std::upper_bound(starts + bucket_[b], starts + bucket_[b + 1], end) -
                                         starts);
    }
    release_[after] += bytes;
  }
  return peak;
}

// ---- what is recorded----

template <typename Key>
void PlacetoSimulator<Key>::RecordOps() {
  outcome_.ops.resize(ops_.size());
  for (std::size_t i = 0; i < ops_.size(); ++i)
    outcome_.ops[i] = {start_[i], start_[i], start_[i] + ops_[i].cost};
}

template <typename Key>
void PlacetoSimulator<Key>::RecordMemory() {
  outcome_.memory.clear();
  for (OpIndex op = 0; op < static_cast<OpIndex>(ops_.size()); ++op) {
    const auto i = static_cast<std::size_t>(op);
    const Bytes bytes = wiring_.output_bytes[i];
    const Picos end = HoldEnd(op);
    if (bytes == 0 || end < start_[i]) continue;
    MemoryPoint point{start_[i], ops_[i].device, 0, op, OutOfMemory::What::kOutput, bytes};
    outcome_.memory.push_back(point);
    point.time = end;
    point.change = -bytes;
    outcome_.memory.push_back(point);
  }
  std::stable_sort(outcome_.memory.begin(), outcome_.memory.end(),
                   [](const MemoryPoint& a, const MemoryPoint& b) {
                     return std::pair(a.time, a.change < 0) < std::pair(b.time, b.change < 0);
                   });
  std::vector<Bytes> live(devices_.size());
  for (MemoryPoint& point : outcome_.memory)
    point.live = live[static_cast<std::size_t>(point.device)] += point.change;
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
  outcome_.stopped = !RunEvents(options.cutoff.value_or(std::numeric_limits<Picos>::max()));
  if (outcome_.stopped) {
    std::fill(outcome_.devices.begin(), outcome_.devices.end(), DeviceUse{});
    outcome_.transfers.clear();
    return outcome_;
  }
  std::uint32_t done = 0;
  FindLastUses();
  for (DeviceIndex d = 0; d < static_cast<DeviceIndex>(devices_.size()); ++d) {
    const auto i = static_cast<std::size_t>(d);
    outcome_.runtime = std::max({outcome_.runtime, devices_[i].free, channels_[i].free});
    outcome_.devices[i].peak = Peak(d);
    done += devices_[i].head - devices_[i].first;
  }
  BERTH_CHECK_EQ(done, ops_.size());
  if (options.record != RunOptions::Record::kNothing) RecordOps();
  if (record_transfers_) RecordMemory();
  return outcome_;
}

}  // namespace

std::unique_ptr<Simulator> MakePlacetoSimulator(const Problem& problem) {
  Wiring wiring(problem.graph());
  const Wide latest = LatestTime(wiring, problem.costs());
  if (latest > Wide(std::numeric_limits<Picos>::max())) {
    throw InputError(
        "graph '" + problem.graph().name +
        "': its ops and transfers one after the other take more than 2^63 ps, which a simulated time "
        "cannot hold; make the costs or the tensors smaller");
  }
  const int bits = std::bit_width(2u * static_cast<unsigned>(problem.cluster().size()) - 1);
  if (latest < Wide{1} << (63 - bits)) {
    return std::make_unique<PlacetoSimulator<std::uint64_t>>(problem, std::move(wiring));
  }
  return std::make_unique<PlacetoSimulator<Wide>>(problem, std::move(wiring));
}

}  // namespace berth::sim
