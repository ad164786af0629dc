#include "problem/explain/page_data.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "output/html.h"
#include "problem/explain/scope_tree.h"
#include "problem/explain/timeline_data.h"
#include "sim/analysis/lanes.h"
#include "sim/formats/document/json_text.h"

namespace stowplan::problem {
namespace {

constexpr double kTicks = 4e6;
constexpr std::size_t kMemorySamples = 800;
constexpr std::size_t kMostLinkLanes = 24;
constexpr std::size_t kAllNodes = 60'000;  // no fewer than the scopes of kMostDrawnOps ops
constexpr std::size_t kBinnedNodes = 6'000;

using Column = std::vector<std::int64_t>;

// Texts that stand in the page once each.
class Texts {
 public:
  std::int64_t operator()(const std::string& text) {
    const auto [at, is_new] = index_.try_emplace(text, static_cast<std::int64_t>(index_.size()));
    if (is_new) json_ += (json_.empty() ? "" : ",") + formats::JsonString(text);
    return at->second;
  }
  std::string Json() const { return "[" + json_ + "]"; }

 private:
  std::unordered_map<std::string, std::int64_t> index_;
  std::string json_;
};

std::string Numbers(const Column& column) {
  return fmt::format("[{}]", fmt::join(column, ","));
}

class DataPrinter {
 public:
  explicit DataPrinter(const Study& study)
      : study_(study),
        graph_(study.problem.graph()),
        cluster_(study.problem.cluster()),
        outcome_(study.outcome),
        binned_(IsBinned(study)),
        tree_(MakeScopeTree(graph_, binned_ ? kBinnedNodes : kAllNodes)) {}

  std::string Print() {
    // The parts first: they collect labels and types.
    const std::string nodes = Nodes(), merged = Merged(), edges = Edges(), lanes = Lanes(), path = Path(),
                      transfers = Transfers(), memory = Memory();
    Texts devices;
    for (const sim::Device& device : cluster_.devices) devices(device.name);
    return fmt::format(
        "{{\"us\":{},\"ticks\":{},\"graph\":{},\"separator\":\"{}\",\"devices\":{},\"types\":{},\"labels\":{}"
        ",\n"
        "\"nodes\":{},\n\"merged\":{},\n\"edges\":{},\n\"lanes\":{},\n\"path\":{},\n\"transfers\":{},"
        "\n\"memory\":{}}}",
        sim::ToMicros(outcome_.runtime), Ticks(outcome_.runtime), formats::JsonString(graph_.name),
        tree_.separator, devices.Json(), types_.Json(), labels_.Json(), nodes, merged, edges, lanes, path,
        transfers, memory);
  }

 private:
  std::int64_t Ticks(sim::Picos time) const {
    if (outcome_.runtime == 0) return 0;
    const double most = std::min(kTicks, static_cast<double>(outcome_.runtime));
    return std::llround(static_cast<double>(time) / static_cast<double>(outcome_.runtime) * most);
  }
  std::int64_t NodeOf(sim::OpIndex op) const { return tree_.node_of_op[static_cast<std::size_t>(op)]; }
  sim::Picos TimeOf(sim::OpIndex op) const {
    const sim::OpTimes& times = outcome_.ops[static_cast<std::size_t>(op)];
    return times.end - times.start;
  }
  std::int64_t DeviceOf(sim::OpIndex op) const {
    return study_.placement.device[static_cast<std::size_t>(op)];
  }

  std::string Nodes() {
    const std::vector<std::int32_t> depth = DepthOfOps(graph_);
    std::vector<std::int64_t> deepest(tree_.nodes.size(), 0), ops(tree_.nodes.size(), 0);
    for (sim::OpIndex op = 0; op < graph_.size(); ++op) {
      deepest[static_cast<std::size_t>(NodeOf(op))] += depth[static_cast<std::size_t>(op)];
      ++ops[static_cast<std::size_t>(NodeOf(op))];
    }
    Column parent, label, made_up, type, device, time, depths;
    for (std::size_t n = 0; n < tree_.nodes.size(); ++n) {
      const ScopeNode& node = tree_.nodes[n];
      parent.push_back(node.parent);
      label.push_back(labels_(node.label));
      made_up.push_back(node.made_up ? 1 : 0);
      depths.push_back(ops[n] > 0 ? deepest[n] / ops[n] : 0);
      if (node.op < 0) {
        type.push_back(-1);
        device.push_back(-1);
        time.push_back(0);
        continue;
      }
      type.push_back(types_(graph_.ops[static_cast<std::size_t>(node.op)].type));
      device.push_back(DeviceOf(node.op));
      time.push_back(Ticks(TimeOf(node.op)));
    }
    return fmt::format(
        "{{\"parent\":{},\"label\":{},\"made_up\":{},\"type\":{},\"device\":{},\"time\":{},\"depth\":{}}}",
        Numbers(parent), Numbers(label), Numbers(made_up), Numbers(type), Numbers(device), Numbers(time),
        Numbers(depths));
  }

