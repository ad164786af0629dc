// The page of results/speed: what stowplan_benchmarks and stowplan_compare measured, beside the goals, and the cost of an evaluation
// against ops, edges and devices.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stowplan::bench {

// Of one benchmark: the median where it was repeated.
struct SpeedRow {
  std::string name;  // "engine/native/fifo/ops:10000"
  double ops = 0, edges = 0, devices = 0;
  double milliseconds = 0;  // an iteration: of the processor, but for a ratio, which is about the wall clock
  double ops_per_second = 0;
  std::optional<double> ratio;  // of two times: what the goal is about where it is there, else ops_per_second
  std::string ratio_text;       // how that reads: "{:.2f} of processes"
  std::optional<double> goal;   // what is wanted
  std::optional<double> spread;  // coefficient of variation of the milliseconds

  double figure() const { return ratio ? *ratio : ops_per_second; }
};

struct PeerRow {
  std::string peer, ours;  // who, and under which rules of ours
  double ops = 0, edges = 0;
  double their_seconds = 0, our_seconds = 0;  // an evaluation
  std::optional<double> difference;           // of the runtimes, relative; none: the rules are not the same
};

struct SpeedResults {
  std::vector<std::pair<std::string, std::string>> facts;  // command, revision, machine, date: what, value
  std::vector<SpeedRow> rows;
  std::vector<PeerRow> peers;
};

// Adds what a file of `stowplan_benchmarks --benchmark_out=FILE` or `stowplan_compare --json FILE` says. Throws InputError where it is
// neither.
void AddBenchmarks(SpeedResults& results, std::string_view json, const std::string& source);
void AddComparison(SpeedResults& results, std::string_view json, const std::string& source);

std::string PrintSpeedCsv(const SpeedResults& results);
std::string PrintSpeedMarkdown(const SpeedResults& results);
std::string PrintScalingHtml(const SpeedResults& results);

}  // namespace stowplan::bench
