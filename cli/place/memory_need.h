// What memory a graph needs that does not fit: what the leanest placement takes that a search came by.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agents/agent.h"
#include "agents/evaluator.h"
#include "agents/task.h"

namespace stowplan::cli {

struct MemoryNeed {
  std::vector<sim::DeviceIndex>
      devices;                // whose memory was raised: the GPUs that may be used, else all devices that may
  sim::Bytes enough = 0;      // with so much on each of them a placement fits; 0 = none was found
  sim::Bytes too_little = 0;  // proven: with so much nothing fits; 0 = nothing is proven
  bool never = false;         // proven: with any memory nothing fits
  bool stopped = false;       // before it was narrowed down
  struct Short {
    sim::DeviceIndex device;
    sim::Bytes bytes;
  };
  sim::Placement placement;     // that one; empty = none was found
  bool fits = false;            // it does with the memory that there is
  std::vector<Short> shortage;  // where it needs more than there is
};

// Of the placements that a search samples, whether they fit or not, the one whose fullest device takes least; the other
// devices, whose memory is not to be raised, must have enough.
class Leanest {
 public:
  explicit Leanest(const agents::Task& task);
  void See(const agents::UnitPlacement& placement,
           const agents::Evaluation& evaluation);  // Evaluator::observer
  const std::optional<agents::UnitPlacement>& placement() const { return placement_; }
  const std::vector<sim::DeviceIndex>& devices() const { return devices_; }

 private:
  const agents::Task& task_;
  std::vector<sim::DeviceIndex> devices_;  // whose memory may be raised
  sim::Bytes most_ = 0;                    // that one of them takes
  std::optional<agents::UnitPlacement> placement_;
};

// What looks for a placement that takes least memory, and its budget: seconds are enough for both, whatever the graph.
std::string NeedAgent(const sim::OpGraph& graph);
std::int64_t NeedSamples(const sim::OpGraph& graph);

// `seen`: of the search that found nothing. `samples`: of NeedAgent(), which looks on; 0 = `seen` was its search. `options`
// have its seed and threads. `stop`: ends early with what is known by then. `on_sample` gets how many there were; may be empty.
MemoryNeed FindMemoryNeed(const agents::Task& task, Leanest seen, std::int64_t samples,
                          const agents::SearchOptions& options, const std::atomic<bool>* stop,
                          std::function<void(std::int64_t)> on_sample = {});

// Sentences: how many bytes are missing where, and what would be enough.
std::string MemoryNeedText(const MemoryNeed& need, const sim::Cluster& cluster);

}  // namespace stowplan::cli
