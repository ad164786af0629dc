#include "cost_models/parameters/parameters.h"

#include "sim/formats/formats.h"
#include "tests/cost_models/testing.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

using testing::InputErrorOf;

const testing::OpCase kOp = {"Relu", 0, {{{10}}}, {{{10}}}, {}};

Parameters Parse(const std::string& text) {
  return ParseParameters(text, "p.json", BuiltinCatalogue());
}

std::string ErrorOf(const std::string& text) {
  return InputErrorOf([&] { Parse(text); });
}

// The example with the first occurrence of `from` replaced.
std::string With(const std::string& from, const std::string& to) {
  std::string text = PrintParameters(testing::ExampleParameters(kOp));
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " in " << text;
  return text.replace(at, from.size(), to);
}

TEST(Parameters, RoundTrip) {
  const std::string text = PrintParameters(testing::ExampleParameters(kOp));
  const Parameters read = Parse(text);
  EXPECT_EQ(PrintParameters(read), text);
  EXPECT_EQ(read.name, "example");
  EXPECT_EQ(read.source, "p.json");
  EXPECT_EQ(read.provenance.driver, "580.0");
  ASSERT_NE(read.Find("h200"), nullptr);
  EXPECT_EQ(read.Find("h200")->dispatch_us->value, 4.5);
  EXPECT_EQ(read.Find("h200")->curves.size(), 2u);
  EXPECT_EQ(read.Find("k40")->efficiency.at(OpClass::kGemm).value, 0.4);
  EXPECT_EQ(read.Find("k40")->efficiency.at(OpClass::kGemm).evidence.samples, 40);
  EXPECT_FALSE(read.Find("k40")->efficiency.at(OpClass::kConvolution).evidence.range.has_value());
  EXPECT_EQ(read.table.at(0).us, 12.5);
  EXPECT_EQ(read.Find("v100"), nullptr);
}

TEST(Parameters, FilesRoundTripCompressedToo) {
  const tests::TempFolder folder;
  for (const char* name : {"parameters.json", "parameters.json.zst"}) {
    const std::string path = folder / name;
    WriteParameters(path, testing::ExampleParameters(kOp));
    EXPECT_EQ(PrintParameters(ReadParameters(path, BuiltinCatalogue())),
              PrintParameters(testing::ExampleParameters(kOp)));
  }
}

TEST(Parameters, ADoubleSurvivesExactly) {
  Parameters parameters = testing::ExampleParameters(kOp);
  parameters.table[0].us = parameters.table[0].low_us = 0.1 + 0.2;
  EXPECT_EQ(Parse(PrintParameters(parameters)).table[0].us, 0.1 + 0.2);
}

TEST(Parameters, EveryFittedNumberNeedsItsEvidence) {
  EXPECT_THAT(ErrorOf(With("\"samples\":40,\"spread\":0.01,", "\"spread\":0.01,")), HasSubstr("samples"));
  EXPECT_THAT(ErrorOf(With("\"spread\":0.01,", "")), HasSubstr("spread"));
  EXPECT_THAT(ErrorOf(With(",\"fit_error\":0.05", "")), HasSubstr("fit_error"));
  EXPECT_THAT(ErrorOf(With("\"samples\":40", "\"samples\":0")), HasSubstr("samples"));
  EXPECT_THAT(ErrorOf(With("[1000.0,1000000000000.0]", "[1000.0]")), HasSubstr("range"));
  EXPECT_THAT(ErrorOf(With("[1000.0,1000000000000.0]", "[3,2]")), HasSubstr("range"));
}

TEST(Parameters, ProvenanceIsRequired) {
  for (const char* key : {"machine", "driver", "library", "date", "commit"}) {
    const std::string quoted = std::string("\"") + key + "\":";
    EXPECT_THAT(ErrorOf(With(quoted, "\"command\":\"x\",\"x_" + std::string(key) + "\":")),
                HasSubstr("p.json"))
        << key;
    const std::string text = PrintParameters(testing::ExampleParameters(kOp));
    const auto at = text.find(quoted) + quoted.size();
    const auto end = text.find('"', at + 1) + 1;
    EXPECT_THAT(ErrorOf(std::string(text).replace(at, end - at, "\"\"")), HasSubstr(key)) << key;
  }
  EXPECT_THAT(ErrorOf(With("2026-11-20", "yesterday")), HasSubstr("2026-11-20"));
}

