// Calibrations of made-up recordings, in one call.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "cost_models/calibration/calibration.h"
#include "tests/cost_models/calibration/fabricated.h"
#include "tests/cost_models/testing.h"

namespace stowplan::cost_models::testing {

inline CalibrationResult CalibrateAll(const std::vector<NamedRecording>& probes,
                                      const CalibrationOptions& options = {},
                                      const std::vector<NamedRecording>& steps = {}) {
  return Calibrate(probes, steps, options, BuiltinCatalogue());
}

inline std::string ErrorOf(const std::vector<NamedRecording>& probes, const CalibrationOptions& options = {},
                           const std::vector<NamedRecording>& steps = {}) {
  return InputErrorOf([&] { CalibrateAll(probes, options, steps); });
}

// The recording of all probes, changed.
template <typename Change>
std::vector<NamedRecording> With(const Change& change, const Truth& truth = {}) {
  std::vector<NamedRecording> probes = FabricatedProbes(truth);
  change(probes.front().recording);
  return probes;
}

inline const LinkParameters& LinkOf(const CalibrationResult& result, const std::string& kind) {
  const auto found = std::ranges::find(result.parameters.links, kind, &LinkParameters::kind);
  STOWPLAN_CHECK(found != result.parameters.links.end());
  return *found;
}

}  // namespace stowplan::cost_models::testing
