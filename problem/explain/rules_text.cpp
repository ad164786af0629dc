#include "problem/explain/rules_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "output/console.h"

namespace stowplan::problem {

std::string ReserveText(const sim::Cluster& cluster) {
  sim::Bytes least = 0, most = 0;
  for (const sim::Device& device : cluster.devices) {
    if (device.reserve == 0) continue;
    least = least == 0 ? device.reserve : std::min(least, device.reserve);
    most = std::max(most, device.reserve);
  }
  if (most == 0) return "";
  const std::string up_to = output::BytesText(static_cast<double>(most));
  return fmt::format("Of each GPU's memory {} are kept for the framework, the rest may be filled.",
                     least == most ? up_to : output::BytesText(static_cast<double>(least)) + " to " + up_to);
}

std::string HostText(const sim::Problem& problem) {
  const sim::Dispatch& dispatch = problem.cluster().dispatch;
  if (problem.cluster().rules != sim::Rules::kNative || dispatch.mode == sim::Dispatch::Mode::kFlat)
    return "";
  sim::Picos all = 0;
  for (const sim::Op& op : problem.graph().ops) all += dispatch.cost * op.DispatchUnits();
  const std::string time = output::TimeText(all);
  if (dispatch.mode == sim::Dispatch::Mode::kTraced)
    return fmt::format(
        "Issued as the trace recorded it, which takes the host {} in all (host mode traced; --host graph: as "
        "CUDA graphs).",
        time);
  if (dispatch.mode == sim::Dispatch::Mode::kGraph)
    return fmt::format("Issued as CUDA graphs, which takes {} in all (host mode graph).", time);
  return fmt::format(
      "Issued op by op as eager PyTorch does, which takes the host {} in all (host mode eager; --host graph: "
      "as "
      "CUDA graphs).",
      time);
}

std::string RulesText(const sim::Cluster& cluster) {
  const sim::Dispatch& dispatch = cluster.dispatch;
  const std::string rules = fmt::format("{} rules", sim::ToString(cluster.rules));
  if (cluster.rules != sim::Rules::kNative) return rules;
  return fmt::format(
      "{}, {}, {}", rules,
      dispatch.per == sim::Dispatch::Per::kProcess ? "one host process" : "a host process each device",
      dispatch.order == sim::Dispatch::Order::kProgram ? "program order" : "ops as they are ready");
}

}  // namespace stowplan::problem
