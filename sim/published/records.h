// The part of PublishedSimulator that looks back on a run: peak memory and what is recorded. Included by simulator.cpp.
#pragma once

#include <algorithm>
#include <bit>

#include "sim/published/run.h"

namespace stowplan::sim {

// ---- peak memory ----

// An op's outputs are held from its start until the last use of its readers; -kNever if it has none.
template <typename Queues>
inline Picos PublishedSimulator<Queues>::LastUse(OpIndex op) const {
  const auto i = static_cast<std::size_t>(op);
  const PublishedWiring::Item& item = wiring_.ops[i];
  const OpIndex* const last = wiring_.readers.data() + item.reader + InGroups(item.readers);
  Picos use = -kNever;
  for (const OpIndex* group = wiring_.readers.data() + item.reader; group != last; group += kReaderGroup) {
    for (std::uint32_t k = 0; k < kReaderGroup; ++k) {
      use = std::max(use, cost_or_use_[static_cast<std::size_t>(group[k])]);
    }
  }
  return use;
}

// A peak is reached when an op starts. So each hold is released before the first op of the device that starts
// after its end; that op is found through a table of up to 2 n buckets of equal time, usually at the first or
// second place.
template <typename Queues>
Bytes PublishedSimulator<Queues>::Peak(std::size_t d) {
  const View queues = queues_.view();
  const auto& device = queues.servers[d];
  const std::uint32_t n = device.tail - device.first;
  if (n == 0) return 0;
  const auto* const order = queues.entries + device.first;
  Picos* const start = start_.data() + device.first;
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
    const auto op = static_cast<OpIndex>(order[k].item);
    Picos end = LastUse(op);
    if (end == -kNever) end = start[k];
    if (end < start[k]) continue;
    const Bytes bytes = wiring_.output_bytes[static_cast<std::size_t>(op)];
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

template <typename Queues>
void PublishedSimulator<Queues>::RecordTransfer(std::uint32_t transfer, std::size_t from, OpIndex reader,
                                                Picos now, Picos end) {
  const TensorRef tensor = wiring_.tensors[transfer];
  const auto& outputs = problem_.graph().ops[static_cast<std::size_t>(tensor.op)].outputs;
  const auto output = static_cast<std::size_t>(tensor.output);
  TransferTimes times;
  times.tensor = tensor;
  times.from = static_cast<DeviceIndex>(from);
  times.to = DeviceOf(reader);
  times.bytes = output < outputs.size() ? outputs[output].bytes : 0;
  times.queued = now;
  times.start = end - wiring_.durations[transfer];
  times.end = end;
  outcome_.transfers.push_back(times);
}

template <typename Queues>
void PublishedSimulator<Queues>::RecordOps() {
  outcome_.ops.resize(op_count_);
  const View queues = queues_.view();
  for (std::size_t d = 0; d < device_count_; ++d) {
    for (auto place = queues.servers[d].first; place < queues.servers[d].tail; ++place) {
      const auto [key, op, server] = queues.entries[place];
      outcome_.ops[op] = {start_[place], start_[place], queues.TimeOf(key)};
    }
  }
}

template <typename Queues>
void PublishedSimulator<Queues>::RecordMemory() {
  for (OpIndex op = 0; op < static_cast<OpIndex>(op_count_); ++op) {
    const auto i = static_cast<std::size_t>(op);
    const Bytes bytes = wiring_.output_bytes[i];
    const Picos start = outcome_.ops[i].start;
    const Picos use = LastUse(op);
    const Picos end = use == -kNever ? start : use;
    if (bytes == 0 || end < start) continue;
    MemoryPoint point{start, static_cast<DeviceIndex>(DeviceOf(op)), 0, op, OutOfMemory::What::kOutput,
                      bytes};
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

}  // namespace stowplan::sim