  std::string Merged() const {
    struct Part {
      std::int64_t ops = 0;
      sim::Picos time = 0;
    };
    std::map<std::int64_t, std::map<std::int64_t, Part>> merged;
    for (sim::OpIndex op = 0; op < graph_.size(); ++op) {
      if (tree_.nodes[static_cast<std::size_t>(NodeOf(op))].op >= 0) continue;
      Part& part = merged[NodeOf(op)][DeviceOf(op)];
      ++part.ops;
      part.time += TimeOf(op);
    }
    std::string json;
    for (const auto& [node, parts] : merged) {
      json += fmt::format("{}\"{}\":[", json.empty() ? "" : ",", node);
      const char* separator = "";
      for (const auto& [device, part] : parts) {
        json += fmt::format("{}[{},{},{}]", separator, device, part.ops, Ticks(part.time));
        separator = ",";
      }
      json += "]";
    }
    return "{" + json + "}";
  }

  std::string Edges() const {
    std::map<std::pair<std::int64_t, std::int64_t>, sim::Bytes> edges;
    for (sim::OpIndex op = 0; op < graph_.size(); ++op) {
      const sim::Op& consumer = graph_.ops[static_cast<std::size_t>(op)];
      const auto add = [&](sim::OpIndex producer, sim::Bytes bytes) {
        if (NodeOf(producer) != NodeOf(op)) edges[{NodeOf(producer), NodeOf(op)}] += bytes;
      };
      for (const sim::TensorRef& input : consumer.inputs) {
        const sim::Op& producer = graph_.ops[static_cast<std::size_t>(input.op)];
        add(input.op, producer.outputs[static_cast<std::size_t>(input.output)].bytes);
      }
      for (const sim::OpIndex control : consumer.control) add(control, 0);
    }
    Column from, to, bytes;
    for (const auto& [ends, sum] : edges) {
      from.push_back(ends.first);
      to.push_back(ends.second);
      bytes.push_back(sum);
    }
    return fmt::format("{{\"from\":{},\"to\":{},\"bytes\":{}}}", Numbers(from), Numbers(to), Numbers(bytes));
  }

  // ---- lanes --------------------------------------------------------------------------------------

  std::vector<sim::Lane> DrawnLanes() const {
    std::vector<sim::Lane> lanes = sim::MakeLanes(study_.problem, study_.placement, outcome_);
    std::erase_if(lanes, [](const sim::Lane& lane) {
      return std::none_of(lane.slices.begin(), lane.slices.end(),
                          [](const sim::LaneSlice& slice) { return slice.end > slice.start; });
    });
    // Of very many links the busiest, in their order.
    std::vector<sim::Picos> busy;
    for (const sim::Lane& lane : lanes)
      busy.push_back(lane.kind == sim::Lane::Kind::kLink ? BusyOf(lane) : -1);
    std::vector<sim::Picos> ranked = busy;
    std::sort(ranked.rbegin(), ranked.rend());
    const sim::Picos least = ranked.size() > kMostLinkLanes ? ranked[kMostLinkLanes] : -1;
    std::vector<sim::Lane> drawn;
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      if (busy[l] < 0 || busy[l] > least) drawn.push_back(std::move(lanes[l]));
    }
    return drawn;
  }
  static sim::Picos BusyOf(const sim::Lane& lane) {
    sim::Picos busy = 0;
    for (const sim::LaneSlice& slice : lane.slices) busy += slice.end - slice.start;
    return busy;
  }

  std::string NodeName(std::int32_t node) const {
    return node < cluster_.size() ? cluster_.devices[static_cast<std::size_t>(node)].name
                                  : cluster_.switches[static_cast<std::size_t>(node - cluster_.size())];
  }

