// Peaks of live bytes, found after a run from when each storage was allocated and freed (docs/model.md section
// 5). Internal to sim/native/.
#pragma once

#include <bit>
#include <optional>
#include <vector>

#include "sim/compiled.h"
#include "sim/native/moment.h"

namespace berth::sim {

// Time is cut into buckets whose allocations and frees are added up. Only those in which a peak, or the first
// request that does not fit, can be are gone through in their order.
class Peaks {
 public:
  using What = OutOfMemory::What;
  // A request for memory, as it is ordered within a device's moment. Frees come first, and have no order.
  struct Request {
    Moment at = 0;
    What what = What::kPersistent;
    std::int32_t number = 0;  // the op; for copies their order of queueing
    friend auto operator<=>(const Request&, const Request&) = default;
  };
  struct Refused {
    Request request;
    DeviceIndex device = 0;
    Bytes live = 0;  // with it
  };

  // No more than so many allocations and frees.
  Peaks(const Cluster& cluster, OpIndex ops, std::size_t changes);

  // live: by device, at the start. All changes, with bytes > 0, are told by for_each(allocate, free), called
  // twice with functions allocate(device, request, bytes) and free(device, moment, bytes). None is after `last`.
  template <typename ForEach>
  void Find(const ById<Bytes>& live, Moment last, const ForEach& for_each);

  const ById<Bytes>& peaks() const { return peaks_; }                 // by device
  const std::optional<Refused>& refused() const { return refused_; }  // the first of all devices

 private:
  static constexpr Bytes kUnwanted = -1;
  struct Bucket {
    Bytes allocated = 0, freed = 0;
    Bytes before = kUnwanted;  // live bytes, where the order of the bucket's changes is wanted
  };
  struct Change {
    DeviceIndex device;
    Request request;  // kPersistent, number 0: a free
    Bytes bytes;      // below 0: freed
    friend bool operator<(const Change& a, const Change& b) {
      return a.device != b.device ? a.device < b.device : a.request < b.request;
    }
  };
  Bucket& At(DeviceIndex device, Moment moment) {
    return table_[(static_cast<std::size_t>(device) << bits_) + static_cast<std::size_t>(moment >> shift_)];
  }
  void FindWanted(const ById<Bytes>& live);
  void GoThroughWanted();

  ById<Bytes> capacity_;
  int bits_;  // of the number of buckets of a device
  int shift_ = 0;
  std::vector<Bucket> table_;
  std::vector<Change> changes_;
  ById<Bytes> peaks_;
  std::optional<Refused> refused_;
};

template <typename ForEach>
void Peaks::Find(const ById<Bytes>& live, Moment last, const ForEach& for_each) {
  shift_ = std::max(0, static_cast<int>(std::bit_width(last)) - bits_);
  table_.assign(table_.size(), {});
  for_each([this](DeviceIndex device, const Request& request,
                  Bytes bytes) { At(device, request.at).allocated += bytes; },
           [this](DeviceIndex device, Moment at, Bytes bytes) { At(device, at).freed += bytes; });
  FindWanted(live);
  changes_.clear();
  for_each(
      [this](DeviceIndex device, const Request& request, Bytes bytes) {
        if (At(device, request.at).before != kUnwanted) changes_.push_back({device, request, bytes});
      },
      [this](DeviceIndex device, Moment at, Bytes bytes) {
        if (At(device, at).before != kUnwanted)
          changes_.push_back({device, {at, What::kPersistent, 0}, -bytes});
      });
  GoThroughWanted();
}

}  // namespace berth::sim
