// The best path from one device to each other node of a cluster: least sum of latencies + 1 MiB /
// narrowest bandwidth, then fewest links, then file order of the links; switches and CPUs forward.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cluster.h"

namespace stowplan::sim {

class RouteSearch {
 public:
  explicit RouteSearch(
      const Cluster& cluster);  // devices, switches and links are checked; it must outlive this

  void From(DeviceIndex from);
  std::vector<Cluster::Hop> To(DeviceIndex to) const;  // of the last From(); empty = cannot be reached

 private:
  // A path: one link more than another, its parent.
  struct Label {
    Picos cost;  // latency + 1 MiB / narrowest
    Picos latency;
    std::int64_t narrowest;  // [B/s]
    std::int32_t node;       // where it ends
    std::int32_t link;       // the last one; -1 for the path of no links
    std::int32_t parent;     // index into labels_
    std::int32_t length;     // in links
  };

  const Label& label(std::int32_t index) const { return labels_[static_cast<std::size_t>(index)]; }
  Label Extend(std::int32_t path, std::int32_t link) const;
  bool Visits(std::int32_t path, std::int32_t node) const;
  bool EarlierInFile(const Label& a, const Label& b) const;
  bool Better(const Label& a, const Label& b) const;
  bool Dominated(const Label& path) const;
  std::int32_t Add(const Label& path);
  void Reach(const Label& path);
  void Continue(std::int32_t path);

  const Cluster& cluster_;
  std::vector<std::vector<std::int32_t>> links_of_;  // by node
  std::vector<bool> forwards_;                       // by node
  std::vector<Label> labels_;
  std::vector<std::int32_t> open_;  // heap of labels, the best on top
  // By node: labels that no other there dominates, best first; just the best where nothing goes on.
  std::vector<std::vector<std::int32_t>> kept_;
};

}  // namespace stowplan::sim
