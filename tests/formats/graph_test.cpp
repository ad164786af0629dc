#include "sim/formats/formats.h"
#include "tests/formats/testing.h"
#include "tests/testing.h"

namespace stowplan::formats {
namespace {

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

TEST(GraphRefuses, WithThePlace) {
  const auto other = [](const char* text) { return MessageOf([&] { ParseGraph(text, "g.json"); }); };
  EXPECT_THAT(other(R"({"format": "stowplan.placement", "version": 1})"), StartsWith("g.json: format is "));
  EXPECT_THAT(other(R"({"format": "stowplan.graph", "version": 2, "ops": []})"), HasSubstr("version is 2"));
  EXPECT_THAT(other(R"({"format": "stowplan.graph", "version": 1, "name": "\t"})"), HasSubstr(": name must"));
  EXPECT_THAT(MessageOf([] { sim::OpGraph().Finish(); }), HasSubstr("at least one op"));
  for (const auto& [ops, says] : {
           std::pair{"", "ops must hold at least one op"},
           {"7", "ops[0] must be an object, but is 7"},
           {R"({"type": "T"})", "ops[0] has no \"name\""},
           {R"({"name": "a"})", "ops[0] has no \"type\""},
           {R"({"name": 3, "type": "T"})", "ops[0].name must be text, but is 3"},
           {R"({"name": "", "type": "T"})", "ops[0].name must be a name"},
           {R"({"name": "a\nb", "type": "T"})", "ops[0].name must be a name"},
           {R"({"name": "a:0", "type": "T"})", "ops[0].name is \"a:0\""},
           {R"({"name": "a", "type": "T"}, {"name": "a", "type": "U"})",
            "ops[1].name is \"a\", as is ops[0]"},
       })
    EXPECT_THAT(ErrorOfOps(ops), StartsWith(std::string("g.json: ") + says));
  // What stands in an op `a` of type T beside its name.
  for (const auto& [rest, says] : {
           std::pair{R"("flop": 3)", "flop is not known here"},
           {R"("outputs": [{"size": 3}])", "outputs[0].size is not known here"},
           {R"("inputs": "b")", "inputs must be a list, but is \"b\""},
           {R"("phase": "sideways")", "phase must be one of forward, backward and update"},
           {R"("attributes": [])", "attributes must be an object"},
           {R"("cost_us": "5us")", "cost_us must be a number of microseconds"},
           {R"("colocate": "x\u0085y")", "colocate must be text without control characters"},
           {R"("group": "x\u0085y")", "group must be text without control characters"},
           {R"("outputs": [{"dtype": "f\n32"}])", "outputs[0].dtype must be one of f64, f32, "},
           {R"("inputs": ["b:0"])", "inputs[0] names the op \"b\""},
           {R"("control": ["b"])", "control[0] names the op \"b\""},
           {R"("inputs": ["a:99999999999"])", "inputs[0] names output 99999999999"},
           {R"("outputs": [{"bytes": -5}])",
            "outputs[0].bytes must be a whole number between 0 and 1125899906842624"},
           {R"("workspace_bytes": 1125899906842625)", "workspace_bytes must be"},
           {R"("workspace_bytes": 1e300)", "workspace_bytes must be"},
           {R"("cost_us": 1.5e12)", "cost_us must be a number between 0 and 1000000000000"},
           {R"("cost_us": {"k80": -1})", "cost_us.k80 must be a number between 0 and 1000000000000"},
           {R"("flops": -1)", "flops must be a number between"},
           {R"("framework_ops": -1)", "framework_ops must be"},
           {R"("outputs": [{"shape": [1048576, 1048576, 2048]}])", "outputs[0].shape has more than 2^50"},
       })
    EXPECT_THAT(ErrorOfOps(std::string(R"({"name": "a", "type": "T", )") + rest + "}"),
                StartsWith(std::string("g.json: ops[0].") + says));
  EXPECT_THAT(
      ErrorOfOps(
          R"({"name": "a", "type": "T", "outputs": [{}]}, {"name": "b", "type": "T", "inputs": ["a:1"]})"),
      StartsWith("g.json: ops[1].inputs[0] names output 1 of \"a\", which has 1 output"));
  EXPECT_THAT(
      ErrorOfOps(
          R"({"name": "a", "type": "T", "outputs": [{}, {"alias": "b"}]}, {"name": "b", "type": "T", "outputs": [{}]})"),
      StartsWith("g.json: ops[0].outputs[1].alias is \"b\""));
  EXPECT_THAT(ErrorOfOps(R"({"name": "a", "type": "T", "flops": NaN})"), HasSubstr("is not valid JSON"));
  EXPECT_THAT(ErrorOfOps(R"({"name": "a", "type": "T", "flops": 1e400})"), HasSubstr("number overflow"));
  EXPECT_EQ(
      ParseOps(R"({"name": "a", "type": "T", "workspace_bytes": 1125899906842624})").ops[0].workspace_bytes,
      sim::kMaxBytes);
}

// Cost models would price them as f32.
TEST(GraphRefuses, NumberFormatsThatNoCostModelKnows) {
  for (const std::string wrong : {"float32", "F32", "half", "nonsense", ""}) {
    EXPECT_THAT(ErrorOfOps(R"({"name": "a", "type": "T", "outputs": [{}, {"dtype": ")" + wrong + R"("}]})"),
                StartsWith("g.json: ops[0].outputs[1].dtype must be one of f64, f32, f16"));
  }
  EXPECT_EQ(ParseOps(R"({"name": "a", "type": "T", "outputs": [{"dtype": "bf16"}]})").ops[0].outputs[0].dtype,
            "bf16");
}

TEST(GraphRefuses, PricesOfUnknownKindsWhereACatalogueIsGiven) {
  const std::string head =
      R"({"format": "stowplan.graph", "version": 1, "ops": [{"name": "a", "type": "T", "cost_us": )";
  const auto error = [&](const std::string& cost) {
    return MessageOf([&] { ParseGraph(head + cost + "}]}", "g.json", &SampleCatalogue()); });
  };
  EXPECT_THAT(error(R"({"gpu": 1, "gpu-b": 2})"),
              StartsWith("g.json: ops[0].cost_us.gpu-b prices what is no"));
  EXPECT_THAT(error("{}"), StartsWith("g.json: ops[0].cost_us must price at least one"));
  const auto good =
      ParseGraph(head + R"({"cpu": 1, "gpu": 2, "gpu-one": 3}}]})", "g.json", &SampleCatalogue());
  EXPECT_EQ(good.ops[0].cost_us_by_kind.size(), 3u);
}

TEST(GraphRefuses, Cycles) {
  const char* const cycle = R"({"name": "a", "type": "T", "inputs": ["b"], "outputs": [{}]},
                               {"name": "b", "type": "T", "inputs": ["a"], "outputs": [{}]})";
  EXPECT_THAT(ErrorOfOps(cycle), StartsWith("g.json: the ops 'a' -> 'b' -> 'a' form a cycle"));
  EXPECT_THAT(ErrorOfOps(R"({"name": "a", "type": "T", "control": ["a"]})"),
              HasSubstr("the ops 'a' -> 'a' form a cycle"));
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