  std::string LaneHead(const sim::Lane& lane) const {
    std::string name;
    const char* kind = "";
    std::int32_t device = lane.index;
    switch (lane.kind) {
      case sim::Lane::Kind::kHost:
        kind = "host";
        break;
      case sim::Lane::Kind::kDevice:
        kind = "device";
        break;
      case sim::Lane::Kind::kChannel:
        kind = "channel";
        name = "to " + NodeName(lane.to);
        break;
      case sim::Lane::Kind::kLink: {
        kind = "link";
        const sim::Link& link = cluster_.links[static_cast<std::size_t>(lane.index)];
        name = link.name;
        if (link.duplex == sim::Duplex::kFull) name += " to " + NodeName(link.ends[lane.backward ? 0 : 1]);
        const std::int32_t sender = link.ends[lane.backward ? 1 : 0];
        device = sender < cluster_.size() ? sender : -1;
        break;
      }
    }
    return fmt::format("{{\"kind\":\"{}\",\"name\":{},\"device\":{},\"tracks\":{},", kind,
                       formats::JsonString(name), device, lane.tracks);
  }

  static bool ShowsOps(const sim::Lane& lane) {
    return lane.kind == sim::Lane::Kind::kHost || lane.kind == sim::Lane::Kind::kDevice;
  }

  std::string Lanes() const {
    std::vector<bool> critical(outcome_.ops.size(), false);
    for (const sim::CriticalStep& step : study_.why.critical_path) {
      using enum sim::CriticalStep::Kind;
      if (step.kind == kOp || step.kind == kCollective) critical[static_cast<std::size_t>(step.index)] = true;
    }
    std::string json;
    for (const sim::Lane& lane : DrawnLanes()) {
      json += (json.empty() ? "" : ",\n") + LaneHead(lane);
      json += binned_ ? Bins(lane) : Slices(lane, critical);
      json += "}";
    }
    return "[" + json + "]";
  }

  std::string Bins(const sim::Lane& lane) const {
    const BinnedLane binned = BinLane(lane, outcome_.runtime, kTimeBins);
    Column busy, longest;
    for (std::size_t b = 0; b < kTimeBins; ++b) {
      busy.push_back(std::min(100L, std::lround(std::ceil(100 * binned.busy[b] - 1e-9))));
      const std::int32_t index = binned.longest[b];
      longest.push_back(
          index < 0 ? -1
                    : NodeOf(ShowsOps(lane) ? index
                                            : outcome_.transfers[static_cast<std::size_t>(index)].tensor.op));
    }
    return fmt::format("\"busy\":{},\"i\":{}", Numbers(busy), Numbers(longest));
  }

  std::string Slices(const sim::Lane& lane, const std::vector<bool>& critical) const {
    Column start, length, item, track, on_path;
    std::int64_t before = 0;
    for (const sim::LaneSlice& slice : lane.slices) {
      if (slice.end == slice.start) continue;
      const std::int64_t from = Ticks(slice.start);
      start.push_back(from - before);
      before = from;
      length.push_back(Ticks(slice.end) - from);
      item.push_back(ShowsOps(lane) ? NodeOf(slice.index) : slice.index);
      track.push_back(slice.track);
      on_path.push_back(critical[static_cast<std::size_t>(ShowsOps(lane) ? slice.index : 0)] ? 1 : 0);
    }
    std::string json =
        fmt::format("\"s\":{},\"d\":{},\"i\":{}", Numbers(start), Numbers(length), Numbers(item));
    if (lane.tracks > 1) json += ",\"t\":" + Numbers(track);
    if (lane.kind == sim::Lane::Kind::kDevice) json += ",\"c\":" + Numbers(on_path);
    return json;
  }

  struct PathColumns {
    Column start, length, kind, device, item;
    std::int64_t before = 0;
  };
  // A step, or in slices of time what most of one is.
  struct PathPart {
    std::int64_t kind = 0, device = -1, item = -1;
    friend auto operator<=>(const PathPart&, const PathPart&) = default;
  };

