#include "cost_models/calibration/graph_op_fit.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "cost_models/calibration/errors.h"
#include "cost_models/ops/op_work.h"

namespace stowplan::cost_models {

void EnterGraphOps(const Observations& observed, sim::DeviceClass device_class, const OpFitOptions& options,
                   OpFit* fit) {
  struct Sum {
    double ops = 0, us = 0, low_us = 0, high_us = 0;
    std::int64_t samples = 0;
  };
  std::map<std::string, Sum> sums;
  std::set<std::string> stand_ins;
  for (const ObservedGraphOp& op : observed.graph_ops) {
    if (op.device_class != device_class) continue;
    const Repeats time = TimeAlone(op.hot, op.cold, device_class, observed, options);
    const auto ops = static_cast<double>(op.count);
    Sum& sum = sums[Signature(*op.graph, op.graph->size() - 1)];
    sum.ops += ops;
    sum.us += ops * time.median_us;
    sum.low_us += ops * time.low_us;
    sum.high_us += ops * time.high_us;
    sum.samples += time.count;
    if (op.stand_in) stand_ins.insert(op.graph->ops.back().type);
  }
  std::set<std::string> there;
  for (const TableEntry& entry : fit->table) there.insert(entry.signature);
  int twice = 0;
  for (const auto& [signature, sum] : sums) {
    const double us = Rounded(sum.us / sum.ops);
    if (us <= 0) continue;  // shorter than the clock tells
    if (there.contains(signature)) {
      ++twice;
      continue;
    }
    fit->table.push_back({.kind = fit->kind,
                          .signature = signature,
                          .us = us,
                          .low_us = std::min(us, Rounded(sum.low_us / sum.ops)),
                          .high_us = std::max(us, Rounded(sum.high_us / sum.ops)),
                          .samples = sum.samples});
    ++fit->graph_entries;
  }
  std::ranges::sort(fit->table, {}, &TableEntry::signature);
  if (twice > 0)
    fit->notes.push_back(fmt::format(
        "{}: {} ops of graphs were measured by a probe too, which stands in the table", fit->kind, twice));
  if (!stand_ins.empty())
    fit->notes.push_back(
        fmt::format("{}: ops of {} stand in the table with the time of what the executor runs in "
                    "their place",
                    fit->kind, fmt::join(stand_ins, ", ")));
}

}  // namespace stowplan::cost_models
