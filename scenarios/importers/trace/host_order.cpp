#include "scenarios/importers/trace/host_order.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace stowplan::scenarios::trace {
namespace {

using profiler::kNobody;

constexpr std::size_t kNoIssue = SIZE_MAX;

// Moves op from[i] to place i; references follow.
void Permute(const std::vector<sim::OpIndex>& from, sim::OpGraph& graph) {
  std::vector<sim::OpIndex> to(from.size());
  std::vector<sim::Op> ops;
  for (std::size_t i = 0; i < from.size(); ++i) {
    to[static_cast<std::size_t>(from[i])] = static_cast<sim::OpIndex>(i);
    ops.push_back(std::move(graph.ops[static_cast<std::size_t>(from[i])]));
  }
  const auto move = [&](sim::OpIndex& op) { op = to[static_cast<std::size_t>(op)]; };
  for (sim::Op& op : ops) {
    for (sim::TensorRef& input : op.inputs) move(input.op);
    for (sim::OpIndex& control : op.control) move(control);
    for (sim::Output& output : op.outputs)
      if (output.storage == sim::Output::Storage::kInput) move(output.alias.op);
  }
  graph.ops = std::move(ops);
}

// A CPU's op, whose time the host spends on it.
double HostCost(const sim::Op& op) {
  return !op.cost_us_by_kind.empty() && op.cost_us_by_kind.front().first == "cpu"
             ? op.cost_us_by_kind.front().second
             : 0;
}

class Follower {
 public:
  Follower(const Timeline& timeline, std::span<const std::ptrdiff_t> owner,
           std::vector<std::ptrdiff_t> node_of, sim::OpGraph& graph)
      : timeline_(timeline), owner_(owner), node_of_(std::move(node_of)), graph_(graph) {
    for (std::size_t op = 0; op < node_of_.size(); ++op)
      if (node_of_[op] != kNobody) ops_of_[node_of_[op]].push_back(static_cast<sim::OpIndex>(op));
    issue_of_.assign(graph.ops.size(), kNoIssue);
  }

  void Follow() {
    double host_us = 0;  // of what no op is issued for
    for (std::size_t i = 0; i < timeline_.issues.size(); ++i) {
      const Issue& issue = timeline_.issues[i];
      host_us += issue.host_us;
      const std::vector<sim::OpIndex>* const ops = issue.work.empty() ? AddWait(i) : OpsOf(issue);
      if (ops == nullptr) continue;
      for (const sim::OpIndex op : *ops)
        issue_of_[static_cast<std::size_t>(op)] = std::min(issue_of_[static_cast<std::size_t>(op)], i);
      sim::Op& first = OpAt(ops->front());
      if (issue_of_[static_cast<std::size_t>(ops->front())] == i) {
        first.attributes.emplace_back("host_us", sim::Attribute{host_us});
        host_us = 0;
        if (!issue.work.empty()) KeepStream(issue, *ops);
      }
      if (issue.host_waits && sim::FindAttribute(OpAt(ops->back()).attributes, "host_waits") == nullptr)
        OpAt(ops->back()).attributes.emplace_back("host_waits", sim::Attribute{true});
    }
    Permute(Order(), graph_);
    LeaveOutCpus();
  }

 private:
  sim::Op& OpAt(sim::OpIndex op) { return graph_.ops[static_cast<std::size_t>(op)]; }

  const std::vector<sim::OpIndex>* OpsOf(const Issue& issue) const {
    const auto found = ops_of_.find(owner_[issue.work.front()]);
    return found == ops_of_.end() ? nullptr : &found->second;
  }

