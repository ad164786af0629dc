#include "scenarios/importers/trace/matching.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "sim/op_graph.h"

namespace stowplan::scenarios::trace {
namespace {

// Newer traces say the record's number, older ones use it as the external id.
std::int64_t RecordOf(const profiler::Marker& marker) {
  const auto record = sim::FindNumber(marker.attributes, "Record function id");
  return record && *record >= 1 && *record < 9e15 ? static_cast<std::int64_t>(*record) : marker.external;
}

Matching Counted(std::vector<std::size_t> node_of, const ExecutionTrace& execution) {
  Matching matching{.node_of = std::move(node_of)};
  for (const Node& node : execution.nodes) matching.ops += node.has_schema ? 1 : 0;
  for (const std::size_t node : matching.node_of)
    matching.matched += node != kNoNode && execution.nodes[node].has_schema ? 1 : 0;
  return matching;
}

// Where `part` stands in `whole`, one item behind the other: the first place, and whether there is another. By Knuth, Morris and
// Pratt, since names of a file may repeat as they like.
struct Place {
  std::size_t first = SIZE_MAX;
  bool is_only = false;
};

Place Find(const std::vector<int>& part, const std::vector<int>& whole) {
  Place place;
  if (part.empty()) return place;
  std::vector<std::size_t> border(part.size(), 0);
  const auto extend = [&](std::size_t length, int item) {
    while (length > 0 && (length == part.size() || part[length] != item)) length = border[length - 1];
    return length + (part[length] == item ? 1 : 0);
  };
  for (std::size_t i = 1; i < part.size(); ++i) border[i] = extend(border[i - 1], part[i]);
  std::size_t length = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    length = extend(length, whole[i]);
    if (length < part.size()) continue;
    place.is_only = place.first == SIZE_MAX;
    if (!place.is_only) return place;
    place.first = i + 1 - part.size();
  }
  return place;
}

// Pairs of places in a and b that stand in both in one order: a longest such list, by Myers' greedy algorithm (Algorithmica 1, 1986,
// 251-266). Nothing where more than kMostDifferences items are in one alone.
using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

std::optional<Pairs> Align(const std::vector<int>& a, const std::vector<int>& b) {
  constexpr std::int64_t kMostDifferences = 2000;
  const auto n = static_cast<std::int64_t>(a.size()), m = static_cast<std::int64_t>(b.size());
  const std::int64_t most = std::min(n + m, kMostDifferences);
  std::vector<std::int64_t> reach(static_cast<std::size_t>(2 * most + 3), 0);  // in a, by diagonal
  const auto at = [&](std::int64_t k) -> std::int64_t& {
    return reach[static_cast<std::size_t>(most + 1 + k)];
  };
  std::vector<std::vector<std::int64_t>> rounds;  // of diagonals -d to d
  const auto from = [](const auto& value, std::int64_t d, std::int64_t k) {
    const bool down = k == -d || (k != d && value(k - 1) < value(k + 1));
    return down ? std::pair(k + 1, value(k + 1)) : std::pair(k - 1, value(k - 1) + 1);
  };
  for (std::int64_t d = 0; d <= most; ++d) {
    for (std::int64_t k = -d; k <= d; k += 2) {
      std::int64_t x = d == 0 ? 0 : from(at, d, k).second, y = x - k;
      while (x < n && y < m && a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(y)]) ++x, ++y;
      at(k) = x;
      if (x < n || y < m) continue;
      Pairs pairs;  // from the end back
      for (std::int64_t round = d;; --round) {
        const auto value = [&](std::int64_t diagonal) {
          const auto& row = rounds[static_cast<std::size_t>(round - 1)];
          return row[static_cast<std::size_t>(diagonal + round - 1)];
        };
        const auto [diagonal, begin] = round == 0 ? std::pair(k, std::int64_t{0}) : from(value, round, k);
        for (; x > begin; --x)
          pairs.emplace_back(static_cast<std::size_t>(x - 1), static_cast<std::size_t>(x - k - 1));
        if (round == 0) break;
        k = diagonal;
        x = value(diagonal);
      }
      std::ranges::reverse(pairs);
      return pairs;
    }
    rounds.emplace_back(reach.begin() + (most + 1 - d), reach.begin() + (most + 2 + d));
  }
  return std::nullopt;
}

