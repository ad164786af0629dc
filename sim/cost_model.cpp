#include "sim/cost_model.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

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
  if (op.IsSource() || op.collective >= 0) return {0, Tier::kMeasured, 0, 0};
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

void CostTable::Separate(DeviceIndex device) {
  if (column_of.empty() || std::ranges::count(column_of, ColumnOf(device)) == 1) return;
  const auto old_columns = static_cast<std::size_t>(shared_columns);
  const auto from = static_cast<std::ptrdiff_t>(ColumnOf(device));
  const auto widen = [&](auto& table) {
    auto wide = std::remove_reference_t<decltype(table)>();
    wide.reserve(table.size() + table.size() / old_columns);
    for (auto row = table.begin(); row != table.end(); row += shared_columns) {
      wide.insert(wide.end(), row, row + shared_columns);
      wide.push_back(row[from]);
    }
    table = std::move(wide);
  };
  widen(picos);
  widen(tier);
  column_of[static_cast<std::size_t>(device)] = shared_columns++;
}

CostTable PriceOps(const OpGraph& graph, const Cluster& cluster, const CostModel& model) {
  CostTable table;
  table.cost_model = model.name();
  table.devices = cluster.size();
  std::vector<const Device*> examples;  // by column
  for (const Device& device : cluster.devices) {
    const auto alike = std::ranges::find_if(examples, [&](const Device* other) {
      return other->kind == device.kind && other->device_class == device.device_class;
    });
    table.column_of.push_back(static_cast<DeviceIndex>(alike - examples.begin()));
    if (alike == examples.end()) examples.push_back(&device);
  }
  table.shared_columns = static_cast<DeviceIndex>(examples.size());
  table.picos.reserve(graph.ops.size() * examples.size());
  table.tier.reserve(graph.ops.size() * examples.size());
  for (OpIndex op = 0; op < graph.size(); ++op) {
    for (const Device* device : examples) {
      const Price price = PriceOp(graph, op, *device, model);
      table.picos.push_back(FromMicros(price.us));
      table.tier.push_back(price.tier);
    }
  }
  return table;
}

}  // namespace stowplan::sim
