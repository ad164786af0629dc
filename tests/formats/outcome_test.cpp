#include <gtest/gtest.h>

#include "sim/formats/formats.h"
#include "tests/formats/testing.h"
#include "tests/formats/worked_case.h"

namespace berth::formats {
namespace {

// Bytes are rounded up to 256: 1000000 -> 1000192; on gpu1 that copy, then 256 for the output and 256 of
// workspace.
TEST(PrintOutcome, HasTheKeysOfTheFormatInTheirOrder) {
  const WorkedCase worked;
  EXPECT_EQ(
      PrintOutcome(worked.Run(), *worked.problem, worked.placement, {.ops = true}),
      R"({"format": "berth.outcome", "version": 1, "graph": "two", "cluster": "pair", "preset": "native", "cost_model": "none",
 "feasible": true, "runtime_us": 125, "unlimited_runtime_us": 125, "oom": null,
 "devices": [
  {"name": "gpu0", "busy_us": 10, "peak_bytes": 1000192, "capacity_bytes": 1073741824},
  {"name": "gpu1", "busy_us": 10, "peak_bytes": 1000704, "capacity_bytes": 1073741824}],
 "links": [
  {"name": "wire", "busy_us": 105, "bytes": 1000000}],
 "ops": [
  {"name": "a", "device": "gpu0", "start_us": 0, "end_us": 10},
  {"name": "b c", "device": "gpu1", "start_us": 115, "end_us": 125}]}
)");
}

TEST(PrintOutcome, OpsOnlyWhenAskedFor) {
  const WorkedCase worked;
  const std::string text =
      PrintOutcome(worked.Run(sim::RunOptions::Record::kNothing), *worked.problem, worked.placement);
  EXPECT_EQ(text.find("\"ops\""), std::string::npos);
}

// gpu0 holds 1000192 B from the start of a; 1 MB is less than that, so a's output is the first that does not
// fit.
TEST(PrintOutcome, OutOfMemoryIsAResult) {
  const WorkedCase worked("", "1MB");
  const std::string text = PrintOutcome(worked.Run(), *worked.problem, worked.placement);
  EXPECT_NE(
      text.find(
          R"("feasible": false, "runtime_us": null, "unlimited_runtime_us": 125, "oom": {"device": "gpu0", "op": "a", )"
          R"("what": "output", "time_us": 0, "needed_bytes": 1000192, "capacity_bytes": 1000000},)"),
      std::string::npos)
      << text;
}

// Microseconds are exact: an op of a third of a microsecond takes 333333 ps.
TEST(PrintOutcome, TimesAreExact) {
  WorkedCase worked;
  sim::Outcome outcome = worked.Run();
  outcome.runtime = 1'234'567'890'123'456'789;
  outcome.devices[0].busy = 333'333;
  const std::string text = PrintOutcome(outcome, *worked.problem, worked.placement);
  EXPECT_NE(text.find("\"runtime_us\": 1234567890123.456789,"), std::string::npos);
  EXPECT_NE(text.find("\"busy_us\": 0.333333,"), std::string::npos);
}

}  // namespace
}  // namespace berth::formats
