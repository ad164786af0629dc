// Bad input: one sentence that names the file and the node and says what could be done.
#include <onnx/defs/schema.h>

#include "scenarios/importers/onnx.h"
#include "tests/scenarios/onnx/model_maker.h"
#include "tests/scenarios/onnx/samples.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

using Ints = std::vector<std::int64_t>;
using onnx::TensorProto;

std::string RefusalOfBytes(const std::string& bytes) {
  return tests::ErrorOf([&] { ImportOnnx(bytes, "model.onnx", {.dims = {}}); }, "no error");
}

GraphMaker Small() {
  GraphMaker m;
  m.Input("x", {4}).Node("Relu", {"x"}, {"y"}).Output("y");
  return m;
}

TEST(OnnxRefused, WhatIsNoModel) {
  EXPECT_THAT(RefusalOfBytes("no protobuf at all"),
              AllOf(StartsWith("model.onnx: "), HasSubstr("no whole ONNX model")));
  EXPECT_THAT(RefusalOfBytes(""), HasSubstr("no graph"));
  onnx::ModelProto model = ModelOf(Small());
  model.clear_graph();
  EXPECT_THAT(RefusalOfBytes(model.SerializeAsString()), HasSubstr("no graph"));
}

TEST(OnnxRefused, ATruncatedFileAndWhereItEnds) {
  const std::string bytes = BytesOf(Small());
  EXPECT_THAT(RefusalOfBytes(bytes.substr(0, bytes.size() / 2)),
              AllOf(HasSubstr("at byte "), HasSubstr(" of " + std::to_string(bytes.size() / 2)),
                    HasSubstr("copy it again")));
  EXPECT_TRUE(RecognisesOnnx(bytes));
  EXPECT_TRUE(RecognisesOnnx(bytes.substr(0, bytes.size() - 12)))
      << "cut off in its graph, it is still told as a model";
  EXPECT_FALSE(RecognisesOnnx("{\"format\": \"stowplan.graph\"}"));
}

TEST(OnnxRefused, OperatorSetsThatAreNotKnown) {
  EXPECT_EQ(RefusalOf(Small(), {}, 23), "no error");
  EXPECT_THAT(RefusalOf(Small(), {}, 24),
              AllOf(HasSubstr("operator set 24"), HasSubstr("1 to 23"), HasSubstr("opset_version")));
  onnx::ModelProto model = ModelOf(Small());
  model.clear_opset_import();
  EXPECT_THAT(RefusalOfBytes(model.SerializeAsString()), HasSubstr("opset_import"));
}

TEST(OnnxRefused, DimensionsWithoutAValueAreAllNamed) {
  GraphMaker m;
  m.Input("x", {"batch", ""}).Input("m", {"batch", "length"}).Node("Relu", {"x"}, {"y"}).Output("y");
  EXPECT_THAT(RefusalOf(m), AllOf(HasSubstr("'batch'"), HasSubstr("'x:1'"), HasSubstr("'length'"),
                                  HasSubstr("--dim batch=8")));
  EXPECT_THAT(RefusalOf(m, {.dims = {{"batch", 2}, {"x:1", 3}, {"length", 4}, {"lenght", 4}}}),
              AllOf(HasSubstr("--dim lenght=4"), HasSubstr("length")));
  EXPECT_THAT(RefusalOf(m, {.dims = {{"batch", 0}}}), HasSubstr("at least 1"));
}

TEST(OnnxRefused, AShapeInDataThatIsNotThere) {
  GraphMaker m;
  m.Input("x", {4, 6})
      .Weight("target", {2}, TensorProto::INT64)
      .Node("Reshape", {"x", "target"}, {"y"})
      .Output("y");
  EXPECT_THAT(RefusalOf(m),
              AllOf(HasSubstr("node 'y' (Reshape)"), HasSubstr("'target', which are not in the file"),
                    HasSubstr("--dim y:0=N")));
  EXPECT_EQ(ShapeText(Import(m, {.dims = {{"y:0", 3}, {"y:1", 8}}}), "y"), "f32[3,8]");
}

TEST(OnnxRefused, WhatNobodyGivesAndWhatTwoGive) {
  GraphMaker dangling;
  dangling.Input("x", {4}).Node("Add", {"x", "ghost"}, {"y"}).Output("y");
  EXPECT_THAT(RefusalOf(dangling), HasSubstr("node 'y' (Add): reads 'ghost'"));
  EXPECT_THAT(RefusalOf(Small().Output("ghost")), HasSubstr("output 'ghost'"));
  EXPECT_THAT(RefusalOf(Small().Node("Tanh", {"x"}, {"y"})), HasSubstr("which something else gives too"));
}

TEST(OnnxRefused, ACycleAndItsNodes) {
  GraphMaker m;
  m.Input("x", {4})
      .Node("Add", {"x", "c"}, {"a"})
      .Node("Relu", {"a"}, {"b"})
      .Node("Tanh", {"b"}, {"c"})
      .Output("c");
  EXPECT_THAT(RefusalOf(m), AllOf(HasSubstr("'a'"), HasSubstr("'b'"), HasSubstr("'c'"), HasSubstr("cycle")));
}

