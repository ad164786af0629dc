// Scores as text, JSON and CSV.
#include <algorithm>

#include <fmt/format.h>

#include "cli/validate/score.h"
#include "output/console.h"
#include "output/csv.h"
#include "sim/formats/document/json_text.h"

namespace stowplan::cli {
namespace {

constexpr const char* kNothing = "–";

std::string JsonNumber(std::optional<double> number) {
  return number ? fmt::format("{:.6f}", *number) : "null";
}

std::string NameOf(const Score& score) {
  return score.workload + (score.shared_accelerator() ? " *" : "");
}

std::string RepeatJson(const Repeat& repeat) {
  return fmt::format(
      ",\n  \"repeat\": {{\"placements\": {}, \"tau_b\": {:.6f}, \"simulated_tau_b\": {:.6f}, \"speed\": "
      "{:.6f}, "
      "\"spread\": {:.6f}}}",
      repeat.placements, repeat.tau, repeat.simulated_tau, repeat.speed, repeat.spread);
}

// Measured twice: the machine against itself, beside the simulator on the same placements.
std::string RepeatText(const std::vector<Score>& scores) {
  output::TextTable table("lrrrrr", {"workload", "placements", "machine", "simulator", "speed", "spread"});
  for (const Score& s : scores) {
    if (!s.repeat) continue;
    table.AddRow({NameOf(s), std::to_string(s.repeat->placements), fmt::format("{:.3f}", s.repeat->tau),
                  fmt::format("{:.3f}", s.repeat->simulated_tau), fmt::format("{:.3f}", s.repeat->speed),
                  PercentText(s.repeat->spread)});
  }
  if (table.empty()) return "";
  return "Against another measurement of the same placements\n\n" + table.ToString(2) +
         "\n  machine       tau-b of the medians then against those now, over the pairs that tau counts\n"
         "  simulator     tau-b of the simulator over the same pairs\n"
         "  speed         median of now / then; spread: of that over placements\n\n";
}

}  // namespace

std::string PercentText(std::optional<double> share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : kNothing;
}

std::string NumberText(std::optional<double> number) {
  return number ? fmt::format("{:.3f}", *number) : kNothing;
}

std::string RightVerdictsText(const Score& score) {
  if (score.verdicts == 0) return kNothing;
  return PercentText(score.right_verdicts / static_cast<double>(score.verdicts));
}

std::string PrintScores(const std::vector<Score>& scores) {
  output::TextTable times("lrrrrrrrrrrrrr",
                          {"workload", "placements", "median", "p95", "bias", "tau", "of at most", "pairs",
                           "baseline", "regret", "covered", "ops", "copies", "quiet"});
  output::TextTable memory("lrrrrrrr", {"workload", "peak, median", "worst", "verdicts", "right", "undecided",
                                        "enforced", "right"});
  output::TextTable prices("lrrr", {"workload", "A measured", "B interpolated", "C structural"});
  for (const Score& s : scores) {
    times.AddRow({NameOf(s), std::to_string(s.placements.size()), PercentText(s.median_error),
                  PercentText(s.p95_error), s.bias ? fmt::format("{:+.1f} %", 100 * *s.bias) : kNothing,
                  NumberText(s.tau), NumberText(s.tau_ceiling), output::CountText(s.pairs),
                  NumberText(s.baseline_tau), PercentText(s.regret), PercentText(s.coverage),
                  s.op_time_ratio ? fmt::format("{:.2f}", *s.op_time_ratio) : "",
                  s.copy_time_ratio ? fmt::format("{:.2f}", *s.copy_time_ratio) : "",
                  PercentText(s.undisturbed)});
    memory.AddRow({NameOf(s), PercentText(s.peak_error), PercentText(s.worst_peak_error),
                   std::to_string(s.verdicts), RightVerdictsText(s), std::to_string(s.undecided_verdicts),
                   std::to_string(s.enforced_verdicts), std::to_string(s.right_enforced_verdicts)});
    prices.AddRow(
        {NameOf(s), PercentText(s.by_tier[0]), PercentText(s.by_tier[1]), PercentText(s.by_tier[2])});
  }
  std::string out =
      "Simulated against measured step times\n\n" + times.ToString(2) +
      "\n  median, p95   of |simulated / measured - 1| over placements; bias: its median with the sign\n"
      "  tau           Kendall's tau-b over pairs further apart than their steps' median deviation\n"
      "  of at most    what noise leaves: the most that the true order can be expected to reach, from the "
      "tau "
      "of\n"
      "                the first half of each placement's steps against the second; what drifts between\n"
      "                placements and from run to run comes on top\n"
      "  baseline      the same for the largest sum of op costs of a device\n"
      "  regret        of the placement that is simulated fastest, against the fastest measured\n"
      "  covered       medians within the 90 % interval: simulated times the 5 % and the 95 % quantile of\n"
      "                measured / simulated of the other workloads\n"
      "  ops, copies   probed time over the time in one traced step\n"
      "  quiet         steps during which no device lost its core or its pace; the others are left out\n"
      "                where at least 10 are left\n\n"
      "Peak memory, simulated against counted\n\n" +
      memory.ToString(2) +
      "\n  right         verdicts fits / does not fit, of limits at 90 to 110 % of the simulated peak\n"
      "  undecided     limits left out: between the least and the most peak of the measured steps, where "
      "the\n"
      "                machine itself gives both verdicts, or within 1 % of them\n"
      "  enforced      placements that ran under a limit which they or their simulation broke, and how many\n"
      "                of them both broke; among the verdicts\n\n"
      "What the prices of the ops rest on, by their time\n\n" +
      prices.ToString(2) + "\n";
  const bool shared =
      std::ranges::any_of(scores, [](const Score& score) { return score.shared_accelerator(); });
  if (shared)
    out +=
        "  *             accelerators that are one GPU: tau and regret say how well shares of it are "
        "scheduled,\n"
        "                nothing about placements over several GPUs\n\n";
  out += RepeatText(scores);
  for (const Score& s : scores) {
    out += fmt::format("  {}: {}, {}, revision {}, load average {:.1f} before and {:.1f} after{}{}\n",
                       s.workload, s.machine, s.date, s.commit.substr(0, 12), s.load_before, s.load_after,
                       s.stand_ins.empty() ? "" : "; run by stand-ins: ", fmt::join(s.stand_ins, ", "));
  }
  return out;
}

std::string PrintScoresJson(const std::vector<Score>& scores) {
  std::string out = "{\"workloads\": [";
  std::string_view comma;
  for (const Score& s : scores) {
    out += fmt::format(
        "{}\n {{\"workload\": {}, \"machine\": {}, \"date\": {}, \"commit\": {}, \"load_before\": {}, "
        "\"load_after\": {},\n"
        "  \"placements\": {}, \"median_error\": {}, \"p95_error\": {}, \"bias\": {}, \"tau_b\": "
        "{}, "
        "\"tau_ceiling\": {}, "
        "\"pairs\": {}, \"baseline_tau_b\": {}, \"shared_accelerator\": {},\n  \"regret\": {}, "
        "\"coverage\": {}, "
        "\"undisturbed\": {}, "
        "\"peak_error\": {}, \"worst_peak_error\": {}, \"verdicts\": {}, \"right_verdicts\": {}, "
        "\"undecided_verdicts\": {}, \"enforced_verdicts\": {}, \"right_enforced_verdicts\": {},\n  "
        "\"by_tier\": "
        "[{:.6f}, {:.6f}, {:.6f}]{}}}",
        comma, formats::JsonString(s.workload), formats::JsonString(s.machine), formats::JsonString(s.date),
        formats::JsonString(s.commit), s.load_before, s.load_after, s.placements.size(),
        JsonNumber(s.median_error), JsonNumber(s.p95_error), JsonNumber(s.bias), JsonNumber(s.tau),
        JsonNumber(s.tau_ceiling), s.pairs, JsonNumber(s.baseline_tau), s.shared_accelerator(),
        JsonNumber(s.regret), JsonNumber(s.coverage), JsonNumber(s.undisturbed), JsonNumber(s.peak_error),
        JsonNumber(s.worst_peak_error), s.verdicts, s.right_verdicts, s.undecided_verdicts,
        s.enforced_verdicts, s.right_enforced_verdicts, s.by_tier[0], s.by_tier[1], s.by_tier[2],
        s.repeat ? RepeatJson(*s.repeat) : "");
    comma = ",";
  }
  return out + "]}\n";
}

std::string PrintScoresCsv(const std::vector<Score>& scores) {
  std::string out =
      output::PrintCsvLine({"workload", "placement", "family", "measured_us", "deviation_us", "steps",
                            "undisturbed", "simulated_us", "low_us", "high_us", "largest_sum_us", "error"});
  for (const Score& s : scores) {
    for (std::size_t i = 0; i < s.placements.size(); ++i) {
      const ScoredPlacement& p = s.placements[i];
      const auto us = [](double value) { return fmt::format("{:.3f}", value); };
      out += output::PrintCsvLine({s.workload, std::to_string(i), p.family, us(p.measured_us),
                                   us(p.spread_us), std::to_string(p.steps), std::to_string(p.undisturbed),
                                   us(p.simulated_us), us(p.low_us), us(p.high_us), us(p.busiest_us),
                                   fmt::format("{:+.4f}", p.error())});
    }
  }
  return out;
}

}  // namespace stowplan::cli
