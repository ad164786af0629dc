#include "tests/sim/compare.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/outcome.h"

namespace stowplan::sim {
namespace {

std::ostream& operator<<(std::ostream& out, const OutOfMemory& oom) {
  return out << "device " << oom.device << " op " << oom.op << " " << ToString(oom.what) << " at " << oom.time
             << " needs " << oom.needed << " of " << oom.capacity;
}
std::ostream& operator<<(std::ostream& out, const std::optional<OutOfMemory>& oom) {
  if (!oom) return out << "fits";
  return out << *oom;
}
std::ostream& operator<<(std::ostream& out, const DeviceUse& use) {
  return out << "busy " << use.busy << " peak " << use.peak;
}
std::ostream& operator<<(std::ostream& out, const LinkUse& use) {
  return out << "busy " << use.busy << " bytes " << use.bytes;
}
std::ostream& operator<<(std::ostream& out, const OpTimes& op) {
  return out << "issue " << op.issue << " start " << op.start << " end " << op.end;
}
std::ostream& operator<<(std::ostream& out, const TransferTimes& t) {
  return out << "op " << t.tensor.op << " output " << t.tensor.output << " from " << t.from << " to " << t.to
             << " bytes " << t.bytes << " queued " << t.queued << " start " << t.start << " end " << t.end;
}
std::ostream& operator<<(std::ostream& out, const MemoryPoint& point) {
  return out << "at " << point.time << " op " << point.op << " " << ToString(point.what) << " change "
             << point.change << " live " << point.live;
}

template <typename T>
std::string Text(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// The texts are complete descriptions, so comparing them compares the values.
template <typename T>
std::string Difference(const std::string& what, const T& expected, const T& actual) {
  const std::string want = Text(expected), got = Text(actual);
  return want == got ? "" : what + ": expected " + want + ", got " + got;
}

template <typename T, typename Name>
std::string DifferenceOfLists(const std::string& what, const std::vector<T>& expected,
                              const std::vector<T>& actual, const Name& name) {
  for (std::size_t i = 0; i < std::min(expected.size(), actual.size()); ++i) {
    const std::string difference = Difference(what + " " + name(i), expected[i], actual[i]);
    if (!difference.empty()) return difference;
  }
  return Difference("number of " + what + "s", expected.size(), actual.size());
}

std::vector<MemoryPoint> OfDevice(const std::vector<MemoryPoint>& points, DeviceIndex device) {
  std::vector<MemoryPoint> result;
  std::map<std::pair<OpIndex, OutOfMemory::What>, Bytes> frees;
  MemoryPoint last;
  const auto flush = [&] {
    Bytes live = result.empty() ? 0 : result.back().live;
    for (const auto& [who, change] : frees) {
      live += change;
      result.push_back({last.time, device, live, who.first, who.second, change});
    }
    frees.clear();
  };
  for (const MemoryPoint& point : points) {
    if (point.device != device) continue;
    if (point.change >= 0 || point.time != last.time) flush();
    last = point;
    if (point.change < 0) {
      frees[{point.op, point.what}] += point.change;
    } else {
      result.push_back(point);
    }
  }
  flush();
  return result;
}

}  // namespace

std::string FirstDifference(const Outcome& expected, const Outcome& actual, const OpGraph& graph,
                            const Cluster& cluster) {
  const auto number = [](std::size_t i) { return std::to_string(i); };
  std::vector<std::string> differences = {
      DifferenceOfLists("op", expected.ops, actual.ops, [&](std::size_t i) { return graph.ops[i].name; }),
      DifferenceOfLists("transfer", expected.transfers, actual.transfers, number),
      Difference("out of memory", expected.oom, actual.oom),
      DifferenceOfLists("device", expected.devices, actual.devices, number),
      DifferenceOfLists("link", expected.links, actual.links, number),
      Difference("runtime", expected.runtime, actual.runtime),
      Difference("stopped", expected.stopped, actual.stopped)};
  for (DeviceIndex d = 0; d < cluster.size(); ++d) {
    differences.push_back(DifferenceOfLists("memory point of device " + std::to_string(d),
                                            OfDevice(expected.memory, d), OfDevice(actual.memory, d),
                                            number));
  }
  for (const std::string& difference : differences) {
    if (!difference.empty()) return difference;
  }
  return "";
}

std::string DifferenceOfCutoffs(Simulator& simulator, const RandomCase& c, const Outcome& full) {
  for (const Picos cutoff : {Picos{0}, full.runtime / 3, full.runtime - 30 * kPicosPerMicro, full.runtime - 1,
                             full.runtime, full.runtime + 1}) {
    for (const auto record : {RunOptions::Record::kNothing, RunOptions::Record::kTimeline}) {
      if (cutoff < 0) continue;
      Outcome expected = full;
      if (full.runtime > cutoff) {
        SetStopped(cutoff, full.devices.size(), full.links.size(), expected);
      } else if (record == RunOptions::Record::kNothing) {
        expected.ops.clear();
        expected.transfers.clear();
        expected.memory.clear();
      }
      const std::string difference =
          FirstDifference(expected, simulator.Run(c.placement, {record, cutoff}), c.graph, c.cluster);
      if (!difference.empty()) return "cutoff " + std::to_string(cutoff) + ": " + difference;
    }
  }
  return "";
}

}  // namespace stowplan::sim
