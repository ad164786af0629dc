// Measured ops of one device kind, and what a fit makes of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost_models/calibration/observations.h"
#include "cost_models/parameters/parameters.h"

namespace stowplan::cost_models {

struct OpFitOptions {
  // Contractions whose f32 ops are what the rows in tf32 measured; of the others the rows in f32 are. Not given: as the
  // recorder runs f32 ops (Observations::tf32).
  std::optional<Tf32Classes> tf32;
  bool cold = false;  // operands come from memory: the rows' `cold` in place of `hot`
};

// One measured op and what is predicted for it.
struct OpPoint {
  std::string label;  // "gemm bf16 m=4096 n=768 k=768"
  std::string workload;
  double work = 0;                // flops of contractions, bytes of others
  double measured_us = 0;         // corrected: TimeAlone()
  double structural_us = 0;       // catalogue's efficiencies; 0 where the kind has no rates
  double fitted_us = 0;           // by the curve, which has seen it; 0 without a curve
  double held_out_us = 0;         // by a curve that has not seen ops of this shape
  double other_workloads_us = 0;  // by a curve that has not seen its workload; 0 where there are not two
  double analytic_us = 0;         // the structural model with the fitted efficiencies
};

struct ClassFit {
  OpClass op_class = OpClass::kElementwise;
  std::string dtype;
  std::vector<OpPoint> points;
  std::size_t table_entries = 0;
  bool has_curve = false;  // on a CPU: a line, of the op's family
  bool borrowed = false;   // recurrent_gemm: fitted to the points of gemm
};

struct OpFit {
  std::string kind;
  KindParameters parameters;      // efficiency, structural, curves, tf32
  std::vector<ClassFit> classes;  // by class, then dtype
  std::vector<TableEntry> table;  // by signature
  std::size_t graph_entries = 0;  // of those: ops of graphs that no probe measured
  std::vector<std::string> notes;
};

// What an op takes of a device that is never idle: its kernels and one transition to the next. On a CPU the time of the
// call.
Repeats TimeAlone(const Repeats& hot, const std::optional<Repeats>& cold, sim::DeviceClass device_class,
                  const Observations& observed, const OpFitOptions& options);

}  // namespace stowplan::cost_models
