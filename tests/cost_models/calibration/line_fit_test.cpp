#include "cost_models/calibration/line_fit.h"

#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

// Ops of one family at sizes of 4 KiB to 16 MiB, at what `line` says with a cache of 1 MiB.
std::vector<LineSample> SamplesOf(const CpuLine& line, sim::Bytes cache) {
  std::vector<LineSample> samples;
  for (int power = 12; power <= 24; ++power) {
    for (const double elements_per_byte : {0.125, 0.02}) {
      OpWork work;
      work.op_class = OpClass::kReduction;
      work.family = line.family;
      work.dtype = "f32";
      work.bytes = std::pow(2.0, power);
      work.elements = elements_per_byte * work.bytes;
      samples.push_back({work, LineMicros(line, cache, work), 0.01, power});
    }
  }
  return samples;
}

const CpuLine kPooling = {.family = "pooling",
                          .dtype = "f32",
                          .call_us = 0.8,
                          .us_per_mega_elements = 1500,
                          .us_per_mb = 40,
                          .far_us_per_mb = 60};
constexpr sim::Bytes kCache = sim::Bytes{1} << 20;

TEST(FitCpuLines, FindsThePlantedNumbersAgain) {
  const CpuLines fitted = FitCpuLines(SamplesOf(kPooling, kCache));
  ASSERT_THAT(fitted.lines, SizeIs(1));
  const CpuLine& line = fitted.lines[0];
  EXPECT_EQ(fitted.cache_bytes, kCache);
  EXPECT_EQ(line.family, "pooling");
  EXPECT_NEAR(line.call_us, kPooling.call_us, 0.02);
  EXPECT_NEAR(line.us_per_mega_elements / kPooling.us_per_mega_elements, 1, 0.02);
  EXPECT_NEAR(line.us_per_mb / kPooling.us_per_mb, 1, 0.05);
  EXPECT_NEAR(line.far_us_per_mb / kPooling.far_us_per_mb, 1, 0.05);
  EXPECT_EQ(line.us_per_mflop, 0);
  EXPECT_LT(line.evidence.fit_error, 0.05);
  EXPECT_EQ(line.evidence.samples, 26);
}

// Every seventh op took four times as long: half of the samples and more say what the line is.
TEST(FitCpuLines, OutliersMoveLittle) {
  std::vector<LineSample> samples = SamplesOf(kPooling, kCache);
  for (std::size_t i = 0; i < samples.size(); i += 7) samples[i].us *= 4;
  const CpuLines fitted = FitCpuLines(samples);
  for (const LineSample& sample : SamplesOf(kPooling, kCache))
    EXPECT_NEAR(LineMicros(fitted.lines[0], fitted.cache_bytes, sample.work) / sample.us, 1, 0.15);
}

TEST(FitCpuLines, FamiliesAndFormatsAreApartAndFewSamplesMakeNoLine) {
  std::vector<LineSample> samples = SamplesOf(kPooling, kCache);
  CpuLine other = kPooling;
  other.family = "softmax";
  other.us_per_mb = 400;
  std::vector<LineSample> more = SamplesOf(other, kCache);
  for (LineSample& sample : more) sample.work.dtype = "bf16";
  samples.insert(samples.end(), more.begin(), more.end());
  OpWork lone = more.front().work;
  lone.family = "gemm";
  for (int i = 0; i + 1 < static_cast<int>(kLeastLineSamples); ++i) samples.push_back({lone, 3.0 + i, 0, i});
  const CpuLines fitted = FitCpuLines(samples);
  EXPECT_THAT(fitted.lines, SizeIs(2));
  EXPECT_NE(fitted.Find(more.front().work), nullptr);
  EXPECT_EQ(fitted.Find(lone), nullptr);
  lone.family = "softmax";
  lone.dtype = "f16";
  EXPECT_EQ(fitted.Find(lone), nullptr);
}

// What is held out is predicted by the others; a group below 0 is always among them.
TEST(HeldOutLineMicros, LeavesWholeGroupsOut) {
  std::vector<LineSample> samples = SamplesOf(kPooling, kCache);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].group = i < 20 ? -1 : static_cast<int>(i) % 2;
  samples[21].us *= 10;  // seen by nobody that predicts it
  const std::vector<double> predicted = HeldOutLineMicros(samples, 2);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i < 20) {
      EXPECT_EQ(predicted[i], 0);
    } else {
      EXPECT_NEAR(predicted[i] / (i == 21 ? samples[i].us / 10 : samples[i].us), 1, 0.1) << i;
    }
  }
}

// Of large ops alone nothing is known of a call but that it is short.
TEST(FitCpuLines, ACallIsShort) {
  std::vector<LineSample> samples = SamplesOf(kPooling, kCache);
  std::erase_if(samples, [](const LineSample& sample) { return sample.work.bytes < 1 << 22; });
  for (LineSample& sample : samples) sample.us += 300;
  EXPECT_LE(FitCpuLines(samples).lines[0].call_us, 5);
}

}  // namespace
}  // namespace stowplan::cost_models
