#include "profiler/probes.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "profiler/probe_rows.h"
#include "profiler/statistics.h"
#include "sim/base/statistics.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

TEST(Probes, HaveNamesRowsAndMeanings) {
  std::set<std::string> names;
  for (const Probe& probe : Probes()) {
    EXPECT_TRUE(names.insert(probe.name).second) << probe.name;
    EXPECT_GT(std::string(probe.meaning).size(), 40u) << probe.name;
    EXPECT_EQ(FindProbe(probe.name), &probe);
  }
  EXPECT_EQ(FindProbe("nothing"), nullptr);
}

TEST(Probes, CasesAreDistinctAndHaveWork) {
  for (const Probe& probe : Probes()) {
    if (probe.cases == nullptr) continue;
    std::set<std::string> seen;
    for (const OpCase& one : probe.cases()) {
      std::string key = one.op + one.phase + one.format;
      for (const auto& [name, value] : one.shape) {
        EXPECT_GT(value, 0);
        key += " " + name + std::to_string(value);
      }
      EXPECT_TRUE(seen.insert(key).second) << key;
      EXPECT_GT(one.bytes, 0) << key;
      EXPECT_LT(one.bytes, sim::Bytes{1} << 32) << key;
    }
  }
}

TEST(Probes, WorkOfKnownSizesIsRight) {
  const OpCase gemm = FindProbe("gemm")->cases().front();
  EXPECT_EQ(gemm.flops, 2.0 * 64 * 64 * 64);
  EXPECT_EQ(gemm.bytes, 3 * 64 * 64 * 4);
  for (const OpCase& one : FindProbe("conv2d")->cases()) {
    if (one.dim("in") != 3 || one.dim("batch") != 32 || one.format != "bf16") continue;
    // ResNet's first layer: 118,013,952 multiply-adds an image.
    EXPECT_EQ(one.flops, 2.0 * 32 * 118'013'952);
  }
}

TEST(Probes, AQuickRunTriesEveryWayTwice) {
  for (const Probe& probe : Probes()) {
    if (probe.cases == nullptr) continue;
    std::set<std::string> all, kept;
    for (const OpCase& one : probe.cases()) all.insert(one.op + one.phase + one.format);
    const std::vector<OpCase> thinned = CasesToMeasure(probe.cases(), true);
    for (const OpCase& one : thinned) kept.insert(one.op + one.phase + one.format);
    EXPECT_EQ(all, kept);
    EXPECT_LE(thinned.size(), 2 * all.size());
  }
}

std::vector<std::int64_t> SizesOf(const std::vector<OpCase>& cases, std::string_view format,
                                  std::size_t most) {
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < std::min(most, cases.size()); ++i)
    if (cases[i].op == "add" && cases[i].format == format) sizes.push_back(cases[i].dim("elements"));
  return sizes;
}

TEST(Probes, AreMeasuredInAnOrderThatMayEndAnywhere) {
  for (const Probe& probe : Probes()) {
    if (probe.cases == nullptr) continue;
    const std::vector<OpCase> all = probe.cases(), ordered = CasesToMeasure(all, false);
    std::set<std::string> ways, first;
    std::multiset<double> before, after;
    for (const OpCase& one : all) ways.insert(one.op + one.phase + one.format), before.insert(one.flops);
    for (const OpCase& one : ordered) after.insert(one.flops);
    for (std::size_t i = 0; i < ways.size(); ++i)
      first.insert(ordered[i].op + ordered[i].phase + ordered[i].format);
    EXPECT_EQ(ordered.size(), all.size()) << probe.name;
    EXPECT_EQ(before, after) << probe.name;
    EXPECT_EQ(first, ways) << probe.name;
  }
  // Of 2^8, 2^11 … 2^26: both ends, their middle, the middles of the halves.
  const std::vector<OpCase> sums = CasesToMeasure(FindProbe("elementwise")->cases(), false);
  EXPECT_EQ(SizesOf(sums, "bf16", sums.size()),
            (std::vector<std::int64_t>{1 << 8, 1 << 26, 1 << 17, 1 << 11, 1 << 20, 1 << 14, 1 << 23}));
  EXPECT_EQ(SizesOf(sums, "f32", 30).size(), 3u);
}

TEST(Repeat, TakesThreeSamplesOfWhatIsLongAndNoSecondWarmUp) {
  int calls = 0;
  const Timing nothing_left = {.warmups = 5, .least = 10, .most = 100, .seconds = 0};
  EXPECT_EQ(Repeat(nothing_left, [&] { return ++calls; }), (std::vector<double>{2, 3, 4}));
  calls = 0;
  const Timing endless = {.warmups = 2, .least = 1, .most = 4, .seconds = 1e6};
  EXPECT_EQ(Repeat(endless, [&] { return ++calls; }), (std::vector<double>{3, 4, 5, 6}));
}

TEST(MeasureRows, GoesOnBehindTheRowsThatThereAreUntilItIsStopped) {
  const auto number = [](std::size_t row) {
    return sim::Attributes{{"row", {static_cast<std::int64_t>(row)}}};
  };
  sim::Attribute::List rows;
  int asked = 0;
  MeasureOptions options{.rows = &rows, .go_on = [&] { return ++asked <= 2; }};
  EXPECT_EQ(MeasureRows(5, options, number).size(), 2u);
  EXPECT_EQ(rows.size(), 2u);
  options.go_on = nullptr;
  const sim::Attribute::List all = MeasureRows(5, options, number);
  EXPECT_EQ(all, MeasureRows(5, {}, number));
  EXPECT_EQ(rows, all);
  EXPECT_EQ(MeasureRows(5, options, [](std::size_t) -> sim::Attributes { throw RunError("asked again"); }),
            all);
}

TEST(Statistics, AreThoseOfThePythonRecorder) {
  EXPECT_EQ(Quantile({40, 10, 30, 20}, 0.5), 25);
  EXPECT_NEAR(Quantile({40, 10, 30, 20}, 0.05), 11.5, 1e-12);
  const sim::Attributes found = Summarise({10, 11, 12, 13, 1000});
  EXPECT_EQ(sim::FindNumber(found, "count"), 5);
  EXPECT_EQ(sim::FindNumber(found, "median_us"), 12);
  EXPECT_EQ(sim::FindNumber(found, "mad_us"), 1);
  EXPECT_EQ(sim::FindNumber(found, "min_us"), 10);
  EXPECT_EQ(*sim::FindAttribute(Summarise({1, 2}), "mad_us"), sim::Attribute{});
}

RC_GTEST_PROP(Statistics, QuantilesLieBetweenTheSamples, ()) {
  const auto samples = *rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(
      rc::gen::map(rc::gen::inRange(0, 100000), [](int value) { return value / 7.0; })));
  const double low = Quantile(samples, 0.05), middle = Quantile(samples, 0.5), high = Quantile(samples, 0.95);
  RC_ASSERT(Quantile(samples, 0) <= low && low <= middle && middle <= high && high <= Quantile(samples, 1));
}

}  // namespace
}  // namespace stowplan::profiler