TEST(Parameters, UnknownKindsClassesAndKeysAreRefused) {
  EXPECT_THAT(ErrorOf(With("{\"kind\":\"k40\"", "{\"kind\":\"k41\"")), HasSubstr("'k41'"));
  EXPECT_THAT(ErrorOf(With("{\"kind\":\"h200\",\"signature\"", "{\"kind\":\"h201\",\"signature\"")),
              HasSubstr("'h201'"));
  EXPECT_THAT(ErrorOf(With("\"gemm\":{", "\"gem\":{")), HasSubstr("'gem'"));
  EXPECT_THAT(ErrorOf(With("\"class\":\"gemm\"", "\"class\":\"nothing\"")), HasSubstr("'nothing'"));
  EXPECT_THAT(ErrorOf(With("\"low_us\"", "\"lower_us\"")), HasSubstr("lower_us"));
  EXPECT_THAT(ErrorOf(With("\"name\"", "\"title\"")), HasSubstr("title"));
}

TEST(Parameters, NothingIsGivenTwice) {
  EXPECT_THAT(ErrorOf(With("{\"kind\":\"k40\"", "{\"kind\":\"h200\"")), HasSubstr("second time"));
  EXPECT_THAT(ErrorOf(With("\"class\":\"elementwise\"", "\"class\":\"gemm\"")), HasSubstr("second curve"));
  const std::string text = PrintParameters(testing::ExampleParameters(kOp));
  const auto at = text.find("{\"kind\":\"h200\",\"signature\"");
  const std::string entry = text.substr(at, text.find('}', at) + 1 - at);
  EXPECT_THAT(ErrorOf(std::string(text).insert(at, entry + ",")), HasSubstr("second time"));
}

TEST(Parameters, NumbersOutOfRangeAreRefused) {
  EXPECT_THAT(ErrorOf(With("\"value\":0.4", "\"value\":0")), HasSubstr("value"));
  EXPECT_THAT(ErrorOf(With("\"value\":0.4", "\"value\":2.5")), HasSubstr("value"));
  EXPECT_THAT(ErrorOf(With("\"value\":0.4", "\"value\":NaN")), HasSubstr("p.json"));
  EXPECT_THAT(ErrorOf(With("\"value_us\":4.5", "\"value_us\":-1")), HasSubstr("value_us"));
  EXPECT_THAT(ErrorOf(With("\"us\":12.5", "\"us\":1e13")), HasSubstr("us"));
  EXPECT_THAT(ErrorOf(With("\"low_us\":12", "\"low_us\":13")), HasSubstr("low_us"));
  EXPECT_THAT(ErrorOf(With("\"high_us\":14", "\"high_us\":11")), HasSubstr("high_us"));
  EXPECT_THAT(ErrorOf(With("\"low_ratio\":0.9", "\"low_ratio\":1.1")), HasSubstr("low_ratio"));
}

TEST(Parameters, CurvesRise) {
  EXPECT_THAT(ErrorOf(With("\"measured_us\":1100", "\"measured_us\":11")), HasSubstr("knots[1]"));
  EXPECT_THAT(ErrorOf(With("\"structural_us\":1000.0", "\"structural_us\":10")), HasSubstr("knots[1]"));
  Parameters one_knot = testing::ExampleParameters(kOp);
  one_knot.kinds[0].curves[0].knots.resize(1);
  EXPECT_THAT(ErrorOf(PrintParameters(one_knot)), HasSubstr("two knots"));
  Parameters no_model = testing::ExampleParameters(kOp);
  no_model.kinds[0].structural.clear();
  EXPECT_THAT(ErrorOf(PrintParameters(no_model)), HasSubstr("structural"));
  no_model.kinds[1].structural = "0123";
  no_model.kinds[0].curves.clear();
  EXPECT_THAT(ErrorOf(PrintParameters(no_model)), HasSubstr("no curves"));
}

TEST(Parameters, OtherFilesAreRefused) {
  EXPECT_THAT(ErrorOf(With("stowplan.cost_model", "stowplan.graph")), HasSubstr("stowplan.cost_model"));
  EXPECT_THAT(ErrorOf(With("\"version\": 1", "\"version\": 2")), HasSubstr("version"));
  const std::string text = PrintParameters(testing::ExampleParameters(kOp));
  for (std::size_t length = 0; length + 2 < text.size(); length += 7) {  // the text ends in "}\n"
    EXPECT_THAT(ErrorOf(text.substr(0, length)), HasSubstr("p.json")) << length;
  }
}

