#include "sim/native/peaks.h"

#include <algorithm>

namespace berth::sim {

Peaks::Peaks(const Cluster& cluster, OpIndex ops, std::size_t changes)
    : bits_(std::bit_width(static_cast<std::uint32_t>(ops / cluster.size()))),
      table_(cluster.devices.size() << bits_),
      peaks_(cluster.devices.size()) {
  for (const Device& device : cluster.devices) capacity_.push_back(device.capacity());
  changes_.reserve(changes);
}

// A bucket's peak is at most what is live before it and all that it allocates. What is live after it is at most
// the peak so far, and the first request that does not fit is not behind a bucket after which too much is live.
void Peaks::FindWanted(const ById<Bytes>& live_at_start) {
  const std::size_t buckets = std::size_t{1} << bits_;
  for (DeviceIndex d = 0; d < static_cast<DeviceIndex>(peaks_.size()); ++d) {
    Bucket* const begin = table_.data() + (static_cast<std::size_t>(d) << bits_);
    Bytes live = live_at_start[d], least = live;
    for (Bucket* bucket = begin; bucket != begin + buckets; ++bucket)
      least = std::max(least, live += bucket->allocated - bucket->freed);
    peaks_[d] = least;
    live = live_at_start[d];
    bool may_be_first = true;
    for (Bucket* bucket = begin; bucket != begin + buckets; ++bucket) {
      const Bytes most = live + bucket->allocated;
      if (most > least || (may_be_first && most > capacity_[d])) bucket->before = live;
      live += bucket->allocated - bucket->freed;
      may_be_first = may_be_first && live <= capacity_[d];
    }
  }
}

void Peaks::GoThroughWanted() {
  refused_.reset();
  std::sort(changes_.begin(), changes_.end());
  const Bucket* bucket = nullptr;
  Bytes live = 0;
  for (const Change& change : changes_) {
    const Bucket& mine = At(change.device, change.request.at);
    if (&mine != bucket) live = mine.before;
    bucket = &mine;
    live += change.bytes;
    peaks_[change.device] = std::max(peaks_[change.device], live);
    if (change.bytes > 0 && live > capacity_[change.device] &&
        (!refused_ || change.request < refused_->request))
      refused_ = {change.request, change.device, live};
  }
}

}  // namespace berth::sim
