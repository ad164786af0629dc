#include "tests/scenarios/onnx/samples.h"

#include "tests/scenarios/onnx/model_maker.h"

namespace stowplan::scenarios {

std::vector<std::pair<std::string, std::string>> SampleModels() {
  using NodeAttributes = std::vector<GraphMaker::Attribute>;
  GraphMaker vision;
  vision.Input("x", {"batch", 3, 16, 16}).Weight("w", {8, 3, 3, 3}).Weight("b", {8}).Weight("scale", {8});
  vision.Weight("mean", {8}).Weight("fc", {10, 512}).Ints("rows", {-1});
  vision.Node("Conv", {"x", "w", "b"}, {"conv"}, {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  vision.Node("BatchNormalization", {"conv", "scale", "b", "mean", "mean"}, {"bn"})
      .Node("Relu", {"bn"}, {"relu"});
  vision.Node("MaxPool", {"relu"}, {"pool"},
              NodeAttributes{{"kernel_shape", std::vector<std::int64_t>{2, 2}},
                             {"strides", std::vector<std::int64_t>{2, 2}}});
  vision.Node("Shape", {"pool"}, {"shape"}).Node("Slice", {"shape", "zero", "one"}, {"first"});
  vision.Ints("zero", {0})
      .Ints("one", {1})
      .Node("Concat", {"first", "rows"}, {"target"}, NodeAttributes{{"axis", std::int64_t{0}}});
  vision.Node("Reshape", {"pool", "target"}, {"flat"});
  vision.Node("Gemm", {"flat", "fc"}, {"y"}, NodeAttributes{{"transB", std::int64_t{1}}}).Output("y");

  GraphMaker language;
  language.Input("ids", {"batch", 7}, onnx::TensorProto::INT64).Weight("table", {50, 8}).Weight("q", {8, 8});
  language.Weight("lw", {1, 16, 8}).Weight("lr", {1, 16, 4});
  language.Node("Gather", {"table", "ids"}, {"e"}).Node("MatMul", {"e", "q"}, {"k"});
  language.Node("Einsum", {"e", "k"}, {"scores"}, NodeAttributes{{"equation", std::string("bsd,btd->bst")}});
  language.Node("Softmax", {"scores"}, {"p"}).Node("MatMul", {"p", "e"}, {"mixed"});
  language.Node("LSTM", {"mixed", "lw", "lr"}, {"states", "", "cell"},
                NodeAttributes{{"hidden_size", std::int64_t{4}}});
  language.Node("Foo", {"states"}, {"foo"}, {}, "com.example")
      .Hint("foo", {7, "batch"})
      .Output("foo")
      .Output("cell");

  GraphMaker body;
  body.Input("i", {}, onnx::TensorProto::INT64).Input("go", {}, onnx::TensorProto::BOOL).Input("s", {2, 4});
  body.Node("Identity", {"go"}, {"go_on"}).Node("Add", {"s", "outer"}, {"s2"}).Node("Relu", {"s2"}, {"c"});
  body.Output("go_on").Output("s2").Output("c");
  GraphMaker branch;
  branch.Node("Tanh", {"outer"}, {"t"}).Output("t");
  GraphMaker control;
  control.Input("outer", {2, 4}).Input("maybe", {}, onnx::TensorProto::BOOL);
  control.Node("Constant", {}, {"trips"}, NodeAttributes{{"value", IntTensor({3}, true)}});
  control.Node("Loop", {"trips", "", "outer"}, {"last", "all"}, NodeAttributes{{"body", body.graph}});
  control.Node("If", {"maybe"}, {"either"},
               NodeAttributes{{"then_branch", branch.graph}, {"else_branch", branch.graph}});
  control.Node("Sub", {"last", "either"}, {"y"}).Output("y").Output("all");

  GraphMaker newer;
  newer.Input("x", {"batch", 8, 12}).Weight("scale", {12}).Weight("k", {2, 8, 6}).Ints("axes", {-1});
  newer.Node("RMSNormalization", {"x", "scale"}, {"n"});
  newer.Node("Attention", {"n", "k", "k"}, {"a"},
             NodeAttributes{{"q_num_heads", std::int64_t{4}}, {"kv_num_heads", std::int64_t{2}}});
  newer.Node("ReduceMean", {"a", "axes"}, {"mean"}).Node("Sub", {"a", "mean"}, {"centred"});
  newer.Node("Split", {"centred"}, {"left", "right"},
             NodeAttributes{{"axis", std::int64_t{2}}, {"num_outputs", std::int64_t{2}}});
  newer.Ints("pads", {1, 1}).Node("Pad", {"left", "pads", "", "axes"}, {"padded"}).Ints("sizes", {5});
  newer.Node("Resize", {"padded", "", "", "sizes"}, {"resized"},
             NodeAttributes{{"axes", std::vector<std::int64_t>{2}},
                            {"keep_aspect_ratio_policy", std::string("not_larger")}});
  newer.Node("Gelu", {"resized"}, {"y"}).Output("y").Output("right");
  newer.Node("QuantizeLinear", {"right", "one"}, {"q"}, NodeAttributes{{"output_dtype", std::int64_t{22}}});
  newer.Weight("one", {}).Output("q");
  return {{"vision", BytesOf(vision)},
          {"language", BytesOf(language)},
          {"control", BytesOf(control)},
          {"newer", BytesOf(newer, 23)}};
}

}  // namespace stowplan::scenarios
