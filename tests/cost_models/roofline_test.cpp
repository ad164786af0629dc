#include "cost_models/ops/roofline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/cost_models/testing.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

constexpr double kTight = 1e-12;  // relative: a handful of roundings

double Micros(const OpWork& work, const std::string& kind, const RooflineOptions& options = {}) {
  const Catalogue& catalogue = BuiltinCatalogue();
  const DeviceSheet& sheet = *catalogue.FindSheet(kind);
  return RooflineMicros(work, sheet, DefaultEfficiency(catalogue, sheet.kind.device_class), catalogue.Tiles(),
                        options);
}

OpWork ElementwiseOf(double bytes) {
  return {OpClass::kElementwise, 0, bytes, "f32", std::nullopt};
}

OpWork GemmOf(double rows, double columns, double depth, std::string_view dtype = "f32") {
  return {OpClass::kGemm, 2 * rows * columns * depth, 0, dtype, MatrixProduct{1, rows, columns, depth}};
}

// 32 MB at 0.75 of 288 GB/s, 2 us of ramp, 3 us of kernel.
TEST(Roofline, MemoryBoundOnAnAccelerator) {
  const double expected = 32e6 / (0.75 * 288e9) * 1e6 + 2 + 3;
  EXPECT_NEAR(Micros(ElementwiseOf(32e6), "k40"), expected, kTight * expected);
}

// As PyTorch has it by default: convolutions on TF32 units, products not; what the op says comes first.
TEST(Roofline, Tf32IsOfConvolutionsUnlessTheOpSaysOtherwise) {
  const DeviceSheet& a100 = *BuiltinCatalogue().FindSheet("a100");
  OpWork product = GemmOf(108 * 128, 128, 4096);
  OpWork convolution = product;
  convolution.op_class = OpClass::kConvolution;
  const RooflineOptions defaults{.tf32 = Convolutions()};
  const double f32 = Micros(product, "a100", defaults), tf32 = Micros(convolution, "a100", defaults);
  EXPECT_GT(f32, product.flops / a100.peak_f32 * 1e6);
  EXPECT_LT(tf32, product.flops / a100.peak_f32 * 1e6);
  product.tf32 = true;
  convolution.tf32 = false;
  EXPECT_LT(Micros(product, "a100", defaults), product.flops / a100.peak_f32 * 1e6);
  EXPECT_GT(Micros(convolution, "a100", defaults), product.flops / a100.peak_f32 * 1e6);
}

// Cards before compute capability 8.0 have tensor cores for f16 and none for bf16.
TEST(Roofline, Bf16IsF32WhereACardHasNoUnitsForIt) {
  const Catalogue& catalogue = BuiltinCatalogue();
  for (const char* kind : {"t4", "v100", "v100-pcie", "p100", "p100-12gb", "p100-pcie-16gb", "p4"}) {
    const DeviceSheet& sheet = *catalogue.FindSheet(kind);
    EXPECT_EQ(PeakOf(sheet, "bf16", false), sheet.peak_f32) << kind;
  }
  for (const char* kind : {"a100", "h100", "rtx3090", "l4", "b200", "mi300x"}) {
    const DeviceSheet& sheet = *catalogue.FindSheet(kind);
    EXPECT_EQ(PeakOf(sheet, "bf16", false), sheet.peak_f16) << kind;
  }
}

// A kernel whose bytes take as long as the ramp runs at half of its class's efficiency.
TEST(Roofline, EfficiencySaturatesWithSize) {
  const double rate = 0.75 * 288e9 * 1e-6;  // B/us
  const double half = rate * 2;             // ramp of 2 us
  EXPECT_NEAR(Micros(ElementwiseOf(half), "k40") - 3, 2 * half / rate, 1e-9);
}

// 15 tiles of 128 x 128 on 15 multiprocessors: one full wave, so all of 0.7 x 4.29 TFLOP/s.
TEST(Roofline, AFullWaveReachesTheClassesEfficiency) {
  const OpWork work = GemmOf(15 * 128, 128, 1000);
  const double expected = work.flops / (0.7 * 4.29e12) * 1e6 + 3;
  EXPECT_NEAR(Micros(work, "k40"), expected, kTight * expected);
}

TEST(Roofline, ARaggedWaveCostsMoreThanItsShare) {
  const double full = Micros(GemmOf(15 * 128, 128, 1000), "k40") - 3;
  const double ragged = Micros(GemmOf(15 * 128 + 1, 128, 1000), "k40") - 3;
  EXPECT_GT(ragged, full * 1.1);
  EXPECT_LE(ragged, full * 2);
}

// One tile of 32 x 32, 1000 deep, has one multiprocessor of 132. Whole: 2 x 32 x 32 x 1000 flops at
// 0.7 x 66.9 TFLOP/s / 132 x 0.5 = 11.55 us. Split in 32, the least depth of 32 each: a thirty-second part,
// 0.370 us with depth 32 for 31.25, and 32 x 32 x 32 x 8 B of parts at 0.75 x 3.35 TB/s, 0.104 us. The memory
// side, at the ramp of 1 us, is above both.
TEST(Roofline, DeepSmallProductsAreSplit) {
  EXPECT_NEAR(Micros(GemmOf(32, 32, 1000), "h100"), 2 + 1, kTight);
  // 100 times as deep: 37.0 us would be whole; split in 32: 1155 / 32 = 36.1 us and the same parts.
  const double rate = 0.7 * 66.9e12 * 1e-6 / 132 * 0.5;
  const double expected = 2 * 32 * 32 * 1e5 / 32 / rate + 32 * 32 * 32 * 8 / (0.75 * 3.35e12 * 1e-6);
  EXPECT_NEAR(Micros(GemmOf(32, 32, 1e5), "h100"), expected + 2, 1e-9 * expected);
}

