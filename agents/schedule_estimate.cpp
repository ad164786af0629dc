#include "agents/schedule_estimate.h"

#include <algorithm>

#include "agents/timing.h"

namespace berth::agents {
namespace {

constexpr sim::Picos kAbsent = -1;
constexpr sim::Picos kMadeHere = -2;

}  // namespace

ScheduleEstimate::ScheduleEstimate(const Task& task)
    : task_(task),
      devices_(task.problem->cluster().devices.size()),
      peak_scale_(devices_, 1.0),
      issued_(devices_),
      free_(devices_),
      live_(devices_),
      peak_(devices_) {
  const sim::OpGraph& graph = task.problem->graph();
  std::vector<std::int32_t> position(graph.ops.size());
  std::vector<std::int32_t> first_output(graph.ops.size());
  for (const sim::OpIndex index : graph.topological_order()) AddOp(index, position, first_output);
  FindDeaths();
  for (std::size_t from = 0; from < devices_; ++from) {
    for (std::size_t to = 0; to < devices_; ++to)
      routes_.push_back(MakeRoute(static_cast<sim::DeviceIndex>(from), static_cast<sim::DeviceIndex>(to)));
  }
  std::size_t lanes = 0;
  for (const Route& route : routes_) {
    for (const std::size_t lane : route.lanes) lanes = std::max(lanes, lane + 1);
  }
  end_.resize(ops_.size());
  lane_free_.resize(lanes);
  arrival_.resize(outputs_.size() * devices_);
}

void ScheduleEstimate::AddOp(sim::OpIndex index, std::vector<std::int32_t>& position,
                             std::vector<std::int32_t>& first_output) {
  const auto at = static_cast<std::size_t>(index);
  const sim::Op& op = task_.problem->graph().ops[at];
  position[at] = static_cast<std::int32_t>(ops_.size());
  first_output[at] = static_cast<std::int32_t>(outputs_.size());
  Op made{};
  made.unit = task_.units.unit_of_op[at];
  made.persistent = op.persistent_bytes;
  made.workspace = op.workspace_bytes;
  made.first_input = static_cast<std::int32_t>(inputs_.size());
  for (const sim::TensorRef& input : op.inputs) {
    const auto producer = static_cast<std::size_t>(input.op);
    inputs_.push_back({position[producer], first_output[producer] + input.output});
  }
  for (const sim::OpIndex producer : op.control)
    inputs_.push_back({position[static_cast<std::size_t>(producer)], -1});
  made.last_input = static_cast<std::int32_t>(inputs_.size());
  made.first_output = first_output[at];
  for (const sim::Output& output : op.outputs)
    outputs_.push_back({output.bytes, output.storage == sim::Output::Storage::kOwn ? output.bytes : 0});
  made.last_output = static_cast<std::int32_t>(outputs_.size());
  ops_.push_back(made);
  const sim::Cluster& cluster = task_.problem->cluster();
  for (std::size_t d = 0; d < devices_; ++d) {
    const auto device = static_cast<sim::DeviceIndex>(d);
    cost_.push_back(task_.problem->costs().at(index, device));
    dispatch_.push_back(DispatchCost(cluster, op, device));
  }
}

void ScheduleEstimate::FindDeaths() {
  std::vector<std::size_t> last(outputs_.size());
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    for (std::int32_t o = ops_[i].first_output; o < ops_[i].last_output; ++o)
      last[static_cast<std::size_t>(o)] = i;
    for (std::int32_t k = ops_[i].first_input; k < ops_[i].last_input; ++k) {
      const std::int32_t output = inputs_[static_cast<std::size_t>(k)].output;
      if (output >= 0) last[static_cast<std::size_t>(output)] = i;
    }
  }
  std::vector<std::vector<std::int32_t>> dead(ops_.size());
  for (std::size_t o = 0; o < last.size(); ++o) dead[last[o]].push_back(static_cast<std::int32_t>(o));
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    ops_[i].first_dead = static_cast<std::int32_t>(dead_.size());
    dead_.insert(dead_.end(), dead[i].begin(), dead[i].end());
    ops_[i].last_dead = static_cast<std::int32_t>(dead_.size());
  }
}

ScheduleEstimate::Route ScheduleEstimate::MakeRoute(sim::DeviceIndex from, sim::DeviceIndex to) const {
  Route route;
  if (from == to) return route;
  constexpr sim::Bytes kLarge = 1 << 24;
  const sim::Cluster& cluster = task_.problem->cluster();
  route.latency = task_.TransferEstimate(0, from, to);
  route.picos_per_byte =
      static_cast<double>(task_.TransferEstimate(kLarge, from, to) - route.latency) / kLarge;
  if (cluster.rules == sim::Rules::kPublished) {
    route.lanes = {static_cast<std::size_t>(from)};
    return route;
  }
  for (const sim::Cluster::Hop& hop : cluster.route(from, to)) {
    const auto link = static_cast<std::size_t>(hop.link);
    const bool backward = cluster.links[link].duplex == sim::Duplex::kFull && !hop.forward;
    route.lanes.push_back(2 * link + (backward ? 1 : 0));
  }
  return route;
}

