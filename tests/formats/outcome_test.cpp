#include "sim/formats/formats.h"
#include "tests/formats/testing.h"
#include "tests/formats/worked_case.h"
#include "tests/testing.h"

namespace stowplan::formats {
namespace {

// Bytes are rounded up to 256: 1000000 -> 1000192; on gpu1 that copy, then 256 for the output and 256 of
// workspace.
TEST(PrintOutcome, HasTheKeysOfTheFormatInTheirOrder) {
  const WorkedCase worked;
  EXPECT_EQ(PrintOutcome(worked.Run(), *worked.problem, worked.placement, {.ops = true}),
            ReadText(SamplePath("outcome.json")));
}

TEST(PrintOutcome, OpsOnlyWhenAskedFor) {
  const WorkedCase worked;
  const std::string text =
      PrintOutcome(worked.Run(sim::RunOptions::Record::kNothing), *worked.problem, worked.placement);
  EXPECT_EQ(text.find("\"ops\""), std::string::npos);
}

// gpu0 needs 1000192 B from the start of a, which is more than 1 MB.
TEST(PrintOutcome, OutOfMemoryIsAResult) {
  const WorkedCase worked("", "1MB");
  EXPECT_EQ(PrintOutcome(worked.Run(), *worked.problem, worked.placement),
            ReadText(SamplePath("outcome_oom.json")));
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
}  // namespace stowplan::formats
