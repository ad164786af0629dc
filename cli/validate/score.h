// How far the simulator is from what was measured: of one recording, and of many.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/validate/recording.h"
#include "sim/cost_model.h"

namespace stowplan::cli {

struct ScoredPlacement {
  std::string family;
  sim::Placement placement;
  double measured_us = 0;        // median of the steps
  double spread_us = 0;          // their median absolute deviation
  double halves_us[2] = {0, 0};  // median of the steps that were measured first, of those behind them
  int steps = 0;
  int undisturbed = 0;
  double simulated_us = 0;
  double low_us = 0,
         high_us = 0;     // SetIntervals(): where the measured one is expected with 90 %; 0 = not set
  double busiest_us = 0;  // the baseline: the largest sum of op costs of a device
  double error() const { return simulated_us / measured_us - 1; }
};

// The same workload, measured another time.
struct Repeat {
  int placements = 0;  // that both measured
  double tau =
      0;  // of the medians then against those now, over the pairs of these placements that tau counts
  double simulated_tau = 0;  // of the simulator, over the same pairs
  double speed = 1;          // median over placements of now / then
  double spread = 0;         // of now / then over placements: median deviation over median
};

struct Score {
  std::string workload;
  std::string machine;
  std::string date;
  std::string commit;
  double load_before = 0, load_after = 0;
  std::vector<std::string> stand_ins;
  long accelerators = 0;  // of its devices
  // They are one GPU, as all of a cluster are to `stowplan-profile graph`: tau and regret say nothing of placements over
  // several GPUs.
  bool shared_accelerator() const { return accelerators > 1; }
  std::vector<ScoredPlacement> placements;  // that fitted

  // Nothing where no placement fitted:
  std::optional<double> median_error;  // of |simulated / measured - 1|
  std::optional<double> p95_error;
  std::optional<double> bias;  // median of simulated / measured - 1
  std::optional<double>
      regret;  // measured step of the placement that is simulated fastest, over the fastest's, less 1
  std::optional<double> coverage;     // share of the measured medians within [low, high]
  std::optional<double> undisturbed;  // share of the steps during which no device lost its core
  // Median and largest of |simulated / measured peak - 1|, by placement and device.
  std::optional<double> peak_error, worst_peak_error;

  long long pairs = 0;  // of placements further apart than their spread
  // Nothing where there is no such pair:
  std::optional<double> tau;           // Kendall's tau-b
  std::optional<double> baseline_tau;  // of busiest_us
  std::optional<double> tau_ceiling;   // TauCeiling() of the halves of the steps
  // Placements with a limit that was in force and the measured or the simulated one hit.
  int enforced_verdicts = 0;
  int right_enforced_verdicts = 0;
  // These, and artificial limits at fixed shares of each simulated peak.
  int verdicts = 0;
  int right_verdicts = 0;
  int undecided_verdicts =
      0;  // left out: between the least and the most measured peak, or within 1 % of them

  // Shares of the time of all ops, over the cluster's kinds of devices, whose prices are measured, interpolated, of the
  // structural model alone.
  std::array<double, 3> by_tier{};

  std::optional<Repeat> repeat;  // CompareRepeats()

  // The traced step, where there is one: median over ops of |probed / traced - 1|, weighted by traced time.
  std::optional<double> op_time_ratio;  // sum of probed over sum of traced times
  std::optional<double> copy_time_ratio;
};

// `costs_path`: what prices its ops, a stowplan.cost_model or a name. folder: where a workload that is a graph file
// is looked for, too.
Score ScoreRecording(const Recording& recording, const std::string& costs_path,
                     const std::string& folder = {});

// The same with any model.
Score ScoreRecording(const Recording& recording, const sim::CostModel& model, const std::string& folder = {});

// All recordings of a folder, by file name, with intervals, each priced by the stowplan.cost_model beside it (CostsBeside)
// unless one is given for all. Throws InputError where there is none, and where that beside a recording was measured on
// another machine.
std::vector<Score> ScoreFolder(const std::string& folder, const std::string& cost_model = {});

// 90 % intervals for measured steps: simulated times the 5 % and the 95 % quantile of measured / simulated of the *other*
// workloads, each with equal weight, as for a workload that nobody has measured. Nothing is set where fewer than
// kFewestForIntervals workloads have steps.
inline constexpr std::ptrdiff_t kFewestForIntervals = 4;
void SetIntervals(std::vector<Score>* scores);

// Where `folder` has recordings of the same workloads, too: what of their placements both measured.
void CompareRepeats(const std::string& folder, std::vector<Score>* scores);

// "12.3 %", "0.123" for tables; "–" for nothing.
std::string PercentText(std::optional<double> share);
std::string NumberText(std::optional<double> number);
std::string RightVerdictsText(const Score& score);

std::string PrintScores(const std::vector<Score>& scores);  // for people
std::string PrintScoresJson(const std::vector<Score>& scores);
std::string PrintScoresCsv(const std::vector<Score>& scores);  // a row for each placement

}  // namespace stowplan::cli
