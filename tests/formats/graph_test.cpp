#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/formats/formats.h"
#include "tests/formats/testing.h"

namespace stowplan::formats {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

sim::OpGraph ParseOps(const std::string& ops) {
  return ParseGraph(R"({"format": "stowplan.graph", "version": 1, "name": "g", "ops": [)" + ops + "]}",
                    "g.json");
}
std::string ErrorOfOps(const std::string& ops) {
  return MessageOf([&] { ParseOps(ops); });
}

// An excerpt of a real graph, with the ops it reads added.
TEST(Graph, ReadsTheSample) {
  const sim::OpGraph graph = ReadGraph(SamplePath("graph.json"));
  EXPECT_EQ(graph.name, "inception_v3");
  EXPECT_EQ(FindNumber(graph.attributes, "batch"), 64);
  ASSERT_EQ(graph.size(), 5);
  const sim::Op& weights = graph.ops[0];
  EXPECT_EQ(weights.type, "Variable");
  EXPECT_EQ(weights.persistent_bytes, 10368);
  EXPECT_EQ(weights.outputs[0].storage, sim::Output::Storage::kPersistent);
  EXPECT_EQ(weights.outputs[0].shape, (std::vector<std::int64_t>{3, 3, 3, 32}));
  const sim::Op& conv = graph.ops[1];
  EXPECT_EQ(conv.inputs, (std::vector<sim::TensorRef>{{3, 0}, {0, 0}}));
  EXPECT_EQ(conv.control, (std::vector<sim::OpIndex>{4}));
  EXPECT_EQ(conv.outputs[0].bytes, 181870592);
  EXPECT_EQ(conv.flops, 1.2e9);
  EXPECT_EQ(conv.colocate, "stem");
  EXPECT_EQ(conv.group, "stem");
  EXPECT_EQ(conv.phase, "forward");
  EXPECT_EQ(conv.cost_us, 812.5);
  EXPECT_EQ(FindNumber(conv.attributes, "stage"), 0);
  const sim::Op& flatten = graph.ops[2];
  EXPECT_EQ(flatten.outputs[0].storage, sim::Output::Storage::kInput);
  EXPECT_EQ(flatten.outputs[0].alias, (sim::TensorRef{1, 0}));
  EXPECT_EQ(graph.ops[4].cost_us_by_kind,
            (std::vector<std::pair<std::string, double>>{{"k80", 3.5}, {"cpu", 9}}));
}

TEST(Graph, DefaultsAreEmptyAndZero) {
  const sim::OpGraph graph = ParseOps(R"({"name": "a", "type": "T", "outputs": [{}]})");
  const sim::Op& op = graph.ops[0];
  EXPECT_TRUE(op.inputs.empty() && op.control.empty() && op.attributes.empty());
  EXPECT_EQ(op.persistent_bytes + op.workspace_bytes + op.outputs[0].bytes, 0);
  EXPECT_EQ(op.flops, 0);
  EXPECT_EQ(op.framework_ops, 1);
  EXPECT_FALSE(op.cost_us.has_value());
  EXPECT_EQ(op.outputs[0].storage, sim::Output::Storage::kOwn);
}

TEST(Graph, WithoutANameIsNamedByItsFile) {
  const char* const text =
      R"({"format": "stowplan.graph", "version": 1, "ops": [{"name": "a", "type": "T"}]})";
  EXPECT_EQ(ParseGraph(text, "models/net.json.zst").name, "net");
}

TEST(Graph, OutputsAreNamedByTheDigitsBehindTheLastColon) {
  const sim::OpGraph graph = ParseOps(R"({"name": "a", "type": "T", "outputs": [{}, {}, {}]},
      {"name": "loc:b", "type": "T", "outputs": [{}, {}]}, {"name": "c:", "type": "T", "outputs": [{}]},
      {"name": "d", "type": "T", "inputs": ["a", "a:2", "loc:b", "loc:b:1", "c:", "c::0", "a:00"]})");
  EXPECT_EQ(graph.ops[3].inputs,
            (std::vector<sim::TensorRef>{{0, 0}, {0, 2}, {1, 0}, {1, 1}, {2, 0}, {2, 0}, {0, 0}}));
}

TEST(Graph, BytesOfAnOutputFollowFromItsFormatAndShape) {
  const auto output = [](const std::string& fields) {
    return R"({"name": "a", "type": "T", "outputs": [{)" + fields + "}]}";
  };
  const auto bytes = [&](const std::string& fields) {
    return ParseOps(output(fields)).ops[0].outputs[0].bytes;
  };
  EXPECT_EQ(bytes(R"("dtype": "f32", "shape": [32, 1024])"), 131'072);
  EXPECT_EQ(bytes(R"("dtype": "i4", "shape": [3])"), 2) << "whole bytes";
  EXPECT_EQ(bytes(R"("dtype": "f32", "shape": [])"), 4) << "a number";
  EXPECT_EQ(bytes(R"("dtype": "f32")"), 0) << "not known";
  EXPECT_EQ(bytes(R"("dtype": "f32", "shape": [2], "bytes": 16)"), 16) << "padded";
  EXPECT_EQ(ErrorOfOps(output(R"("bytes": 5, "dtype": "f32", "shape": [32, 1024])")),
            "g.json: ops[0].outputs[0].bytes are 5, but 32768 elements of f32 take 131072; leave them out to "
            "have these");
  EXPECT_EQ(ErrorOfOps(output(R"("dtype": "f64", "shape": [1125899906842624])")),
            "g.json: ops[0].outputs[0].shape takes more than 2^50 bytes");
  // A view travels with what it shows.
  const sim::OpGraph graph = ParseOps(
      output(R"("bytes": 8, "dtype": "f32", "shape": [2])") +
      R"(, {"name": "v", "type": "T", "inputs": ["a"], "outputs": [{"alias": "a:0", "bytes": 4, "dtype": "f32", "shape": [9]}]})");
  EXPECT_EQ(graph.ops[1].outputs[0].bytes, 4);
}

TEST(Graph, OpsMayStandInAnyOrder) {
  const sim::OpGraph graph =
      ParseOps(R"({"name": "late", "type": "T", "inputs": ["early"], "control": ["early"]},
                                      {"name": "early", "type": "T", "outputs": [{"bytes": 1}]})");
  EXPECT_EQ(graph.ops[0].name, "late");
  EXPECT_EQ(graph.topological_order(), (std::vector<sim::OpIndex>{1, 0}));
}

TEST(Graph, StorageOfOutputs) {
  using Storage = sim::Output::Storage;
  const sim::OpGraph graph = ParseOps(R"({"name": "v", "type": "Variable", "outputs": [{}, {"alias": null}]},
      {"name": "persistent", "type": "T", "outputs": [{}]},
      {"name": "x", "type": "T", "inputs": ["persistent"], "outputs": [{"alias": "persistent"}, {"alias": "persistent:0"}]})");
  EXPECT_EQ(graph.ops[0].outputs[0].storage, Storage::kPersistent);
  EXPECT_EQ(graph.ops[0].outputs[1].storage, Storage::kOwn);
  EXPECT_EQ(graph.ops[2].outputs[0].storage, Storage::kPersistent);
  EXPECT_EQ(graph.ops[2].outputs[1].storage, Storage::kInput);
}

TEST(Graph, WholeNumbersMayBeWrittenWithAnExponent) {
  EXPECT_EQ(ParseOps(R"({"name": "a", "type": "T", "persistent_bytes": 1e3})").ops[0].persistent_bytes, 1000);
  EXPECT_EQ(
      ErrorOfOps(R"({"name": "a", "type": "T", "persistent_bytes": 0.5})"),
      "g.json: ops[0].persistent_bytes must be a whole number between 0 and 1125899906842624, but is 0.5");
}

// A file holds a number or an object; every kind is a cpu or a gpu, so the classes can stand for the number.
TEST(Graph, BothCostsOfAnOpArePrintedAsOneObject) {
  sim::OpGraph graph;
  graph.ops.resize(1);
  graph.ops[0] = {.name = "a", .type = "T", .cost_us = 7, .cost_us_by_kind = {{"k80", 3}, {"cpu", 5}}};
  graph.Finish();
  const sim::OpGraph again = ParseGraph(PrintGraph(graph), "g.json");
  EXPECT_EQ(again.ops[0].cost_us_by_kind,
            (std::vector<std::pair<std::string, double>>{{"k80", 3}, {"cpu", 5}, {"gpu", 7}}));
}

TEST(Graph, PrintsOneOpALine) {
  const sim::OpGraph graph =
      ParseOps(R"({"name": "a", "type": "T", "outputs": [{"bytes": 4}], "cost_us": 0.1},
                                      {"name": "b", "type": "T", "inputs": ["a"], "attributes": {"x": [1, 2.0, null]}})");
  EXPECT_EQ(PrintGraph(graph),
            "{\"format\": \"stowplan.graph\", \"version\": 1, \"name\": \"g\",\n"
            " \"ops\": [\n"
            "  {\"name\": \"a\", \"type\": \"T\", \"outputs\": [{\"bytes\": 4}], \"cost_us\": 0.1},\n"
            "  {\"name\": \"b\", \"type\": \"T\", \"inputs\": [\"a:0\"], \"attributes\": {\"x\": [1, 2.0, "
            "null]}}]}\n");
}

// ---- what is refused ----------------------------------------------------------------------------

TEST(GraphRefuses, OtherFormatsAndVersions) {
  EXPECT_EQ(MessageOf([] { ParseGraph(R"({"format": "stowplan.placement", "version": 1})", "g.json"); }),
            "g.json: format is \"stowplan.placement\", but must be \"stowplan.graph\" here");
  EXPECT_EQ(
      MessageOf([] { ParseGraph(R"({"format": "stowplan.graph", "version": 2, "ops": []})", "g.json"); }),
      "g.json: version is 2, but this program knows stowplan.graph only up to version 1");
}

TEST(GraphRefuses, UnknownKeys) {
  EXPECT_EQ(ErrorOfOps(R"({"name": "a", "type": "T", "flop": 3})"),
            "g.json: ops[0].flop is not known here; the known keys are name, type, inputs, control, outputs, "
            "persistent_bytes, workspace_bytes, flops, framework_ops, colocate, group, phase, cost_us and "
            "attributes");
  EXPECT_EQ(
      ErrorOfOps(R"({"name": "a", "type": "T", "outputs": [{"size": 3}]})"),
      "g.json: ops[0].outputs[0].size is not known here; the known keys are bytes, dtype, shape and alias");
}

TEST(GraphRefuses, MissingAndWrongKinds) {
  EXPECT_EQ(ErrorOfOps(R"({"type": "T"})"), "g.json: ops[0] has no \"name\", which is required");
  EXPECT_EQ(ErrorOfOps(R"({"name": "a"})"), "g.json: ops[0] has no \"type\", which is required");
  EXPECT_EQ(ErrorOfOps(R"({"name": 3, "type": "T"})"), "g.json: ops[0].name must be text, but is 3");
  EXPECT_EQ(ErrorOfOps(R"({"name": "", "type": "T"})"),
            "g.json: ops[0].name must be a name: not empty, without control characters, but is \"\"");
  EXPECT_THAT(ErrorOfOps(R"({"name": "a\nb", "type": "T"})"), HasSubstr("without control characters"));
  EXPECT_EQ(ErrorOfOps("7"), "g.json: ops[0] must be an object, but is 7");
  EXPECT_EQ(ErrorOfOps(R"({"name": "a", "type": "T", "inputs": "b"})"),
            "g.json: ops[0].inputs must be a list, but is \"b\"");
  EXPECT_EQ(ErrorOfOps(R"({"name": "a", "type": "T", "phase": "sideways"})"),
            "g.json: ops[0].phase must be one of forward, backward and update, but is \"sideways\"");
  EXPECT_EQ(ErrorOfOps(R"({"name": "a", "type": "T", "attributes": []})"),
            "g.json: ops[0].attributes must be an object, but is a list");
  EXPECT_EQ(ErrorOfOps(R"({"name": "a", "type": "T", "cost_us": "5us"})"),
            "g.json: ops[0].cost_us must be a number of microseconds, or an object of such numbers by device "
            "kind or class");
}

TEST(GraphRefuses, NoOps) {
  EXPECT_EQ(ErrorOfOps(""), "g.json: ops must hold at least one op");
  EXPECT_EQ(MessageOf([] { sim::OpGraph().Finish(); }), "a graph needs at least one op");
}

// Cost models would price them as f32.
TEST(GraphRefuses, NumberFormatsThatNoCostModelKnows) {
  for (const std::string wrong : {"float32", "F32", "half", "nonsense", ""}) {
    EXPECT_EQ(
        ErrorOfOps(R"({"name": "a", "type": "T", "outputs": [{}, {"dtype": ")" + wrong + R"("}]})"),
        "g.json: ops[0].outputs[1].dtype must be one of f64, f32, f16, bf16, f8, f4, i64, i32, i16, i8, "
        "i4, u64, u32, u16, u8, u4 and bool, but is \"" +
            wrong + "\"");
  }
  EXPECT_EQ(ParseOps(R"({"name": "a", "type": "T", "outputs": [{"dtype": "bf16"}]})").ops[0].outputs[0].dtype,
            "bf16");
}

TEST(GraphRefuses, ControlCharactersInFreeText) {
  for (const char* key : {"colocate", "group"}) {
    EXPECT_EQ(
        ErrorOfOps(std::string(R"({"name": "a", "type": "T", ")") + key + R"(": "x\u0085y"})"),
        std::string("g.json: ops[0].") + key + " must be text without control characters, but is \"x?y\"");
  }
  EXPECT_THAT(ErrorOfOps(R"({"name": "a", "type": "T", "outputs": [{"dtype": "f\n32"}]})"),
              HasSubstr("dtype must be one of f64, f32, "));
  EXPECT_THAT(
      MessageOf([] { ParseGraph(R"({"format": "stowplan.graph", "version": 1, "name": "\t"})", "g.json"); }),
      StartsWith("g.json: name must be a name"));
}

TEST(GraphRefuses, PricesOfUnknownKindsWhereACatalogueIsGiven) {
  const std::string head =
      R"({"format": "stowplan.graph", "version": 1, "ops": [{"name": "a", "type": "T", "cost_us": )";
  const auto error = [&](const std::string& cost) {
    return MessageOf([&] { ParseGraph(head + cost + "}]}", "g.json", &SampleCatalogue()); });
  };
  EXPECT_EQ(
      error(R"({"gpu": 1, "gpu-b": 2})"),
      "g.json: ops[0].cost_us.gpu-b prices what is no device class or kind of the catalogue; those are cpu, "
      "gpu, cpu-a, cpu-bare, gpu-a and gpu-one");
  EXPECT_EQ(error("{}"),
            "g.json: ops[0].cost_us must price at least one device kind or class, or be left out");
  const auto good =
      ParseGraph(head + R"({"cpu": 1, "gpu": 2, "gpu-one": 3}}]})", "g.json", &SampleCatalogue());
  EXPECT_EQ(good.ops[0].cost_us_by_kind.size(), 3u);
}

TEST(GraphRefuses, DuplicateNames) {
  EXPECT_EQ(ErrorOfOps(R"({"name": "a", "type": "T"}, {"name": "a", "type": "U"})"),
            "g.json: ops[1].name is \"a\", as is ops[0].name; names must be unique");
}

TEST(GraphRefuses, NamesThatLookLikeOutputs) {
  EXPECT_EQ(ErrorOfOps(R"({"name": "a:0", "type": "T"})"),
            "g.json: ops[0].name is \"a:0\", but must not end in ':' and digits, which is how outputs are "
            "written; rename it");
}

TEST(GraphRefuses, DanglingNames) {
  EXPECT_EQ(ErrorOfOps(R"({"name": "a", "type": "T", "inputs": ["b:0"]})"),
            "g.json: ops[0].inputs[0] names the op \"b\", which is not in the graph");
  EXPECT_EQ(ErrorOfOps(R"({"name": "a", "type": "T", "control": ["b"]})"),
            "g.json: ops[0].control[0] names the op \"b\", which is not in the graph");
  EXPECT_EQ(
      ErrorOfOps(
          R"({"name": "a", "type": "T", "outputs": [{}]}, {"name": "b", "type": "T", "inputs": ["a:1"]})"),
      "g.json: ops[1].inputs[0] names output 1 of \"a\", which has 1 output");
  EXPECT_EQ(ErrorOfOps(R"({"name": "a", "type": "T", "inputs": ["a:99999999999"]})"),
            "g.json: ops[0].inputs[0] names output 99999999999, which no op has");
  EXPECT_EQ(
      ErrorOfOps(
          R"({"name": "a", "type": "T", "outputs": [{}, {"alias": "b"}]}, {"name": "b", "type": "T", "outputs": [{}]})"),
      "g.json: ops[0].outputs[1].alias is \"b\", but must be one of the op's inputs, \"persistent\" or null");
}

TEST(GraphRefuses, Cycles) {
  const char* const cycle = R"({"name": "a", "type": "T", "inputs": ["b"], "outputs": [{}]},
                               {"name": "b", "type": "T", "inputs": ["a"], "outputs": [{}]})";
  EXPECT_THAT(ErrorOfOps(cycle), StartsWith("g.json: the ops 'a' -> 'b' -> 'a' form a cycle"));
  EXPECT_THAT(ErrorOfOps(R"({"name": "a", "type": "T", "control": ["a"]})"),
              HasSubstr("the ops 'a' -> 'a' form a cycle"));
}

TEST(GraphRefuses, NegativeHugeAndNonFiniteNumbers) {
  EXPECT_EQ(
      ErrorOfOps(R"({"name": "a", "type": "T", "outputs": [{"bytes": -5}]})"),
      "g.json: ops[0].outputs[0].bytes must be a whole number between 0 and 1125899906842624, but is -5");
  EXPECT_EQ(
      ParseOps(R"({"name": "a", "type": "T", "workspace_bytes": 1125899906842624})").ops[0].workspace_bytes,
      sim::kMaxBytes);
  EXPECT_THAT(ErrorOfOps(R"({"name": "a", "type": "T", "workspace_bytes": 1125899906842625})"),
              HasSubstr("ops[0].workspace_bytes must be"));
  EXPECT_THAT(ErrorOfOps(R"({"name": "a", "type": "T", "workspace_bytes": 1e300})"),
              HasSubstr("ops[0].workspace_bytes must be"));
  EXPECT_EQ(ErrorOfOps(R"({"name": "a", "type": "T", "cost_us": 1.5e12})"),
            "g.json: ops[0].cost_us must be a number between 0 and 1000000000000, but is 1500000000000");
  EXPECT_EQ(ErrorOfOps(R"({"name": "a", "type": "T", "cost_us": {"k80": -1}})"),
            "g.json: ops[0].cost_us.k80 must be a number between 0 and 1000000000000, but is -1");
  EXPECT_THAT(ErrorOfOps(R"({"name": "a", "type": "T", "flops": -1})"),
              HasSubstr("ops[0].flops must be a number between"));
  EXPECT_THAT(ErrorOfOps(R"({"name": "a", "type": "T", "framework_ops": -1})"),
              HasSubstr("ops[0].framework_ops must be"));
  EXPECT_THAT(ErrorOfOps(R"({"name": "a", "type": "T", "flops": NaN})"), HasSubstr("is not valid JSON"));
  EXPECT_THAT(ErrorOfOps(R"({"name": "a", "type": "T", "flops": 1e400})"), HasSubstr("number overflow"));
  EXPECT_EQ(ErrorOfOps(R"({"name": "a", "type": "T", "outputs": [{"shape": [1048576, 1048576, 2048]}]})"),
            "g.json: ops[0].outputs[0].shape has more than 2^50 elements");
}

TEST(GraphRefuses, EveryTruncation) {
  const std::string whole = ReadText(SamplePath("graph.json"));
  const std::size_t end = whole.rfind('}');
  for (std::size_t size = 0; size <= end; ++size) {
    EXPECT_THAT(MessageOf([&] { ParseGraph(whole.substr(0, size), "g.json"); }), HasSubstr("is not valid"));
  }
}

}  // namespace
}  // namespace stowplan::formats