struct NamedThread {
  std::vector<std::size_t> members;  // nodes, or markers by their start
  std::vector<int> names;
};

class Matcher {
 public:
  Matcher(const std::vector<profiler::Marker>& markers, const ExecutionTrace& execution)
      : markers_(markers), execution_(execution), node_of_(markers.size(), kNoNode) {
    std::unordered_map<std::string_view, int> names;
    for (std::size_t i = 0; i < execution.nodes.size(); ++i) {
      const Node& node = execution.nodes[i];
      if (node.record <= 0) continue;
      NamedThread& thread = node_threads_[node.thread];
      thread.members.push_back(i);
      thread.names.push_back(names.emplace(node.name, static_cast<int>(names.size())).first->second);
    }
    for (std::size_t i = 0; i < markers.size(); ++i) {
      if (names.contains(markers[i].name))
        marker_threads_[{markers[i].process, markers[i].thread}].members.push_back(i);
    }
    for (auto& [_, thread] : marker_threads_) {
      std::ranges::stable_sort(thread.members, {}, [&](std::size_t marker) {
        return std::pair(markers[marker].start, -markers[marker].end);
      });
      for (const std::size_t marker : thread.members) thread.names.push_back(names.at(markers[marker].name));
    }
  }

  std::vector<std::size_t> Match() {
    constexpr std::size_t kMostThreads = 16;  // each is looked for in all of the other trace
    constexpr std::size_t kLeast = 8;         // fewer stand anywhere by chance
    if (node_threads_.size() > kMostThreads) return node_of_;
    for (const auto& [_, nodes] : node_threads_) {
      const bool is_known = nodes.members.size() < kLeast || MatchWhole(nodes);
      if (!is_known && marker_threads_.size() <= kMostThreads) MatchMost(nodes);
    }
    return node_of_;
  }

 private:
  // False where they stand nowhere.
  bool MatchWhole(const NamedThread& nodes) {
    const NamedThread* in = nullptr;
    Place at;
    bool is_only = true;
    for (const auto& [key, thread] : marker_threads_) {
      const Place place = Find(nodes.names, thread.names);
      if (place.first == SIZE_MAX) continue;
      is_only = is_only && in == nullptr && place.is_only;
      in = &thread;
      at = place;
    }
    if (in == nullptr) return false;
    for (std::size_t i = 0; is_only && i < nodes.members.size(); ++i)
      node_of_[in->members[at.first + i]] = nodes.members[i];
    return true;
  }

  void MatchMost(const NamedThread& nodes) {
    const NamedThread* in = nullptr;
    Pairs best;
    for (const auto& [key, thread] : marker_threads_) {
      auto pairs = Align(nodes.names, thread.names);
      if (!pairs || pairs->size() <= best.size()) continue;
      in = &thread;
      best = std::move(*pairs);
    }
    if (2 * best.size() < nodes.members.size()) return;
    for (const auto& [node, marker] : best) node_of_[in->members[marker]] = nodes.members[node];
  }

  const std::vector<profiler::Marker>& markers_;
  const ExecutionTrace& execution_;
  std::map<std::int64_t, NamedThread> node_threads_;
  std::map<std::pair<profiler::Id, profiler::Id>, NamedThread> marker_threads_;
  std::vector<std::size_t> node_of_;
};

}  // namespace

Matching MatchByNumber(const std::vector<profiler::Marker>& markers, const ExecutionTrace& execution) {
  std::unordered_map<std::int64_t, std::size_t> by_record;
  for (std::size_t i = 0; i < execution.nodes.size(); ++i) {
    if (execution.nodes[i].record > 0) by_record.emplace(execution.nodes[i].record, i);
  }
  std::vector<std::size_t> nodes;
  for (const profiler::Marker& marker : markers) {
    const auto found = by_record.find(RecordOf(marker));
    const bool is_same = found != by_record.end() && execution.nodes[found->second].name == marker.name;
    nodes.push_back(is_same ? found->second : kNoNode);
  }
  return Counted(std::move(nodes), execution);
}

Matching MatchByOrder(const std::vector<profiler::Marker>& markers, const ExecutionTrace& execution) {
  return Counted(Matcher(markers, execution).Match(), execution);
}

}  // namespace stowplan::scenarios::trace