TEST(OnnxRefused, NodesThatContradictTheirOp) {
  GraphMaker shapes;
  shapes.Input("x", {4, 6}).Weight("w", {5, 3}).Node("MatMul", {"x", "w"}, {"y"}).Output("y");
  EXPECT_THAT(RefusalOf(shapes), HasSubstr("node 'y' (MatMul)"));
  GraphMaker elements;
  elements.Input("x", {4, 6}).Ints("target", {5, 5}).Node("Reshape", {"x", "target"}, {"y"}).Output("y");
  EXPECT_THAT(RefusalOf(elements), HasSubstr("24 elements into 25"));
  GraphMaker strides;
  strides.Input("x", {1, 3, 8, 8})
      .Weight("w", {4, 3, 3, 3})
      .Node("Conv", {"x", "w"}, {"y"}, {{"strides", Ints{0, 1}}})
      .Output("y");
  EXPECT_THAT(RefusalOf(strides), HasSubstr("strides must be 1 to 2^20"));
  GraphMaker left_out;
  left_out.Input("x", {1, 3, 8, 8}).Node("Conv", {"x", ""}, {"y"}).Output("y");
  EXPECT_THAT(RefusalOf(left_out), HasSubstr("input 1 is marked single but has an empty string"));
  GraphMaker arity;
  arity.Input("x", {4}).Node("Add", {"x"}, {"y"}).Output("y");
  EXPECT_THAT(RefusalOf(arity), HasSubstr("node 'y' (Add)"));
}

// In 64 bits these products wrap: to a division by zero, or to a tensor that costs nothing.
TEST(OnnxRefused, SizesWhoseProductsWrap) {
  constexpr std::int64_t kOne = 1;
  for (const char* type : {"DepthToSpace", "SpaceToDepth"}) {
    GraphMaker m;
    m.Input("x", {1, 4, 2, 2}).Node(type, {"x"}, {"y"}, {{"blocksize", kOne << 32}}).Output("y");
    EXPECT_THAT(RefusalOf(m), HasSubstr("blocksize must be 1 to 2^20")) << type;
    GraphMaker uneven;
    uneven.Input("x", {1, 5, 3, 3}).Node(type, {"x"}, {"y"}, {{"blocksize", std::int64_t{2}}}).Output("y");
    EXPECT_THAT(RefusalOf(uneven), HasSubstr("must be a multiple of its blocksize")) << type;
  }
  GraphMaker tile;
  tile.Input("x", {kOne << 30}).Ints("r", {kOne << 40}).Node("Tile", {"x", "r"}, {"y"}).Output("y");
  EXPECT_THAT(RefusalOf(tile), HasSubstr("longer than 2^50 along axis 0"));
  GraphMaker transposed;
  transposed.Input("x", {1, 1, (kOne << 44) + 1})
      .Weight("w", {1, 1, 1})
      .Node("ConvTranspose", {"x", "w"}, {"y"}, {{"strides", Ints{kOne << 20}}})
      .Output("y");
  EXPECT_THAT(RefusalOf(transposed), HasSubstr("image is longer than 2^30 along axis 2"));
}

TEST(OnnxRefused, AKernelLargerThanItsImage) {
  GraphMaker m;
  m.Input("x", {1, 3, 2, 2}).Weight("w", {4, 3, 9, 9}).Node("Conv", {"x", "w"}, {"y"}).Output("y");
  EXPECT_THAT(RefusalOf(m), HasSubstr("its window reaches over 9 along axis 2, but its image has 2"));
}

// Found by fuzz_onnx: an einsum that contradicts itself, in a set that has none, so that nobody had looked at it.
TEST(OnnxRefused, AnOpThatItsOperatorSetDoesNotHaveIsUnknown) {
  GraphMaker m;
  m.Input("a", {2, 3, 4}).Input("b", {2, 3, 5}).Hint("y", {2, 3, 3});
  m.Node("Einsum", {"a", "b"}, {"y"}, {{"equation", std::string("bsd,btd->bst")}}).Output("y");
  const sim::OpGraph graph = ImportOnnx(BytesOf(m, 11), "model.onnx", {}).graph;
  EXPECT_EQ(OpNamed(graph, "y").flops, 0);
  EXPECT_NE(sim::FindAttribute(graph.attributes, "unknown_ops"), nullptr);
}

// A graph file has collectives of these names.
TEST(OnnxRefused, AnUnknownOpOfACollectivesNameIsNone) {
  GraphMaker m;
  m.Input("x", {4}).Node("Reduce", {"x"}, {"y"}).Output("y");
  EXPECT_EQ(OpNamed(ImportOnnx(BytesOf(m), "model.onnx", {}).graph, "y").type, "other.Reduce");
}

