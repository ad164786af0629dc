// Tables of measured ops: what is read, what is refused, and left out.
#include "cost_models/calibration/rows_fit.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost_models/calibration/measured_rows.h"
#include "tests/cost_models/testing.h"

namespace stowplan::cost_models {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::InputErrorOf;

constexpr const char* kFacts =
    "# machine: made up\n# device: t4\n# library: none\n# date: 2026-11-22\n# source: a test\n# licence: "
    "MIT\n";

std::string Table(const std::string& lines) {
  return kFacts + lines;
}

// Products at `share` of the T4's peak behind 10 us of the host, whose floor is 20 us.
std::string Products(double share, const std::string& more = "") {
  std::string text = Table("op,dtype,rows,columns,depth,us\n");
  const DeviceSheet& sheet = *BuiltinCatalogue().FindSheet("t4");
  for (int rows = 8; rows <= 4096; rows *= 2) {
    for (int columns = 16; columns <= 4096; columns *= 2) {
      for (int depth = 16; depth <= 4096; depth *= 2) {
        const double least = 2.0 * rows * columns * depth / sheet.peak_f32 * 1e6;
        text += fmt::format("linear,f32,{},{},{},{}\n", rows, columns, depth,
                            std::max(20.0, 10 + (least + sheet.kernel_us) / share));
      }
    }
  }
  return text + more;
}

RowsFit FitOf(const std::string& csv, const std::string& only = "") {
  RowsFitOptions options;
  options.kinds.only = only;
  options.commit = "of a test";
  return FitRows({ParseMeasuredRows(csv, "rows.csv")}, options, BuiltinCatalogue());
}

TEST(MeasuredRowsTest, TheTemplateIsOne) {
  std::ifstream in(std::string(STOWPLAN_SOURCE_DIR) + "/cost_models/rows/template.csv");
  std::ostringstream text;
  text << in.rdbuf();
  const MeasuredRows rows = ParseMeasuredRows(text.str(), "template.csv");
  ASSERT_EQ(rows.rows.size(), 9u);
  EXPECT_EQ(rows.unreadable, 0);
  EXPECT_EQ(rows.rows[0].work.flops, 2.0 * 512 * 1024 * 4096);
  EXPECT_EQ(rows.rows[1].work.product->count, 96);
  EXPECT_EQ(rows.rows[2].work.product->rows, 8 * 56 * 56);  // stride 1, padding 1, kernel 3: the side stays
  EXPECT_EQ(rows.rows[6].work.bytes, 2.0 * 4 * 4096 * 1024);
}

TEST(MeasuredRowsTest, MillisecondsAreTimesToo) {
  EXPECT_EQ(ParseMeasuredRows(Table("op,dtype,rows,columns,ms\nsoftmax,f32,4,8,2\n"), "r").rows[0].us, 2000);
}

TEST(MeasuredRowsTest, RefusesWhatItCannotMean) {
  const auto error = [](const std::string& lines) {
    return InputErrorOf([&] { ParseMeasuredRows(Table(lines), "r.csv"); });
  };
  EXPECT_THAT(error("op,dtype,rows,us,ms\n"), HasSubstr("r.csv:7: must name one column of time"));
  EXPECT_THAT(error("op,dtype,rowz,us\n"), HasSubstr("'rowz' is no column of a table of rows"));
  EXPECT_THAT(error("op,dtype,us\nlinaer,f32,1\n"), HasSubstr("r.csv:8: 'linaer' is no op"));
  EXPECT_THAT(error("op,dtype,us\nlinear,f32\n"), HasSubstr("has 2 fields"));
  EXPECT_THAT(InputErrorOf([] { ParseMeasuredRows("op,dtype,us\n", "r.csv"); }),
              HasSubstr("does not say its machine"));
}

TEST(MeasuredRowsTest, TensorsAreAWholeNumber) {
  for (const char* wrong : {"0", "-1", "2.5"}) {
    EXPECT_THAT(InputErrorOf([&] {
                  ParseMeasuredRows(
                      Table(fmt::format("op,dtype,rows,columns,tensors,us\nsoftmax,f32,4,8,{},1\n", wrong)),
                      "r.csv");
                }),
                HasSubstr(fmt::format("r.csv:8: tensors is {}, but must be", wrong)));
  }
  EXPECT_EQ(ParseMeasuredRows(Table("op,dtype,rows,columns,tensors,us\nsoftmax,f32,4,8,,1\n"), "r")
                .rows[0]
                .work.bytes,
            2.0 * 4 * 32);
}

// A law with a step in it, a fifth of noise: a multiplicative one of up to 20 % each way that no fit can know.
TEST(RowsFitTest, FindsAKnownLawBehindNoise) {
  const DeviceSheet& sheet = *BuiltinCatalogue().FindSheet("t4");
  const auto law = [&](double rows, double columns, double depth) {
    const double least = 2.0 * rows * columns * depth / sheet.peak_f32 * 1e6;
    return 10 + (least + sheet.kernel_us) / (depth < 200 ? 0.3 : 0.6);
  };
  std::string text = Table("op,dtype,rows,columns,depth,us\n");
  std::uint32_t state = 1;
  for (int rows = 512; rows <= 8192; rows += 384) {
    for (int columns = 512; columns <= 4096; columns += 384) {
      for (const int depth : {64, 128, 192, 256, 512, 1024}) {
        state = state * 1664525 + 1013904223;
        const double noise = 1 + 0.2 * (2 * static_cast<double>(state >> 8) / (1 << 24) - 1);
        text +=
            fmt::format("linear,f32,{},{},{},{}\n", rows, columns, depth, law(rows, columns, depth) * noise);
      }
    }
  }
  for (int repeat = 0; repeat < 40; ++repeat) text += "linear,f32,8,8,8,20\n";
  const RowsFit fit = FitOf(text);
  ASSERT_EQ(fit.classes.size(), 1u);
  // The mean of the noise alone is 10 %.
  EXPECT_GT(fit.classes[0].held_out_error, 0.08);
  EXPECT_LT(fit.classes[0].held_out_error, 0.12);
  const RatioTables& tables = fit.parameters.kinds.at(0).tables.at(0);
  double sum = 0;
  int cases = 0;
  for (const int rows : {600, 2000, 7000}) {
    for (const int depth : {96, 160, 400, 800}) {
      OpWork work =
          ParseMeasuredRows(
              Table(fmt::format("op,dtype,rows,columns,depth,us\nlinear,f32,{},1500,{},1\n", rows, depth)),
              "r")
              .rows[0]
              .work;
      sum += std::abs(TablesMicros(tables, work, sheet) / (law(rows, 1500, depth) - 10) - 1);
      ++cases;
    }
  }
  EXPECT_LT(sum / cases, 0.06);  // of the law without its noise
}

// Powers at 0.4 of the memory's bandwidth, all else at 0.8.
TEST(RowsFitTest, WhatAnElementwiseOpComputesIsToldApart) {
  const DeviceSheet& sheet = *BuiltinCatalogue().FindSheet("t4");
  const auto law = [&](std::string_view name, double rows, double columns) {
    const double least = 2 * 4 * rows * columns / sheet.memory_bandwidth * 1e6;
    return (least + sheet.kernel_us) / (name == "pow" ? 0.4 : 0.8);
  };
  std::string text = Table("op,name,dtype,rows,columns,tensors,us\n");
  for (const char* name : {"pow", "relu", "unheard_of"}) {
    for (int rows = 512; rows <= 8192; rows += 256) {
      for (int columns = 512; columns <= 4096; columns += 512)
        text += fmt::format("elementwise,{},f32,{},{},2,{}\n", name, rows, columns,
                            10 + law(name, rows, columns));
    }
    for (int repeat = 0; repeat < 40; ++repeat) text += fmt::format("elementwise,{},f32,1,1,2,20\n", name);
  }
  const RowsFit fit = FitOf(text);
  ASSERT_EQ(fit.classes.size(), 1u);
  EXPECT_LT(fit.classes[0].held_out_error, 0.02);
  const auto priced = [&](const std::string& name, std::string_view type) {
    const std::string row = fmt::format("elementwise,{},f32,3000,1500,1\n", name);
    OpWork work = ParseMeasuredRows(Table("op,name,dtype,rows,columns,us\n" + row), "r").rows[0].work;
    EXPECT_EQ(work.type, name == "pow" ? "Pow" : "");
    work.type = type;  // of a graph
    return TablesMicros(fit.parameters.kinds.at(0).tables.at(0), work, sheet);
  };
  EXPECT_NEAR(priced("pow", "Pow") / law("pow", 3000, 1500), 1, 0.03);
  EXPECT_NEAR(priced("relu", "Relu") / law("relu", 3000, 1500), 1, 0.03);
  EXPECT_EQ(priced("add", "Add"), priced("relu", "Relu"));
}

TEST(RowsFitTest, HoldsShapesOutWithAllTheirRowsInAnyOrder) {
  const std::string once = Products(0.5);
  const std::string lines = once.substr(once.find("\nlinear") + 1);
  const RowsFit one = FitOf(once), thrice = FitOf(once + lines + lines);
  EXPECT_EQ(thrice.classes.at(0).held_out, 3 * one.classes.at(0).held_out);
  const double share = static_cast<double>(one.classes[0].held_out) /
                       static_cast<double>(one.classes[0].rows - one.classes[0].hidden);
  EXPECT_GT(share, 0.1);
  EXPECT_LT(share, 0.3);
  // One row more in front moves none of the others.
  std::string shifted = once;
  shifted.insert(once.find("\nlinear") + 1, "linear,f32,8,16,16,20\n");
  EXPECT_EQ(FitOf(shifted).classes.at(0).held_out, one.classes[0].held_out);
}

// What the host adds is told by the other GPU's rows: with its own rows alone the error would be that of the tables.
TEST(RowsFitTest, AGpuLeftOutHasTheHostOfTheOthers) {
  const auto products = [](const char* kind, double host) {
    const DeviceSheet& sheet = *BuiltinCatalogue().FindSheet(kind);
    std::string text;
    for (int rows = 8; rows <= 4096; rows *= 2) {
      for (int columns = 16; columns <= 4096; columns *= 2) {
        for (int depth = 16; depth <= 4096; depth *= 2) {
          const double least = 2.0 * rows * columns * depth / sheet.peak_f32 * 1e6;
          text += fmt::format("linear,f32,{},{},{},{},{}\n", rows, columns, depth, kind,
                              std::max(2 * host, host + (least + sheet.kernel_us) / 0.5));
        }
      }
    }
    return text;
  };
  const auto error = [&](double host) {
    const std::string head = Table("op,dtype,rows,columns,depth,device,us\n");
    std::string csv = head + products("p4", 10) + products("t4", host);
    csv.erase(csv.find("# device: t4\n"), 13);
    const RowsFit fit = FitOf(csv);
    const auto t4 = std::ranges::find(fit.classes, "t4", &RowsClass::kind);
    return t4->left_out_error.value();
  };
  // The same law behind another host: rows of the GPU that is left out must not say so.
  EXPECT_GT(error(40), error(10) + 0.05);
}

// Of one op by a law of its own on each GPU, `share` of the bandwidth.
std::string Adds(const char* kind, double share) {
  const DeviceSheet& sheet = *BuiltinCatalogue().FindSheet(kind);
  std::string text;
  for (int rows = 64; rows <= 65536; rows *= 2) {
    for (int columns = 512; columns <= 8192; columns += 512) {
      const double least = 8.0 * rows * columns / sheet.memory_bandwidth * 1e6;
      text += fmt::format("elementwise,f32,{},{},{},{}\n", rows, columns, kind,
                          std::max(20.0, 10 + (least + sheet.kernel_us) / share));
    }
  }
  return text;
}

// A mean of all rows would be off by what is odd of one of them.
TEST(RowsFitTest, WhatMovesBytesOnAnUnknownGpuIsTheMedianOfTheKnown) {
  std::string csv = Table("op,dtype,rows,columns,device,us\n") + Adds("p4", 0.4) + Adds("t4", 0.4) +
                    Adds("p100-pcie-16gb", 0.4) + Adds("a100-pcie-40gb", 0.1);
  csv.erase(csv.find("# device: t4\n"), 13);
  const RowsFit fit = FitOf(csv);
  ASSERT_EQ(fit.parameters.any_gpu.size(), 1u);
  OpWork work;
  work.op_class = OpClass::kElementwise;
  work.dtype = "f32";
  work.elements = 4096.0 * 4096;
  work.bytes = 8 * work.elements;
  work.row = 4096;
  const DeviceSheet& sheet = *BuiltinCatalogue().FindSheet("h100");
  EXPECT_NEAR(TablesMicros(fit.parameters.any_gpu[0], work, sheet) /
                  (BoundMicros(work, sheet, sheet.kernel_us) / 0.4),
              1, 0.15);
}

TEST(RowsFitTest, WhatSaysLessThanTheSheetOfAGpuLeftOutIsLeftOut) {
  std::string csv = Table("op,dtype,rows,columns,device,us\n") + Adds("p4", 0.75) + Adds("t4", 0.5);
  csv.erase(csv.find("# device: t4\n"), 13);
  const RowsFit fit = FitOf(csv);
  EXPECT_EQ(fit.parameters.kinds.size(), 2u);
  EXPECT_TRUE(fit.parameters.any_gpu.empty());
}

// Times of the kernels alone: nothing is taken off, however small the op.
TEST(RowsFitTest, DeviceTimesHoldNoHost) {
  std::string csv = Table("op,dtype,rows,columns,depth,us\n");
  csv.insert(0, "# time: device\n");
  for (int rows = 16; rows <= 512; rows *= 2)
    for (int columns = 64; columns <= 512; columns += 64)
      for (int depth = 64; depth <= 256; depth *= 2)
        csv += fmt::format("linear,f32,{},{},{},5\n", rows, columns, depth);
  const RowsFit fit = FitOf(csv);
  ASSERT_EQ(fit.classes.size(), 1u);
  EXPECT_EQ(fit.classes[0].event_us, 0);
  EXPECT_EQ(fit.classes[0].hidden, 0);
  EXPECT_LT(*fit.classes[0].held_out_error, 0.02);
}

// Of shapes below the floor one in five is held out: their rows move it but for those.
TEST(RowsFitTest, RowsHeldOutSayNothingOfTheHost) {
  std::set<double> said;
  for (int rows = 9; rows < 40 && said.size() < 2; ++rows) {
    std::string more;
    for (int i = 0; i < 40; ++i) more += fmt::format("linear,f32,{},17,17,12\n", rows);
    said.insert(FitOf(Products(0.5, more)).classes.at(0).floor_us);
  }
  EXPECT_THAT(said, ::testing::ElementsAre(12, 20));
}

TEST(RowsFitTest, AnErrorThatNoRowTellsIsNone) {
  const RowsFit fit = FitOf(Products(0.5));
  ASSERT_EQ(fit.classes.size(), 1u);
  EXPECT_FALSE(fit.classes[0].left_out_error);
  const std::string csv = PrintRowsFitCsv(fit);
  const std::string line = csv.substr(csv.find("t4,gemm"));
  // …,largest,gpu_left_out,structural,roofline: the one of a GPU left out is empty.
  EXPECT_THAT(line, ::testing::ContainsRegex(",0[.][0-9]+,,0[.][0-9]+,0[.][0-9]+\n"));
  EXPECT_THAT(PrintRowsFit(fit), HasSubstr(" -\n"));
}

TEST(RowsFitTest, SaysWhichRowsItLeavesOut) {
  const RowsFit fit = FitOf(Products(0.5,
                                     "linear,f32,4000,4000,4000,1\n"      // a thousand times the peak
                                     "linear,f32,3000,3000,3000,90000\n"  // and again, three times faster
                                     "linear,f32,3000,3000,3000,30000\n"
                                     "linear,f32,3000,3000,3000,-5\n"
                                     "linear,f32,0,3000,3000,5\n"));
  EXPECT_THAT(fit.left_out, Contains(HasSubstr("t4: left out 1 row faster than the peak")));
  EXPECT_THAT(fit.left_out, Contains(HasSubstr("t4: left out 2 rows of shapes whose times disagree")));
  EXPECT_THAT(fit.left_out,
              Contains(HasSubstr("t4: left out 2 rows whose time or dimensions are no positive")));
}

TEST(RowsFitTest, RowsOfAnotherGpuAreLeftOutAndUnknownOnesRefused) {
  EXPECT_THAT(InputErrorOf([] { FitOf(Products(0.5), "p4"); }),
              ::testing::ContainsRegex("no row that can be used; t4: left out [0-9]+ rows .*p4"));
  EXPECT_THAT(InputErrorOf([] { FitOf(Table("op,dtype,device,rows,columns,us\nsoftmax,f32,t5,4,8,2\n")); }),
              HasSubstr("rows.csv:8: the device 't5' is no kind of the catalogue"));
}

}  // namespace
}  // namespace stowplan::cost_models