  PathPart PartOf(const sim::CriticalStep& step) const {
    using enum sim::CriticalStep::Kind;
    PathPart part{.kind = static_cast<std::int64_t>(step.kind)};
    const auto index = static_cast<std::size_t>(step.index);
    if (step.kind == kOp) part.device = study_.placement.device[index];
    // A wait is of an op or a transfer: which, nothing says.
    if (binned_ || step.kind == kWait) return part;
    part.item = step.kind == kTransfer ? step.index : NodeOf(step.index);
    return part;
  }

  void AddPart(const PathPart& part, sim::Picos from, sim::Picos to, PathColumns& columns) const {
    const std::int64_t at = Ticks(from);
    columns.start.push_back(at - columns.before);
    columns.before = at;
    columns.length.push_back(Ticks(to) - at);
    columns.kind.push_back(part.kind);
    columns.device.push_back(part.device);
    columns.item.push_back(part.item);
  }

  void AddBinnedPath(PathColumns& columns) const {
    std::vector<std::map<PathPart, double>> bins(kTimeBins);
    const double bin = static_cast<double>(outcome_.runtime) / static_cast<double>(kTimeBins);
    for (const sim::CriticalStep& step : study_.why.critical_path) {
      const double from = static_cast<double>(step.start) / bin, to = static_cast<double>(step.end) / bin;
      for (auto b = static_cast<std::size_t>(from); b < kTimeBins && static_cast<double>(b) < to; ++b) {
        const auto low = static_cast<double>(b);
        bins[b][PartOf(step)] += std::min(to, low + 1) - std::max(from, low);
      }
    }
    const auto most = [&](std::size_t b) {
      return std::max_element(bins[b].begin(), bins[b].end(),
                              [](const auto& x, const auto& y) { return x.second < y.second; })
          ->first;
    };
    for (std::size_t first = 0, end = 0; first < kTimeBins; first = end) {
      while (end < kTimeBins && most(end) == most(first)) ++end;
      AddPart(most(first), std::llround(bin * static_cast<double>(first)),
              std::llround(bin * static_cast<double>(end)), columns);
    }
  }

  std::string Path() const {
    PathColumns columns;
    if (binned_) {
      AddBinnedPath(columns);
    } else {
      for (const sim::CriticalStep& step : study_.why.critical_path) {
        if (step.end > step.start) AddPart(PartOf(step), step.start, step.end, columns);
      }
    }
    return fmt::format("{{\"s\":{},\"d\":{},\"k\":{},\"v\":{},\"i\":{}}}", Numbers(columns.start),
                       Numbers(columns.length), Numbers(columns.kind), Numbers(columns.device),
                       Numbers(columns.item));
  }

  std::string Transfers() const {
    Column node, from, to, bytes, wait;
    for (const sim::TransferTimes& transfer : outcome_.transfers) {
      if (binned_) break;
      node.push_back(NodeOf(transfer.tensor.op));
      from.push_back(transfer.from);
      to.push_back(transfer.to);
      bytes.push_back(transfer.bytes);
      wait.push_back(Ticks(transfer.start - transfer.queued));
    }
    return fmt::format("{{\"node\":{},\"from\":{},\"to\":{},\"bytes\":{},\"wait\":{}}}", Numbers(node),
                       Numbers(from), Numbers(to), Numbers(bytes), Numbers(wait));
  }

  std::string Memory() const {
    std::string json;
    const auto curves = MemoryCurves(outcome_, kMemorySamples);
    for (std::size_t d = 0; d < curves.size(); ++d) {
      Column time, bytes;
      for (const MemorySample& sample : curves[d]) {
        time.push_back(Ticks(sample.time));
        bytes.push_back(sample.live);
      }
      json += fmt::format("{}{{\"capacity\":{},\"peak\":{},\"t\":{},\"b\":{}}}", d == 0 ? "" : ",\n",
                          cluster_.devices[d].capacity(), outcome_.devices[d].peak, Numbers(time),
                          Numbers(bytes));
    }
    return "[" + json + "]";
  }

  const Study& study_;
  const sim::OpGraph& graph_;
  const sim::Cluster& cluster_;
  const sim::Outcome& outcome_;
  const bool binned_;
  const ScopeTree tree_;
  Texts labels_, types_;
};

}  // namespace

bool IsBinned(const Study& study) {
  return study.outcome.ops.size() > kMostDrawnOps || study.outcome.transfers.size() > 2 * kMostDrawnOps;
}

std::string PageData(const Study& study) {
  return DataPrinter(study).Print();
}

}  // namespace stowplan::problem
