#include "cost_models/parameters/ratio_tables.h"

#include <algorithm>

#include "cost_models/ops/portable_math.h"

namespace stowplan::cost_models {

double LogRatio(const RatioTables& tables, std::span<const double> features) {
  std::int64_t sum = 0;
  for (const RatioStep& step : tables.steps) {
    unsigned answers = 0;
    for (const RatioStep::Question& question : step.questions) {
      const bool above = features[static_cast<std::size_t>(question.feature)] > question.above;
      answers = answers * 2 + (above ? 1 : 0);
    }
    sum += step.add[answers];
  }
  return tables.log_ratio + static_cast<double>(sum) * kRatioUnit;
}

double BoundMicros(const RatioTables& tables, const OpWork& work, const DeviceSheet& sheet) {
  return BoundMicros(work, sheet, tables.kernel_us > 0 ? tables.kernel_us : sheet.kernel_us);
}

double TablesMicros(const RatioTables& tables, const OpWork& work, const DeviceSheet& sheet) {
  return BoundMicros(tables, work, sheet) * PortableExp(LogRatio(tables, ShapeFeatures(work, sheet)));
}

const RatioTables* FindTables(std::span<const RatioTables> tables, std::string_view family,
                              std::string_view dtype) {
  const auto found = std::ranges::find_if(
      tables, [&](const RatioTables& one) { return one.family == family && one.dtype == dtype; });
  return found != tables.end() ? &*found : nullptr;
}

}  // namespace stowplan::cost_models
