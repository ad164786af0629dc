// The report of results/speed from made-up output of the programs that measure.
#include "bench/report.h"

#include "tests/testing.h"

namespace stowplan::bench {
namespace {

// As Google Benchmark writes it: repeated rows as aggregates, and one that ran once.
constexpr const char* kBenchmarks = R"({
 "context": {"date": "2026-01-02", "command": "stowplan_benchmarks --x", "revision": "abc", "machine": "M, 2 cores"},
 "benchmarks": [
  {"run_name": "engine/native/fifo/ops:10000", "aggregate_name": "mean", "cpu_time": 9, "real_time": 9, "time_unit": "ms",
   "ops": 1e4, "edges": 2e4, "devices": 4, "ops/s": 1, "goal": 6e6, "repetitions": 3},
  {"run_name": "engine/native/fifo/ops:10000", "aggregate_name": "median", "cpu_time": 2, "real_time": 50, "time_unit": "ms",
   "ops": 1e4, "edges": 2e4, "devices": 4, "ops/s": 5e6, "goal": 6e6, "repetitions": 3},
  {"run_name": "engine/native/fifo/ops:10000", "aggregate_name": "cv", "cpu_time": 0.07, "real_time": 3, "time_unit": "ms",
   "ops": 0, "edges": 0, "devices": 0, "ops/s": 0, "goal": 0, "repetitions": 3},
  {"run_name": "batch/native/ops:100/threads:2/manual_time", "real_time": 4000, "cpu_time": 9000, "time_unit": "us",
   "ops": 100, "edges": 171, "devices": 4, "ops/s": 3e6, "threads/processes": 0.99, "goal": 0.9, "repetitions": 1},
  {"run_name": "batch/native/ops:1000/threads:2/manual_time", "real_time": 1, "cpu_time": 1, "time_unit": "us",
   "ops": 1000, "edges": 171, "devices": 4, "ops/s": 3e6, "threads/processes": 0.99, "goal": 0.9, "repetitions": 1},
  {"run_name": "batch/native/ops:100/threads:16/manual_time", "real_time": 1, "cpu_time": 1, "time_unit": "us",
   "ops": 100, "edges": 171, "devices": 4, "ops/s": 3e6, "threads/processes": 0.99, "goal": 0.9, "repetitions": 1},
  {"run_name": "search/local_search/native/fifo/nmt(layers=4)/manual_time", "real_time": 60, "cpu_time": 1, "time_unit": "ms",
   "ops": 1000, "edges": 171, "devices": 4, "ops/s": 5e6, "random/search": 2.5, "goal": 2, "repetitions": 1},
  {"run_name": "scaling/devices/published/8", "real_time": 1, "cpu_time": 1, "time_unit": "ms",
   "ops": 1e4, "edges": 2e4, "devices": 8, "ops/s": 1e7},
  {"run_name": "scaling/devices/published/2", "real_time": 0.5, "cpu_time": 0.5, "time_unit": "ms",
   "ops": 1e4, "edges": 2e4, "devices": 2, "ops/s": 2e7}]})";

constexpr const char* kComparison =
    R"({"command": "stowplan_compare", "revision": "abc", "dirty": true, "machine": "M", "rows": [
 {"peer": "SimGrid 1", "ours": "those of SimGrid", "ops": 1000, "edges": 1952, "placements": 3, "their_seconds": 0.1,
  "our_seconds": 0.002, "largest_difference": 1e-9},
 {"peer": "SimGrid 1", "ours": "native fifo", "ops": 1000, "edges": 1952, "placements": 3, "their_seconds": 0.1,
  "our_seconds": 0.001, "largest_difference": null}]})";

SpeedResults Results() {
  SpeedResults results;
  AddBenchmarks(results, kBenchmarks, "b.json");
  AddComparison(results, kComparison, "c.json");
  return results;
}

TEST(SpeedReport, TakesMediansOfTheProcessorsTime) {
  const SpeedResults results = Results();
  ASSERT_THAT(results.rows, SizeIs(7));
  EXPECT_EQ(results.rows[0].name, "batch/native/ops:100/threads:2");
  EXPECT_EQ(results.rows[0].milliseconds, 4);  // a ratio's: of the wall clock
  EXPECT_FALSE(results.rows[0].spread.has_value());
  EXPECT_EQ(results.rows[3].milliseconds, 2);
  EXPECT_EQ(results.rows[3].spread, 0.07);
}

// They are measured in turns, at random.
TEST(SpeedReport, RowsStandByWhatIsMeasuredAndSize) {
  std::vector<std::string> names;
  for (const SpeedRow& row : Results().rows) names.push_back(row.name);
  EXPECT_THAT(names, ElementsAre("batch/native/ops:100/threads:2", "batch/native/ops:100/threads:16",
                                 "batch/native/ops:1000/threads:2", "engine/native/fifo/ops:10000",
                                 "scaling/devices/published/2", "scaling/devices/published/8",
                                 "search/local_search/native/fifo/nmt(layers=4)"));
}

TEST(SpeedReport, SetsFiguresBesideGoals) {
  const std::string text = PrintSpeedMarkdown(Results());
  EXPECT_THAT(text, HasSubstr("| 2.000 ms | 7 % | 5.0 M ops/s | 6.0 M ops/s | 0.83 |"));
  EXPECT_THAT(text, HasSubstr("| 0.99 of processes | 0.90 of processes | 1.10 |"));
  EXPECT_THAT(text, HasSubstr("- revision of the comparison: `abc (with changes)`"));
}

TEST(SpeedReport, SetsASampleOfASearchBesideRandomSearch) {
  EXPECT_THAT(
      PrintSpeedMarkdown(Results()),
      HasSubstr(
          "| `local_search/native/fifo/nmt(layers=4)` | 200.0 us | 500.0 us | one run | 0.40 | 0.50 |"));
}

TEST(SpeedReport, SetsOtherSimulatorsBesideOurs) {
  const std::string text = PrintSpeedMarkdown(Results());
  EXPECT_THAT(text, HasSubstr("| 10.0 k ops/s | 500 k ops/s | 50 | 1.0e-09 |"));
  EXPECT_THAT(text, HasSubstr("| 10.0 k ops/s | 1.0 M ops/s | 100 | other rules |"));
}

TEST(SpeedReport, ScalesInOrderOfSize) {
  const SpeedResults results = Results();
  EXPECT_THAT(PrintSpeedMarkdown(results), Not(HasSubstr("scaling/")));
  EXPECT_THAT(PrintScalingHtml(results), HasSubstr("Time of an evaluation by devices"));
  EXPECT_THAT(PrintScalingHtml(results), Not(HasSubstr("Time of an evaluation by edges")));
  EXPECT_THAT(PrintSpeedCsv(results), HasSubstr("\nscaling/devices/published/8,10000,20000,8,1,1e+07,,,\n"));
}

TEST(SpeedReport, RefusesOtherFiles) {
  SpeedResults results;
  EXPECT_THROW(AddBenchmarks(results, kComparison, "c.json"), InputError);
  EXPECT_THROW(AddComparison(results, kBenchmarks, "b.json"), InputError);
  EXPECT_THROW(AddBenchmarks(results, "x", "x.json"), InputError);
}

}  // namespace
}  // namespace stowplan::bench