TEST(OnnxRefused, AnUnknownOpWithoutAShapeTakesThatOfItsInputUnlessAskedToBeStrict) {
  GraphMaker m;
  m.Input("x", {4}).Node("Shuffle", {"x"}, {"y"}, {}, "com.example").Output("y");
  const ImportedGraph imported = ImportOnnx(BytesOf(m), "model.onnx", {});
  EXPECT_EQ(ShapeText(imported.graph, "y"), "f32[4]");
  EXPECT_THAT(imported.notes, Contains(AllOf(HasSubstr("com.example.Shuffle"), HasSubstr("value_info"))));
  EXPECT_THAT(RefusalOf(m, {.strict = true}), HasSubstr("com.example.Shuffle"));
  GraphMaker maker;
  maker.Node("Make", {}, {"y"}, {}, "com.example").Output("y");
  EXPECT_THAT(RefusalOf(maker), AllOf(HasSubstr("com.example.Make"), HasSubstr("value_info")));
}

TEST(OnnxRefused, TrainingWithoutAWeightOrAGradient) {
  EXPECT_THAT(RefusalOf(Small(), {.training = "adam"}), HasSubstr("depends on a weight"));
  EXPECT_THAT(RefusalOf(Small(), {.training = "lion"}), AllOf(HasSubstr("lion"), HasSubstr("adam")));
  GraphMaker m;
  m.Input("x", {2, 4}).Weight("w", {4, 4}).Node("MatMul", {"x", "w"}, {"a"});
  m.Node("Shuffle", {"a"}, {"y"}, {}, "com.example").Hint("y", {2, 4}).Output("y");
  EXPECT_THAT(RefusalOf(m, {.training = "adam"}),
              AllOf(StartsWith("model.onnx: op 'y'"), HasSubstr("no gradient")));
}

// ---- damage

void ReadOrRefuse(const std::string& bytes) {
  for (const char* training : {"", "adam"}) {
    try {
      ImportOnnx(bytes, "model.onnx", {.dims = {{"batch", 2}}, .training = training});
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), AnyOf(HasSubstr("model.onnx"), StartsWith("--dim")));
      EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    }
  }
}

// The library's rules index into shapes without looking at their rank everywhere.
TEST(OnnxRefused, EveryStandardOpWithInputsOfAnyRankIsReadOrRefused) {
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas()) {
    if (!schema.domain().empty()) continue;
    for (std::size_t rank = 0; rank <= 5; ++rank) {
      for (const bool known : {false, true}) {  // every input but the first is a vector of known numbers
        GraphMaker m;
        GraphMaker::Names inputs;
        for (int i = 0; i < std::min(schema.max_input(), 6); ++i) {
          inputs.push_back("x" + std::to_string(i));
          if (known && i > 0) {
            m.Ints(inputs.back(), std::vector<std::int64_t>(rank, 2));
          } else {
            m.Input(inputs.back(), std::vector<GraphMaker::Dim>(rank, std::int64_t{2}));
          }
        }
        std::vector<GraphMaker::Attribute> attributes;
        for (const auto& [name, attribute] : schema.attributes()) {
          if (attribute.type == onnx::AttributeProto::INTS) attributes.push_back({name, Ints(rank, 1)});
          if (attribute.type == onnx::AttributeProto::INT) attributes.push_back({name, std::int64_t{1}});
        }
        GraphMaker::Names outputs;
        for (int i = 0; i < std::max(1, std::min(schema.max_output(), 3)); ++i)
          outputs.push_back("y" + std::to_string(i));
        for (const bool with_attributes : {false, true}) {
          GraphMaker one = m;
          one.Node(schema.Name(), inputs, outputs,
                   with_attributes ? attributes : std::vector<GraphMaker::Attribute>{});
          one.Output("y0");
          ASSERT_NO_THROW(ReadOrRefuse(BytesOf(one, 17))) << schema.Name() << ", rank " << rank;
        }
      }
    }
  }
}

TEST(OnnxRefused, EveryTruncationIsReadOrRefused) {
  for (const auto& [name, bytes] : SampleModels()) {
    for (std::size_t size = 0; size < bytes.size(); ++size)
      ASSERT_NO_THROW(ReadOrRefuse(bytes.substr(0, size))) << name << size;
  }
}

TEST(OnnxRefused, EveryDamageIsReadOrRefused) {
  std::mt19937_64 engine(20261121);
  for (const auto& [name, bytes] : SampleModels()) {
    for (int round = 0; round < 500; ++round) {
      std::string damaged = bytes;
      for (std::uint64_t changes = 1 + engine() % 3; changes > 0; --changes) {
        damaged[engine() % damaged.size()] = static_cast<char>(engine());
      }
      ASSERT_NO_THROW(ReadOrRefuse(damaged)) << name << ", round " << round;
    }
  }
}

}  // namespace
}  // namespace stowplan::scenarios
