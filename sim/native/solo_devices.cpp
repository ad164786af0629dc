#include "sim/native/solo_devices.h"

#include <limits>

#include "sim/error.h"
#include "sim/native/shared_device.h"

namespace berth::sim {
namespace {

using Compiled = Problem::Compiled;

// How many ops and transfers may take no time.
std::int64_t WithoutDuration(const Compiled& c) {
  std::int64_t number = 0;
  for (OpIndex op = 0; op < c.ops; ++op) {
    bool some = false;
    for (DeviceIndex d = 0; d < c.devices; ++d) some = some || c.CostOf(op, d) == 0;
    number += some;
  }
  const bool at_once = std::any_of(c.routes.begin(), c.routes.end(), [](const Compiled::Route& route) {
    return route.from != route.to && route.latency == 0;
  });
  return number + (at_once ? static_cast<std::int64_t>(c.edge_consumer.size()) : 0);
}

// Of ops and issues, and of transfers that have their links to themselves.
Picos LongestDuration(const Compiled& c) {
  Picos longest = 0;
  for (OpIndex op = 0; op < c.ops; ++op) {
    for (DeviceIndex d = 0; d < c.devices; ++d)
      longest = std::max({longest, c.CostOf(op, d), c.dispatch_cost[d] * c.rows[op].dispatch_ops});
  }
  Bytes most = 0;
  for (const Bytes bytes : c.output_bytes) most = std::max(most, bytes);
  for (const Compiled::Route& route : c.routes)
    longest = std::max(longest, route.latency + c.TransferTime(route, most));
  return longest;
}

// Outputs and workspaces. On one device there are no more blocks, since copies are of outputs on others.
std::size_t MostOwn(const Compiled& c) {
  const auto workspaces = std::count_if(c.rows.begin(), c.rows.end(),
                                        [](const Compiled::OpRow& row) { return row.workspace != 0; });
  return c.output_bytes.size() + static_cast<std::size_t>(workspaces);
}

// All of them, copies, and nothing.
std::size_t MostBlocks(const Compiled& c) {
  return MostOwn(c) + c.most_transfers - c.most_light + 1;
}

}  // namespace

bool SoloDevices::Are(const Problem& problem) {
  const Cluster& cluster = problem.cluster();
  const Compiled& c = problem.compiled();
  return cluster.dispatch.per == Dispatch::Per::kDevice &&
         std::all_of(cluster.devices.begin(), cluster.devices.end(), HasFixedRate) &&
         LongestDuration(c) <= Moments(WithoutDuration(c)).longest();
}

SoloDevices::SoloDevices(const Problem& problem_in)
    : problem(problem_in),
      c(problem.compiled()),
      moments(WithoutDuration(c)),
      rows(static_cast<std::size_t>(c.ops) + 1),
      waiting(static_cast<std::size_t>(c.ops) + 1),
      servers(static_cast<std::size_t>(c.devices)),
      order(static_cast<std::size_t>(c.ops)),
      ends(c.devices),
      input_block(static_cast<std::size_t>(c.inputs) + 1),
      dependencies_(static_cast<std::size_t>(c.ops)),
      end_(static_cast<std::size_t>(c.ops)),
      blocks_(MostBlocks(c)),
      output_block_(c.output_bytes.size()),
      persistent_(static_cast<std::size_t>(c.devices)),
      peaks_(problem.cluster(), c.ops, MostOwn(c)) {
  for (const Device& device : problem.cluster().devices) granularity_.push_back(device.granularity);
  CompileGraph();
}

void SoloDevices::CompileGraph() {
  std::size_t most_senders = 1;
  for (Id e = 0; e < static_cast<Id>(c.edge_output.size()); ++e)
    most_senders += e == 0 || c.edge_output[e] == Compiled::kNone || c.edge_output[e] != c.edge_output[e - 1];
  senders.reserve(most_senders);
  edges.reserve(c.edge_consumer.size());
  for (OpIndex op = 0; op <= c.ops; ++op) {
    const Compiled::OpRow& row = c.rows[op];
    rows[op] = {static_cast<Id>(senders.size()), row.output, row.input, row.dispatch_ops, row.workspace};
    if (op == c.ops) break;
    for (Id e = row.edge; e < c.rows[op + 1].edge; ++e) {
      const Id output = c.edge_output[e];
      const bool data = output != Compiled::kNone;
      if (e == row.edge || output != c.edge_output[e - 1])
        senders.push_back({e, output, data ? c.output_bytes[output] : 0});
      edges.push_back({c.edge_consumer[e], data ? c.edge_input[e] : c.inputs});
      ++dependencies_[c.edge_consumer[e]];
    }
  }
  senders.push_back({static_cast<Id>(edges.size()), Compiled::kNone, 0});
}

void SoloDevices::Reset(const Placement& placement) {
  BERTH_CHECK_EQ(placement.device.size(), static_cast<std::size_t>(c.ops));
  for (Server& server : servers) server = {};
  std::fill(persistent_.begin(), persistent_.end(), 0);
  for (OpIndex op = 0; op < c.ops; ++op) {
    const DeviceIndex device = placement.device[static_cast<std::size_t>(op)];
    waiting[op] = {0, dependencies_[op], device};
    ++servers[device].last;
    if (c.persistent[op] != 0) persistent_[device] += Rounded(device, c.persistent[op]);
  }
  waiting[Nobody()] = {0, std::numeric_limits<std::int32_t>::max(), 0};
  std::int32_t begin = 0;
  for (Server& server : servers) {
    server.next = Nobody();
    server.ended = server.scheduled = begin;
    begin += server.last;
    server.last = server.scheduled;
  }
  ends.Clear();
  blocks_end_ = kNothing + 1;
}

void SoloDevices::SetLists(std::span<const OpIndex> list) {
  for (const OpIndex op : list) order[servers[waiting[op].device].last++] = op;
  for (DeviceIndex d = 0; d < c.devices; ++d) {
    Server& server = servers[d];
    if (server.scheduled < server.last) server.next = order[server.scheduled];
    if (waiting[server.next].missing == 0) ScheduleReady(d);
  }
}

void SoloDevices::Finish(Moment last, Outcome& outcome) {
  outcome.runtime = moments.TimeOf(last);
  FinishMemory(last, outcome);
  outcome.devices.clear();
  for (DeviceIndex d = 0; d < c.devices; ++d) outcome.devices.push_back({servers[d].busy, peaks_.peak(d)});
}

void SoloDevices::FinishMemory(Moment last, Outcome& outcome) {
  peaks_.Find(persistent_, {blocks_.data() + 1, blocks_.data() + blocks_end_}, last);
  outcome.oom.reset();
  const auto capacity = [this](DeviceIndex d) {
    return problem.cluster().devices[static_cast<std::size_t>(d)].capacity();
  };
  if (const auto& refused = peaks_.refused()) {
    const Block& block = *refused->block;
    const bool copy = block.owner < 0;
    outcome.oom = {block.device,
                   copy ? ~block.owner : block.owner,
                   copy ? OutOfMemory::What::kCopy : OutOfMemory::What::kOutput,
                   moments.TimeOf(block.allocated),
                   refused->live,
                   capacity(block.device)};
  }
  // Persistent bytes come before everything else.
  bool fit = true;
  for (DeviceIndex d = 0; d < c.devices; ++d) fit = fit && persistent_[d] <= capacity(d);
  if (fit) return;
  std::fill(persistent_.begin(), persistent_.end(), 0);
  for (OpIndex op = 0; op < c.ops; ++op) {
    const DeviceIndex d = waiting[op].device;
    persistent_[d] += Rounded(d, c.persistent[op]);
    if (persistent_[d] <= capacity(d)) continue;
    outcome.oom = {d, op, OutOfMemory::What::kPersistent, 0, persistent_[d], capacity(d)};
    return;
  }
}

}  // namespace berth::sim