TEST(Parameters, RatesAndLinksAreChecked) {
  EXPECT_THAT(ErrorOf(With("\"rates\":[1.0", "\"rates\":[0.9")), HasSubstr("must begin with 1"));
  EXPECT_THAT(ErrorOf(With("\"rates\":[1.0,0.6", "\"rates\":[1.0,1.6")), HasSubstr("rates[1] must be a"));
  EXPECT_THAT(ErrorOf(With("{\"bytes\":0,", "{\"bytes\":4,")), HasSubstr("knots[0] must be at 0 bytes"));
  EXPECT_THAT(
      ErrorOf(With("{\"bytes\":1048576,\"us\":22.5", "{\"bytes\":1048576,\"us\":2.0")),
      HasSubstr("knots[1] must be at 0 bytes, or have more bytes than the knot before it and no less time"));
  EXPECT_THAT(ErrorOf(With("h200-pinned", "pcie4-x16")), HasSubstr("is 'pcie4-x16', a link kind of the"));
  Parameters twice = testing::ExampleParameters(kOp);
  twice.links.push_back(twice.links.front());
  EXPECT_THAT(ErrorOf(PrintParameters(twice)), HasSubstr("is about 'h200-pinned' a second time"));
  twice = testing::ExampleParameters(kOp);
  twice.kinds[0].curves[1].op_class = OpClass::kGemm;
  EXPECT_THAT(ErrorOf(PrintParameters(twice)), HasSubstr("is a second curve of its class and dtype"));
  twice.kinds[0].curves[1].dtype = "bf16";
  EXPECT_EQ(Parse(PrintParameters(twice)).Find("h200")->curves[1].dtype, "bf16");
}

sim::Cluster ClusterWith(const std::string& device, const std::string& link) {
  const auto parameters = std::make_shared<const Parameters>(testing::ExampleParameters(kOp));
  const auto catalogue = CalibratedCatalogue({parameters}, BuiltinCatalogue());
  return formats::ParseCluster(
      "format: stowplan.cluster\nversion: 1\nname: box\ndispatch: {cost: auto}\ndevices:\n"
      "  - {name: c, kind: cpu-broadwell, memory: 1GiB}\n"
      "  - {name: k, kind: k40}\n  - {name: g, kind: h200" +
          device + "}\nlinks:\n  - {name: l, ends: [c, g], kind: " + link +
          "}\n  - {name: m, ends: [c, k], kind: pcie3-x16}\n",
      "box.yaml", *catalogue);
}

TEST(CalibratedCatalogue, ClustersTakeWhatWasMeasured) {
  const sim::Cluster cluster =
      ClusterWith(", streams: 2, concurrency: auto, overlap_copy: auto", "h200-pinned");
  EXPECT_EQ(cluster.devices[2].launch_cost, 4'500'000);
  EXPECT_EQ(cluster.devices[1].launch_cost, testing::DeviceOf("k40").launch_cost);  // no dispatch in the file
  EXPECT_EQ(cluster.devices[2].concurrency_ppm, (std::vector<std::int64_t>{1'000'000, 600'000}));
  EXPECT_EQ(cluster.devices[2].overlap_copy_ppm, 900'000);
  EXPECT_EQ(cluster.links[0].bandwidth, 52'000'000'000);
  EXPECT_EQ(cluster.links[0].both_ppm, 780'000);
  EXPECT_EQ(sim::LoneTime(cluster.links[0], 0), 2'500'000);
  EXPECT_EQ(sim::LoneTime(cluster.links[0], 1 << 19), 12'500'000);
  // One stream has one rate; what nobody asks for stays as it is.
  EXPECT_EQ(ClusterWith(", concurrency: auto", "h200-pinned").devices[2].concurrency_ppm.size(), 1u);
  EXPECT_TRUE(ClusterWith("", "h200-pinned").devices[2].concurrency_ppm.empty());
  EXPECT_EQ(ClusterWith("", "h200-pinned").devices[2].overlap_copy_ppm, sim::kPpm);
}

TEST(CalibratedCatalogue, WhatWasNotMeasuredIsRefused) {
  const auto parse = [](const std::string& rest) {
    formats::ParseCluster(
        "format: stowplan.cluster\nversion: 1\nname: box\ndevices:\n  - {name: g, kind: k40" + rest + "}\n",
        "box.yaml", BuiltinCatalogue());
  };
  EXPECT_THAT(InputErrorOf([&] { parse(", concurrency: auto"); }),
              HasSubstr("box.yaml:5: devices[0].concurrency is auto, but it was not measured for"));
  EXPECT_THAT(InputErrorOf([&] { parse(", overlap_copy: auto"); }), HasSubstr("overlap_copy is auto"));
  EXPECT_THAT(InputErrorOf([] { ClusterWith("", "h200-pageable"); }), HasSubstr("h200-pinned"));
}

TEST(StructuralFingerprint, TellsKindsApart) {
  const auto of = [](const char* kind) { return StructuralFingerprint(BuiltinCatalogue(), kind); };
  EXPECT_EQ(of("k40"), of("k40"));
  EXPECT_NE(of("k40"), of("k80"));
  EXPECT_NE(of("h100"), of("h200"));
  EXPECT_EQ(of("k40").size(), 16u);
}

}  // namespace
}  // namespace stowplan::cost_models
