// From recordings to a parameter file: what `stowplan calibrate` does, without files and without a terminal.
//
// Parameters come from isolated probes alone. Whole steps are what predictions are held against; they may give table
// entries where that is asked for, never curves, efficiencies, links or costs of launching.
//
// Pure and deterministic: same recordings in any order, same bits, on every machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cost_models/calibration/copy_fit.h"
#include "cost_models/calibration/errors.h"
#include "cost_models/calibration/host_fit.h"
#include "cost_models/calibration/op_fit.h"
#include "cost_models/calibration/step_ops.h"

namespace stowplan::cost_models {

struct CalibrationOptions {
  std::string name;     // of the parameters
  std::string command;  // into the provenance
  std::map<std::string, std::string>
      kinds;  // {"gpu": "h200"}: what the devices are; else told by their names
  OpFitOptions ops;
  bool steps_in_table = false;
};

// One path of copies, and the link kind it became.
struct PathFit {
  CopyPath path = CopyPath::kOnDevice;
  CopyFit fit;
  double host_us = 0;  // of every time in it: the host's part
};

// One step recording, predicted from the probes.
struct StepPoint {
  std::string label;
  char tier = 'C';
  double measured_us = 0;  // median of its calls
  double predicted_us = 0;
  std::int64_t calls = 0;
};
struct StepFit {
  StepOps ops;
  std::vector<StepPoint> points;
};

struct CalibrationResult {
  Parameters parameters;
  std::string clocks;      // as found; empty if not told
  std::vector<OpFit> ops;  // of each device class with probes
  std::vector<PathFit> paths;
  std::vector<HostFit> hosts;  // of an accelerator always, of the CPU where it was probed
  std::vector<StepFit> steps;
  std::vector<std::string> notes;  // what was left out and why, what is missing
};

// Throws InputError: recordings that are no probes, of several machines or damaged; steps that the sanitiser refuses.
CalibrationResult Calibrate(const std::vector<NamedRecording>& probes,
                            const std::vector<NamedRecording>& steps, const CalibrationOptions& options,
                            const Catalogue& catalogue);

}  // namespace stowplan::cost_models
