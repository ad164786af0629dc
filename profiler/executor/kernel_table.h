// Kernels for the ops of a graph on an accelerator: made once for ops that are alike, each run once before a step relies on
// it, and a stand-in for what cannot be run. Nothing of it knows the accelerator, so that tests have it without one.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/backend.h"
#include "profiler/executor/block_pool.h"
#include "profiler/executor/op_tensors.h"
#include "sim/op_graph.h"

namespace stowplan::profiler {

// Ops with one key are run by one kernel: type, phase, attributes, FLOPs, and the tensors with how they are stored.
std::string KernelKey(const OpTensors& tensors);

template <typename K>
struct KernelMaking {
  // Nothing for a type or for shapes that are not known. May throw Unavailable.
  std::function<std::optional<K>(const OpTensors&)> make;
  std::function<K(const OpTensors&)> make_stand_in;
  // Runs it on memory of its own and returns when it is done; throws what that threw. NoMemory: there was not enough to
  // try, which says nothing against it.
  std::function<void(const OpTensors&, const K&)> run_once;
  std::vector<std::string> stand_in_types;  // that are not to be run for what they are
};

template <typename K>
struct KernelTable {
  std::vector<std::shared_ptr<const K>> kernels;             // by op; null for those that do nothing
  std::vector<sim::OpIndex> stand_ins;                       // ascending
  std::vector<std::pair<std::string, std::string>> reasons;  // of stand-ins: type, why; each pair once
};

namespace internal {

template <typename K>
struct TriedKernel {
  std::shared_ptr<const K> kernel;
  std::string reason;  // of a stand-in; empty where it is none
};

template <typename K>
TriedKernel<K> MakeTried(const OpTensors& tensors, const KernelMaking<K>& making) {
  const sim::Op& op = tensors.op();
  const auto run = [&](const K& kernel) {
    try {
      making.run_once(tensors, kernel);
    } catch (const NoMemory&) {
    }
  };
  std::string reason;
  const auto& forced = making.stand_in_types;
  if (std::find(forced.begin(), forced.end(), op.type) != forced.end()) {
    reason = "asked for";
  } else {
    try {
      if (auto made = making.make(tensors)) {
        auto kernel = std::make_shared<const K>(std::move(*made));
        run(*kernel);
        return {std::move(kernel), {}};
      }
      reason = "no kernel for its type or shapes";
    } catch (const Unavailable& why) {
      reason = why.what();
    } catch (const RunError& why) {
      reason = std::string("failed when it was tried: ") + why.what();
    }
  }
  auto kernel = std::make_shared<const K>(making.make_stand_in(tensors));
  try {
    run(*kernel);
  } catch (const std::exception& why) {
    throw RunError("op " + op.name + " (" + op.type + ") " + reason +
                   ", and its stand-in after it: " + why.what() +
                   "; the device may be lost to this process: try again with --stand-in " + op.type);
  }
  return {std::move(kernel), std::move(reason)};
}

}  // namespace internal

// Throws RunError where not even a stand-in runs.
template <typename K>
KernelTable<K> MakeKernelTable(const sim::OpGraph& graph, const KernelMaking<K>& making) {
  KernelTable<K> table;
  std::map<std::string, internal::TriedKernel<K>> tried;
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    const OpTensors tensors(graph, op);
    if (DoesNothing(tensors)) {
      table.kernels.emplace_back();
      continue;
    }
    const std::string key = KernelKey(tensors);
    auto found = tried.find(key);
    if (found == tried.end()) found = tried.emplace(key, internal::MakeTried(tensors, making)).first;
    table.kernels.push_back(found->second.kernel);
    if (found->second.reason.empty()) continue;
    table.stand_ins.push_back(op);
    const std::pair why(tensors.op().type, found->second.reason);
    if (std::find(table.reasons.begin(), table.reasons.end(), why) == table.reasons.end())
      table.reasons.push_back(why);
  }
  return table;
}

}  // namespace stowplan::profiler
