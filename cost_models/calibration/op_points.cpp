#include "cost_models/calibration/op_points.h"

namespace stowplan::cost_models {

Repeats TimeAlone(const Repeats& hot, const std::optional<Repeats>& cold, sim::DeviceClass device_class,
                  const Observations& observed, const OpFitOptions& options) {
  constexpr double kLeastShare = 0.1;  // that is left when the events' own is taken off
  Repeats time = options.cold && cold ? *cold : hot;
  if (device_class == sim::DeviceClass::kCpu) return time;
  const double excess = ExcessOfEvents(observed);
  for (double* us : {&time.median_us, &time.low_us, &time.high_us})
    *us = std::max(*us - excess, kLeastShare * *us);
  return time;
}

}  // namespace stowplan::cost_models
