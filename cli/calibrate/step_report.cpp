#include "cli/calibrate/step_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "output/console.h"

namespace stowplan::cli {
namespace {

constexpr std::size_t kShown = 10;  // of ops, and of reasons

double TimeOf(const cost_models::StepOp& op) {
  return op.op.hot.median_us * static_cast<double>(op.op.hot.count);
}

std::string ShareText(double us, double of) {
  return fmt::format("{:.1f} %", 100 * us / of);
}

output::TextTable Account(const cost_models::StepOps& steps) {
  output::TextTable table("rl", {"share", "of the device's time"});
  table.AddRow({ShareText(steps.told_us - steps.copies_us - steps.collectives_us, steps.device_us),
                "told: ops with name, shapes and kernels"});
  if (steps.copies_us > 0)
    table.AddRow({ShareText(steps.copies_us, steps.device_us), "told: copies, ends and bytes"});
  if (steps.collectives_us > 0)
    table.AddRow({ShareText(steps.collectives_us, steps.device_us),
                  "told: collectives and bytes, with the wait for other ranks"});
  double others = 0;
  for (std::size_t i = 0; i < steps.untold.size(); ++i) {
    const cost_models::UntoldTime& time = steps.untold[i];
    if (i < kShown) {
      table.AddRow({ShareText(time.us, steps.device_us), "not told: " + time.why});
    } else {
      others += time.us;
    }
  }
  if (others > 0)
    table.AddRow({ShareText(others, steps.device_us),
                  fmt::format("not told: {} other ops", steps.untold.size() - kShown)});
  return table;
}

output::TextTable LongestOps(const cost_models::StepOps& steps) {
  std::vector<cost_models::StepOp> ops = steps.ops;
  std::ranges::stable_sort(ops, std::ranges::greater{}, TimeOf);
  output::TextTable table("lrrr", {"longest told ops", "calls", "median", "share"});
  for (std::size_t i = 0; i < std::min(kShown, ops.size()); ++i) {
    const std::string both = ops[i].second ? " and " + ops[i].second->phase : "";
    table.AddRow({LabelOf(ops[i].op) + both, std::to_string(ops[i].op.hot.count),
                  output::TimeText(ops[i].op.hot.median_us), ShareText(TimeOf(ops[i]), steps.device_us)});
  }
  return table;
}

}  // namespace

std::string PrintStepOps(const std::string& source, const cost_models::StepOps& steps) {
  std::string text = output::Wrapped(
      fmt::format("{}: {} on the device; {}", source, output::TimeText(steps.device_us), steps.verdict), 0,
      output::kLineWidth);
  text += Account(steps).ToString(2);
  if (steps.unshaped_us > 0)
    text += output::Wrapped(fmt::format("{} of the device's time would be told with shapes: record with "
                                        "torch.profiler's record_shapes=True.",
                                        ShareText(steps.unshaped_us, steps.device_us)),
                            0, output::kLineWidth);
  if (!steps.ops.empty()) text += "\n" + LongestOps(steps).ToString(2);
  return text + "\n";
}

}  // namespace stowplan::cli