// When an input is on device `to`; sends it there if it is not under way yet.
sim::Picos ScheduleEstimate::Arrival(const Input& input, std::size_t from, std::size_t to) {
  const sim::Picos made = end_[static_cast<std::size_t>(input.op)];
  if (from == to) return made;
  const Route& route = routes_[from * devices_ + to];
  if (input.output < 0) return made + route.latency;
  const auto output = static_cast<std::size_t>(input.output);
  sim::Picos& arrival = arrival_[output * devices_ + to];
  if (arrival != kAbsent) return arrival;
  sim::Picos begin = made;
  for (const std::size_t lane : route.lanes) begin = std::max(begin, lane_free_[lane]);
  const sim::Picos through =
      begin + static_cast<sim::Picos>(static_cast<double>(outputs_[output].bytes) * route.picos_per_byte);
  for (const std::size_t lane : route.lanes) lane_free_[lane] = through;
  live_[to] += outputs_[output].bytes;
  arrival = through + route.latency;
  return arrival;
}

void ScheduleEstimate::Release(const Op& op) {
  for (std::int32_t k = op.first_dead; k < op.last_dead; ++k) {
    const auto output = static_cast<std::size_t>(dead_[static_cast<std::size_t>(k)]);
    for (std::size_t d = 0; d < devices_; ++d) {
      const sim::Picos arrival = arrival_[output * devices_ + d];
      if (arrival == kAbsent) continue;
      live_[d] -= arrival == kMadeHere ? outputs_[output].own : outputs_[output].bytes;
    }
  }
}

Objective ScheduleEstimate::Of(const UnitPlacement& placement) {
  std::fill(issued_.begin(), issued_.end(), 0);
  std::fill(free_.begin(), free_.end(), 0);
  std::fill(lane_free_.begin(), lane_free_.end(), 0);
  std::fill(arrival_.begin(), arrival_.end(), kAbsent);
  std::fill(live_.begin(), live_.end(), 0);
  std::fill(peak_.begin(), peak_.end(), 0);
  const auto device_of = [&](const Op& op) {
    return static_cast<std::size_t>(placement[static_cast<std::size_t>(op.unit)]);
  };
  for (const Op& op : ops_) live_[device_of(op)] += op.persistent;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const Op& op = ops_[i];
    const std::size_t device = device_of(op);
    issued_[device] += dispatch_[i * devices_ + device];
    sim::Picos start = std::max(free_[device], issued_[device]);
    for (std::int32_t k = op.first_input; k < op.last_input; ++k) {
      const Input& input = inputs_[static_cast<std::size_t>(k)];
      start = std::max(start, Arrival(input, device_of(ops_[static_cast<std::size_t>(input.op)]), device));
    }
    end_[i] = start + cost_[i * devices_ + device];
    free_[device] = end_[i];
    for (std::int32_t o = op.first_output; o < op.last_output; ++o) {
      arrival_[static_cast<std::size_t>(o) * devices_ + device] = kMadeHere;
      live_[device] += outputs_[static_cast<std::size_t>(o)].own;
    }
    peak_[device] = std::max(peak_[device], live_[device] + op.workspace);
    Release(op);
  }
  Objective objective{0, *std::max_element(free_.begin(), free_.end())};
  for (const sim::Picos lane : lane_free_) objective.runtime = std::max(objective.runtime, lane);
  for (std::size_t d = 0; d < devices_; ++d) {
    const auto peak = static_cast<sim::Bytes>(static_cast<double>(peak_[d]) * peak_scale_[d]);
    const sim::Bytes capacity = task_.device(static_cast<sim::DeviceIndex>(d)).capacity();
    objective.overflow += std::max<sim::Bytes>(0, peak - capacity);
  }
  return objective;
}

void ScheduleEstimate::CorrectPeaks(const UnitPlacement& placement, const std::vector<sim::Bytes>& peak) {
  constexpr double kForget = 0.05;  // of an old excess with every sample
  Of(placement);
  for (std::size_t d = 0; d < devices_; ++d) {
    if (peak_[d] <= 0) continue;
    const double ratio = static_cast<double>(peak[d]) / static_cast<double>(peak_[d]);
    peak_scale_[d] = std::max(ratio, (1 - kForget) * peak_scale_[d] + kForget * ratio);
  }
}

}  // namespace berth::agents