  // Null where what it waits for is of no op.
  const std::vector<sim::OpIndex>* AddWait(std::size_t index) {
    sim::Op op;
    for (const std::size_t before : timeline_.issues[index].after) {
      const auto* ops = timeline_.issues[before].work.empty() ? nullptr : OpsOf(timeline_.issues[before]);
      if (ops != nullptr) op.control.push_back(ops->back());
    }
    if (op.control.empty()) return nullptr;
    std::ranges::sort(op.control);
    op.control.erase(std::unique(op.control.begin(), op.control.end()), op.control.end());
    op.name = fmt::format("synchronize#wait{}", index);
    op.type = "Synchronize";
    op.phase = OpAt(op.control.back()).phase;
    op.cost_us = 0;
    wait_ = {graph_.size()};
    graph_.ops.push_back(std::move(op));
    issue_of_.push_back(index);
    return &wait_;
  }

  // Where there are several streams, those before it on its own and what it waits for on others.
  void KeepStream(const Issue& issue, const std::vector<sim::OpIndex>& ops) {
    if (timeline_.streams == 1) return;
    sim::Op& op = OpAt(ops.front());
    for (const std::size_t before : issue.after) {
      const auto* earlier = OpsOf(timeline_.issues[before]);
      if (earlier == nullptr || earlier == &ops) continue;
      const sim::OpIndex last = earlier->back();
      const bool is_known =
          std::ranges::find(op.control, last) != op.control.end() ||
          std::ranges::any_of(op.inputs, [&](const auto& input) { return input.op == last; });
      if (!is_known) op.control.push_back(last);
    }
  }

  // What takes no time stands before what first reads it: a view of what still runs would hold up its device's queue.
  std::vector<sim::OpIndex> Order() {
    std::vector<std::size_t> read(graph_.ops.size(), kNoIssue);
    std::size_t next = kNoIssue;
    for (std::size_t i = node_of_.size(); i-- > 0;) {  // waits have their place
      const sim::Op& op = graph_.ops[i];
      const bool takes_none = op.cost_us_by_kind.empty();
      if (issue_of_[i] == kNoIssue) issue_of_[i] = takes_none ? read[i] : next;
      if (!takes_none) next = issue_of_[i];
      const auto lower = [&](sim::OpIndex before) {
        std::size_t& first = read[static_cast<std::size_t>(before)];
        first = std::min(first, issue_of_[i]);
      };
      for (const sim::TensorRef& input : op.inputs) lower(input.op);
      for (const sim::OpIndex before : op.control) lower(before);
    }
    std::vector<sim::OpIndex> order(graph_.ops.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {},
                             [&](sim::OpIndex op) { return issue_of_[static_cast<std::size_t>(op)]; });
    return order;
  }

  // The host's time for an op of the GPU has in it what ops of the CPU took since the one before: it is theirs, wherever they are.
  void LeaveOutCpus() {
    double on_cpu = 0;
    for (sim::Op& op : graph_.ops) {
      if (const double own = HostCost(op); own > 0) {
        on_cpu += own;
        op.attributes.emplace_back("host_us", sim::Attribute{own});
        op.cost_us_by_kind.front().second = 0;
        continue;
      }
      const auto told =
          std::ranges::find(op.attributes, "host_us", [](const auto& entry) { return entry.first; });
      if (told == op.attributes.end()) continue;
      double& host_us = std::get<double>(told->second.value);
      const double less = std::min(host_us, on_cpu);
      host_us -= less;
      on_cpu -= less;
    }
  }

  const Timeline& timeline_;
  const std::span<const std::ptrdiff_t> owner_;
  const std::vector<std::ptrdiff_t> node_of_;
  sim::OpGraph& graph_;
  std::unordered_map<std::ptrdiff_t, std::vector<sim::OpIndex>> ops_of_;  // by node
  std::vector<std::size_t> issue_of_;                                     // by op, the first
  std::vector<sim::OpIndex> wait_;
};

}  // namespace

void FollowTimeline(const Timeline& timeline, std::span<const std::ptrdiff_t> owner,
                    std::vector<std::ptrdiff_t> node_of, sim::OpGraph& graph) {
  Follower(timeline, owner, std::move(node_of), graph).Follow();
  graph.attributes.emplace_back("streams", sim::Attribute{StreamsFor(timeline)});
}

}  // namespace stowplan::scenarios::trace