TEST(Roofline, WithoutWavesArithmeticIsFlopsOverRate) {
  const OpWork work = GemmOf(15 * 128 + 1, 128, 1000);
  const double expected = work.flops / (0.7 * 4.29e12) * 1e6 + 2 + 3;
  EXPECT_NEAR(Micros(work, "k40", {.waves = false}), expected, kTight * expected);
}

TEST(Roofline, NumberFormatsHaveTheirPeaks) {
  // 132 tiles, 10,000 deep: one wave at 0.7 of each peak; no memory in the way.
  const auto rate = [](std::string_view dtype, bool tf32) {
    const OpWork work = GemmOf(132 * 128, 128, 10'000, dtype);
    return work.flops /
           (Micros(work, "h100", {.waves = true, .tf32 = tf32 ? AllContractions() : Tf32Classes()}) - 2) *
           1e6 / 0.7;
  };
  EXPECT_NEAR(rate("f32", false) / 66.9e12, 1, 1e-9);
  EXPECT_NEAR(rate("f32", true) / 494.7e12, 1, 1e-9);
  EXPECT_NEAR(rate("f16", true) / 989.4e12, 1, 1e-9);
  EXPECT_NEAR(rate("bf16", false) / 989.4e12, 1, 1e-9);
  EXPECT_NEAR(rate("f64", true) / 33.5e12, 1, 1e-9);
  // Kepler computes halves in f32 and has no TF32.
  EXPECT_EQ(Micros(GemmOf(1920, 128, 1000, "f16"), "k40"), Micros(GemmOf(1920, 128, 1000), "k40"));
  EXPECT_EQ(Micros(GemmOf(1920, 128, 1000), "k40", {.waves = true, .tf32 = AllContractions()}),
            Micros(GemmOf(1920, 128, 1000), "k40"));
}

// Small ops stay on one core and need no pool; large ones use all, after the pool has woken.
TEST(Roofline, CpusUseOneCoreOrAll) {
  EXPECT_NEAR(Micros(ElementwiseOf(1200), "cpu-haswell"), 1 + 1200 / (10e9 * 0.6) * 1e6, 1e-9);
  const double large = 1.2e9 / (68.3e9 * 0.6) * 1e6 + 5 + 1;
  EXPECT_NEAR(Micros(ElementwiseOf(1.2e9), "cpu-haswell"), large, kTight * large);
  OpWork gemm = GemmOf(1000, 1000, 1000);
  const double all = 2e9 / (1324.8e9 * 0.5) * 1e6 + 5 + 1;
  EXPECT_NEAR(Micros(gemm, "cpu-haswell"), all, kTight * all);
  gemm.flops = 1e5;  // 1e5 / (1324.8 / 18 x 0.5 GFLOP/s) = 2.72 us on one core, less than the ramp
  EXPECT_NEAR(Micros(gemm, "cpu-haswell"), 1 + 1e5 * 18 / (1324.8e9 * 0.5) * 1e6, 1e-9);
}

TEST(Roofline, TheHigherSideOfTheRoofCounts) {
  OpWork work = {OpClass::kDepthwise, 0, 32e6, "f32", std::nullopt};
  const double memory = Micros(work, "k40");
  work.flops = 1;  // next to nothing
  EXPECT_EQ(Micros(work, "k40"), memory);
  work.flops = 1e10;  // at 0.05 of 4.29 TFLOP/s: 46.6 ms
  const double expected = 1e10 / (0.05 * 4.29e12) * 1e6 + 2 + 3;
  EXPECT_NEAR(Micros(work, "k40"), expected, kTight * expected);
}

TEST(Roofline, NothingTakesNoTime) {
  EXPECT_EQ(Micros({}, "k40"), 0);
}

// Waves only ever add to what the arithmetic needs at the class's efficiency.
RC_GTEST_PROP(RooflineProperties, NeverAboveThePeak, ()) {
  const auto side = [] { return static_cast<double>(*rc::gen::inRange(1, 5000)); };
  OpWork work = GemmOf(side(), side(), side());
  work.product->count = *rc::gen::inRange(1, 20);
  work.flops *= work.product->count;
  const double least = work.flops / (0.7 * 9.3e12) * 1e6 + 3;
  RC_ASSERT(Micros(work, "p100") >= least * (1 - 1e-9));
}

// More rows, more columns, more depth: never less time.
RC_GTEST_PROP(RooflineProperties, MonotoneInShape, ()) {
  double shape[3];
  for (double& side : shape) side = *rc::gen::inRange(1, 3000);
  const double before = Micros(GemmOf(shape[0], shape[1], shape[2]), "v100");
  shape[*rc::gen::inRange(0, 3)] += *rc::gen::inRange(1, 500);
  RC_ASSERT(Micros(GemmOf(shape[0], shape[1], shape[2]), "v100") >= before * (1 - 1e-12));
}

}  // namespace
}  // namespace stowplan::cost_models
