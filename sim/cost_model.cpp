#include "sim/cost_model.h"

#include <cmath>

#include "sim/base/error.h"

namespace stowplan::sim {
namespace {

std::optional<double> Measured(const Op& op, const Device& device) {
  const std::string device_class = ToString(device.device_class);
  std::optional<double> by_class;
  for (const auto& [kind, micros] : op.cost_us_by_kind) {
    if (kind == device.kind) return micros;
    if (kind == device_class) by_class = micros;
  }
  return by_class ? by_class : op.cost_us;
}

Price PriceOp(const OpGraph& graph, OpIndex index, const Device& device, const CostModel& model) {
  const Op& op = graph.ops[static_cast<std::size_t>(index)];
  if (const auto micros = Measured(op, device)) return {*micros, Tier::kMeasured, *micros, *micros};
  if (op.IsSource()) return {0, Tier::kMeasured, 0, 0};
  const auto price = model.Predict(graph, index, device);
  if (!price) {
    throw InputError("op '" + op.name + "' (" + op.type +
                     "): nothing says how long it takes on the device kind '" + device.kind +
                     "'; give it a cost_us, or use a cost model that can price it (asked: " + model.name() +
                     ")");
  }
  if (!std::isfinite(price->us) || price->us < 0 || price->us > kMaxMicros) {
    throw InputError("op '" + op.name + "': the cost model " + model.name() + " says " +
                     std::to_string(price->us) + " us on '" + device.kind +
                     "', which is not between 0 and 1e12");
  }
  // An expert that no token goes to does not run: the mean over steps. What was measured somewhere holds it.
  const bool was_measured = op.cost_us || !op.cost_us_by_kind.empty();
  const double reached = was_measured ? 1 : FindNumber(op.attributes, "reached").value_or(1);
  if (!(reached >= 0 && reached <= 1)) {
    throw InputError("op '" + op.name + "': the attribute reached is " + std::to_string(reached) +
                     "; it is the share of steps in which the op runs, from 0 to 1");
  }
  return {price->us * reached, price->tier, price->low_us * reached, price->high_us * reached};
}

}  // namespace

CostTable PriceOps(const OpGraph& graph, const Cluster& cluster, const CostModel& model) {
  CostTable table;
  table.cost_model = model.name();
  table.devices = cluster.size();
  const auto devices = cluster.devices.size();
  // The first device of the same kind and class, whose prices are reused.
  std::vector<std::size_t> twin(devices);
  for (std::size_t d = 0; d < devices; ++d) {
    twin[d] = d;
    for (std::size_t e = 0; e < d && twin[d] == d; ++e) {
      const Device& a = cluster.devices[d];
      const Device& b = cluster.devices[e];
      if (a.kind == b.kind && a.device_class == b.device_class) twin[d] = e;
    }
  }
  table.picos.resize(graph.ops.size() * devices);
  table.tier.resize(graph.ops.size() * devices);
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    for (std::size_t d = 0; d < devices; ++d) {
      const std::size_t at = op * devices + d;
      if (twin[d] != d) {
        table.picos[at] = table.picos[op * devices + twin[d]];
        table.tier[at] = table.tier[op * devices + twin[d]];
        continue;
      }
      const Price price = PriceOp(graph, static_cast<OpIndex>(op), cluster.devices[d], model);
      table.picos[at] = FromMicros(price.us);
      table.tier[at] = price.tier;
    }
  }
  return table;
}

}  // namespace stowplan::sim
