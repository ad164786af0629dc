#include "cost_models/calibration/framework_ops.h"

#include <fmt/format.h>

#include "cost_models/calibration/probe_graph.h"
#include "sim/formats/document/json_reader.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

// As torch.profiler writes the arguments.
profiler::Marker MarkerOf(const char* name, const char* arguments) {
  const formats::Document document = formats::ParseJson(arguments, "arguments");
  profiler::Marker marker;
  marker.name = name;
  marker.attributes = std::get<sim::Attributes>(document.root().Free().value);
  return marker;
}

std::vector<std::string> Labels(const char* name, const char* arguments,
                                const std::vector<std::string_view>& kernels = {}) {
  std::vector<std::string> labels;
  for (const ObservedOp& op : TellOp(MarkerOf(name, arguments), kernels).ops) labels.push_back(LabelOf(op));
  return labels;
}

std::string WhyNot(const char* name, const char* arguments) {
  const ToldOp told = TellOp(MarkerOf(name, arguments), {});
  EXPECT_THAT(told.ops, IsEmpty());
  return told.why_not;
}

TEST(FrameworkOps, ProductsAreTold) {
  EXPECT_THAT(Labels("aten::mm", R"({"Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"]})"),
              ElementsAre("gemm f32 m=64 n=16 k=32"));
  EXPECT_THAT(Labels("aten::addmm", R"({"Input Dims": [[16], [64, 32], [32, 16], [], []],
                                        "Input type": ["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar"]})"),
              ElementsAre("gemm f16 m=64 n=16 k=32"));
  EXPECT_THAT(
      Labels("aten::bmm", R"({"Input Dims": [[8, 64, 32], [8, 32, 16]], "Input type": ["float", "float"]})"),
      ElementsAre("bmm f32 batch=8 m=64 n=16 k=32"));
}

TEST(FrameworkOps, Tf32IsSeenInTheKernelsOfContractionsAlone) {
  const char* const product = R"({"Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"]})";
  EXPECT_THAT(Labels("aten::mm", product,
                     {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>()"}),
              ElementsAre("gemm tf32 m=64 n=16 k=32"));
  EXPECT_THAT(Labels("aten::mm", product, {"ampere_sgemm_32x32_sliced1x4_tn"}),
              ElementsAre("gemm f32 m=64 n=16 k=32"));
  EXPECT_THAT(Labels("aten::relu", R"({"Input Dims": [[8]], "Input type": ["float"]})", {"some_tf32_kernel"}),
              ElementsAre("relu f32 elements=8"));
}

// "[1, 1]" is an argument as newer versions record it.
constexpr char kConvolution[] =
    R"({"Input Dims": [[8, 64, 56, 56], [128, 64, 3, 3], [], [], [], [], [], [], []],
    "Input type": ["float", "float", "", "", "", "", "", "", ""],
    "Concrete Inputs": ["", "", "[1, 1]", "[2, 2]", "[1, 1]", "1", "False", "False", "True"]})";

TEST(FrameworkOps, ConvolutionsAreToldByTheirArguments) {
  EXPECT_THAT(Labels("aten::cudnn_convolution", kConvolution, {"sm80_xmma_fprop_implicit_gemm_tf32f32"}),
              ElementsAre("conv2d tf32 batch=8 side=56 in=64 out=128 kernel_h=3 kernel_w=3 stride=2"));
  std::string other = kConvolution;
  other.replace(other.find("\"[1, 1]\""), 8, "\"[0, 0]\"");  // the padding
  EXPECT_THAT(WhyNot("aten::cudnn_convolution", other.c_str()), HasSubstr("another padding than SAME"));
  other = kConvolution;
  other.replace(other.find("\"1\""), 3, "\"8\"");
  EXPECT_THAT(WhyNot("aten::cudnn_convolution", other.c_str()), HasSubstr("dilations or groups"));
  other = kConvolution;
  other.resize(other.find(",\n    \"Concrete"));
  EXPECT_THAT(WhyNot("aten::cudnn_convolution", (other + "}").c_str()), HasSubstr("without arguments"));
}

TEST(FrameworkOps, TheGradientsOfAConvolutionAreTwoOps) {
  EXPECT_THAT(
      Labels(
          "aten::convolution_backward",
          R"({"Input Dims": [[8, 128, 28, 28], [8, 64, 56, 56], [128, 64, 3, 3], [], [], [], [], [], [], [], []],
                 "Input type": ["float", "float", "float", "", "", "", "", "", "", "", ""],
                 "Concrete Inputs": ["", "", "", "[0]", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1",
                                     "[True, True, False]"]})"),
      ElementsAre("conv2d f32 data_gradient batch=8 side=56 in=64 out=128 kernel_h=3 kernel_w=3 stride=2",
                  "conv2d f32 filter_gradient batch=8 side=56 in=64 out=128 kernel_h=3 kernel_w=3 stride=2"));
}

TEST(FrameworkOps, OnlyTheGradientsThatAreMade) {
  const auto backward = [](const char* transposed, const char* mask) {
    return std::string(R"({"Input Dims": [[8, 128, 28, 28], [8, 64, 56, 56], [128, 64, 3, 3]],
                           "Input type": ["float", "float", "float"],
                           "Concrete Inputs": ["", "", "", "[0]", "[2, 2]", "[1, 1]", "[1, 1]", ")") +
           transposed + R"(", "[0, 0]", "1", ")" + mask + R"("]})";
  };
  EXPECT_THAT(Labels("aten::convolution_backward", backward("False", "[False, True, False]").c_str()),
              ElementsAre(HasSubstr("filter_gradient")));
  EXPECT_THAT(WhyNot("aten::convolution_backward", backward("True", "[True, True, False]").c_str()),
              HasSubstr("transposed"));
}

TEST(FrameworkOps, FormatsAreSeenInKernelsWhereNoTypeWasRecorded) {
  const auto told = [](const char* kernel) {
    return Labels("aten::mm", R"({"Input Dims": [[64, 32], [32, 16]]})", {kernel});
  };
  for (const char* half :
       {"turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_nn", "ampere_fp16_s16816gemm_fp16_64x64_nn",
        "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", "cutlass_80_tensorop_f16_s16816gemm_f16_64x64",
        "volta_hgemm_64x64_nn"})
    EXPECT_THAT(told(half), ElementsAre("gemm f16 m=64 n=16 k=32")) << half;
  EXPECT_THAT(told("ampere_bf16_s16816gemm_bf16_64x64_nn"), ElementsAre("gemm bf16 m=64 n=16 k=32"));
  EXPECT_THAT(told("ampere_sgemm_128x64_nn"), ElementsAre("gemm f32 m=64 n=16 k=32"));
  EXPECT_THAT(told("cutlass_80_tensorop_s1688gemm_64x64"), ElementsAre("gemm tf32 m=64 n=16 k=32"));
  EXPECT_THAT(told("nvjet_tst_128x64_64x8_2x1_v_bz_TNT"), ElementsAre("gemm bf16 m=64 n=16 k=32"));
  EXPECT_THAT(told("nvjet_hsh_128x64_64x8_2x1_v_bz_TNT"), ElementsAre("gemm f16 m=64 n=16 k=32"));
}

// As CUPTI gives them and g++ mangles them (checked with c++filt).
TEST(FrameworkOps, FormatsAreSeenInMangledNames) {
  const auto format_of = [](const char* kernel) {
    const auto labels = Labels("aten::add", R"({"Input Dims": [[512, 512], [512, 512], []]})", {kernel});
    return labels.empty() ? std::string() : labels.front();
  };
  EXPECT_EQ(format_of("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_"
                      "addIfEESt5arrayIPcLm3EEEEviT0_T1_"),
            "add f32 elements=262144");
  EXPECT_EQ(format_of("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_"
                      "addIN3c108BFloat16EEESt5arrayIPcLm3EEEEviT0_T1_"),
            "add bf16 elements=262144");
  // An f in identifiers, literals and what was named before is no float: void fff<4>(int), of double.
  EXPECT_EQ(format_of("_Z3fffILi4EEvi"), "");
  EXPECT_EQ(format_of("_ZN2at6native15CUDAFunctor_addIdEE"), "");
  for (const char* cut : {"_Z", "_Z9", "_Z99999999999999999999fff", "_ZL", "_ZS", "_ZT", "_ZNS0"})
    EXPECT_EQ(format_of(cut), "") << cut;
}

TEST(FrameworkOps, OperandsOfOneSizeOrOfNextToNone) {
  const auto add = [](const char* dims) {
    return std::string(R"({"Input type": ["float", "float", "Scalar"], "Input Dims": )") + dims + "}";
  };
  EXPECT_THAT(Labels("aten::add_", add("[[4, 8], [4, 8], []]").c_str()), ElementsAre("add f32 elements=32"));
  EXPECT_THAT(Labels("aten::mul", add("[[64, 8], [], []]").c_str()), ElementsAre("scale f32 elements=512"));
  EXPECT_THAT(Labels("aten::add", add("[[64, 8], [8], []]").c_str()), ElementsAre("scale f32 elements=512"));
  EXPECT_EQ(WhyNot("aten::add", add("[[4, 8], [8], []]").c_str()), "aten::add, operands of two shapes");
  EXPECT_THAT(Labels("aten::_foreach_add_", R"({"Input Dims": [[[4, 8], [16]], [[4, 8], [16]], []],
                     "Input type": ["TensorList", "TensorList", "Scalar"]})",
                     {"multi_tensor_apply_kernel<float>"}),
              ElementsAre("add f32 elements=48"));
}

TEST(FrameworkOps, ReductionsByTheirAxes) {
  const auto sum = [](const char* axes) {
    return std::string(
               R"({"Input Dims": [[4, 8, 16], [], []], "Input type": ["float", "ScalarList", "Scalar"],
                           "Concrete Inputs": ["", ")") +
           axes + R"(", "False"]})";
  };
  EXPECT_THAT(Labels("aten::sum", sum("[-1]").c_str()), ElementsAre("sum f32 rows=32 columns=16"));
  EXPECT_THAT(Labels("aten::sum", sum("[1, 2]").c_str()), ElementsAre("sum f32 rows=4 columns=128"));
  EXPECT_THAT(Labels("aten::sum", sum("[0, 1]").c_str()), ElementsAre("column_sum f32 rows=32 columns=16"));
  EXPECT_THAT(Labels("aten::mean", sum("[]").c_str()), ElementsAre("sum f32 rows=1 columns=512"));
  EXPECT_THAT(WhyNot("aten::sum", sum("[1]").c_str()), HasSubstr("in the middle"));
  EXPECT_THAT(WhyNot("aten::sum", sum("[0, 2]").c_str()), HasSubstr("in the middle"));
  for (const char* beyond : {"[3]", "[-4]", "[2, 3]", "[0, 0]", "[-1, 2]", "[0, 1, 2, 3]", "[100000000]"})
    EXPECT_THAT(WhyNot("aten::sum", sum(beyond).c_str()), HasSubstr("axes that its tensor does not have"))
        << beyond;
}

// Arguments as text behind the sizes of the tensors.
std::string With(const char* dims, const char* values) {
  return fmt::format(R"({{"Input Dims": {}, "Input type": ["float", "float", "float"]{}}})", dims,
                     *values == 0 ? "" : fmt::format(R"(, "Concrete Inputs": {})", values));
}

TEST(FrameworkOps, SoftmaxIsOverTheAxisOfItsArgument) {
  const auto softmax = [](const char* axis) {
    return With("[[4, 8, 16], [], []]", fmt::format(R"(["", "{}", "False"])", axis).c_str());
  };
  for (const char* last : {"-1", "2"})
    EXPECT_THAT(Labels("aten::_softmax", softmax(last).c_str()),
                ElementsAre("softmax f32 rows=32 columns=16"));
  EXPECT_THAT(WhyNot("aten::_softmax", softmax("1").c_str()), HasSubstr("another axis than the last"));
  EXPECT_THAT(WhyNot("aten::_log_softmax", softmax("0").c_str()), HasSubstr("another axis than the last"));
  EXPECT_THAT(WhyNot("aten::_softmax_backward_data",
                     With("[[4, 8], [4, 8], [], []]", R"(["", "", "0", "6"])").c_str()),
              HasSubstr("another axis than the last"));
  EXPECT_THAT(Labels("aten::_softmax", With("[[4, 8], [], []]", "").c_str()),
              ElementsAre("softmax f32 rows=4 columns=8"));
}

TEST(FrameworkOps, LayerNormIsOverItsNormalizedShape) {
  EXPECT_THAT(Labels("aten::native_layer_norm",
                     With("[[4, 8, 16], [], [], [], []]", R"(["", "[8, 16]", "", "", ""])").c_str()),
              ElementsAre("layer_norm f32 rows=4 columns=128"));
  EXPECT_THAT(Labels("aten::native_layer_norm", With("[[4, 8, 16], [], [8, 16], [8, 16], []]", "").c_str()),
              ElementsAre("layer_norm f32 rows=4 columns=128"));
  EXPECT_THAT(Labels("aten::native_layer_norm_backward",
                     With("[[4, 8, 16], [4, 8, 16], [], [4], [4], [8, 16], [8, 16]]", "").c_str()),
              ElementsAre("layer_norm f32 backward rows=4 columns=128"));
  EXPECT_THAT(WhyNot("aten::native_layer_norm",
                     With("[[4, 8, 16], [], [], [], []]", R"(["", "[8]", "", "", ""])").c_str()),
              HasSubstr("not that of the last axes"));
}

TEST(FrameworkOps, SelectionsAreOfRows) {
  const auto select = [](const char* axis) {
    return With("[[100, 64], [], [32]]", fmt::format(R"(["", "{}", ""])", axis).c_str());
  };
  EXPECT_THAT(Labels("aten::index_select", select("0").c_str()),
              ElementsAre("embedding f32 rows=100 width=64 tokens=32"));
  EXPECT_THAT(WhyNot("aten::index_select", select("1").c_str()), HasSubstr("another axis than the first"));
  EXPECT_THAT(WhyNot("aten::index_select", With("[[100, 64], [], [32]]", "").c_str()),
              HasSubstr("without arguments"));
}

// Products of these sizes leave 64 bits, some to 0, by which rows would be divided.
TEST(FrameworkOps, SizesThatNoMemoryHoldsAreNone) {
  const std::string dims = "[[4294967296, 4294967296], [4294967296, 4294967296], [4294967296, 4294967296]]";
  for (const char* name :
       {"aten::_softmax", "aten::native_layer_norm", "aten::mm", "aten::relu", "aten::add"})
    EXPECT_THAT(WhyNot(name, With(dims.c_str(), "").c_str()), HasSubstr("sizes not recorded")) << name;
  EXPECT_THAT(WhyNot("aten::sum", With(dims.c_str(), R"(["", "[0]"])").c_str()),
              HasSubstr("sizes not recorded"));
  EXPECT_THAT(WhyNot("aten::relu", With("[[-4, -4]]", "").c_str()), HasSubstr("sizes not recorded"));
  EXPECT_THAT(WhyNot("aten::_fused_adam_", With("[[[1125899906842624], [1125899906842624]]]", "").c_str()),
              HasSubstr("sizes not recorded"));
}

TEST(FrameworkOps, ArgumentsBeyondAllSizesAreRead) {
  for (const char* padding : {"9223372036854775807", "-9223372036854775808", "99999999999999999999"}) {
    std::string other = kConvolution;
    other.replace(other.find("\"[1, 1]\""), 8, fmt::format("\"[{}]\"", padding));
    EXPECT_THAT(WhyNot("aten::cudnn_convolution", other.c_str()), HasSubstr("another padding")) << padding;
  }
  // Read once, not once for each of its digits.
  const std::string digits(1'000'000, '9');
  EXPECT_THAT(
      WhyNot("aten::_softmax", With("[[4, 8]]", fmt::format(R"(["", "{}"])", digits).c_str()).c_str()),
      HasSubstr("another axis"));
}

// A tensor of one number has no axes; neither has what is no tensor.
TEST(FrameworkOps, SingleNumbersAreTold) {
  EXPECT_THAT(Labels("aten::fill_", R"({"Input Dims": [[], []], "Input type": ["float", "Scalar"]})"),
              ElementsAre("fill f32 elements=1"));
  EXPECT_THAT(WhyNot("aten::fill_", R"({"Input Dims": [[], []], "Input type": ["", "Scalar"]})"),
              HasSubstr("sizes not recorded"));
  EXPECT_THAT(
      Labels(
          "aten::mse_loss_backward",
          R"({"Input Dims": [[], [5, 8], [5, 8], []], "Input type": ["float", "float", "float", "Scalar"]})"),
      ElementsAre("sub f32 elements=40"));
  EXPECT_THAT(
      WhyNot("aten::mse_loss_backward",
             R"({"Input Dims": [[5, 8], [5, 8], [5, 8]], "Input type": ["float", "float", "float"]})"),
      HasSubstr("operands of two shapes"));
}

// What a compiler fused: by how many tensors its kernel touches.
TEST(FrameworkOps, FusedElementwiseOpsAreTold) {
  const auto fused = [](const char* dims, const char* types) {
    return fmt::format(R"({{"Input Dims": {}, "Input type": {}}})", dims, types);
  };
  const char* const name = "triton_poi_fused_add_cos_0";
  EXPECT_THAT(
      Labels(name, fused("[[4, 8], [4, 8], [4, 8], []]", R"(["float", "float", "float", "Scalar"])").c_str()),
      ElementsAre("add f32 elements=32"));
  EXPECT_THAT(Labels(name, fused("[[4, 8], [32], []]", R"(["float", "float", "Scalar"])").c_str()),
              ElementsAre("scale f32 elements=32"));
  EXPECT_EQ(WhyNot(name, fused("[[4], [4], [4], [4]]", R"(["float", "float", "float", "float"])").c_str()),
            std::string(name) + ", one kernel over 4 tensors");
  EXPECT_THAT(WhyNot(name, fused("[[4, 8], [8]]", R"(["float", "float"])").c_str()), HasSubstr("two shapes"));
  EXPECT_EQ(WhyNot("triton_red_fused_sum_0", "{}"), "triton_red_fused_sum_0");
}

TEST(FrameworkOps, CollectivesHaveBytesAndRanks) {
  const auto label = [](const char* name, const char* arguments) {
    const auto told = TellCollective(MarkerOf(name, arguments));
    return told ? LabelOf(*told) : "nothing";
  };
  EXPECT_EQ(label("record_param_comms",
                  R"({"Collective name": "allreduce", "In msg nelems": 10, "Out msg nelems": 10,
                                            "Group size": 2, "dtype": "Float"})"),
            "allreduce bytes=40 ranks=2");
  EXPECT_EQ(label("nccl:all_to_all", R"({"Input Dims": [[8, 4]], "Input type": ["c10::Half"]})"),
            "all_to_all bytes=64");
  EXPECT_EQ(label("nccl:all_to_all", "{}"), "nothing");
  EXPECT_EQ(label("record_param_comms",
                  R"({"Collective name": "allreduce", "In msg nelems": 10, "dtype": "Strange"})"),
            "nothing");
  EXPECT_EQ(label("record_param_comms", "{}"), "nothing");
  EXPECT_EQ(
      label("record_param_comms",
            R"({"Collective name": "allreduce", "In msg nelems": 9223372036854775807, "dtype": "Float"})"),
      "nothing");
}

TEST(FrameworkOps, SaysWhyNot) {
  EXPECT_EQ(WhyNot("aten::strange", R"({"Input Dims": [[4]]})"), "aten::strange");
  EXPECT_THAT(WhyNot("aten::mm", "{}"), HasSubstr("without shapes"));
  EXPECT_THAT(WhyNot("aten::mm", R"({"Input Dims": "?", "Input type": 7})"), HasSubstr("without shapes"));
  EXPECT_EQ(WhyNot("aten::mm", R"({"Input Dims": [[0, 4], [4, 0]], "Input type": ["float", "float"]})"),
            "aten::mm, sizes not recorded, or of another rank");
  EXPECT_THAT(WhyNot("aten::mm", R"({"Input Dims": [[4, 4], [4, 4]], "Input type": ["double", "double"]})"),
              HasSubstr("other types"));
}

// What is told can be priced: as an op of a graph, or not at all.
TEST(FrameworkOps, EveryNameIsOfAnOpOfGraphs) {
  const std::vector<std::string_view> names = ToldNames();
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  for (const std::string_view name : names) {
    // Shapes and arguments that suit each of them: square images where four axes are looked for.
    bool told = false;
    for (
        const char* arguments :
        {R"({"Input Dims": [[8, 8], [8, 8], [8, 8]], "Input type": ["float", "float", "float"],
              "Concrete Inputs": ["", "[0]", ""]})",
         R"({"Input Dims": [[], [8, 8], [8, 8]], "Input type": ["float", "float", "float"]})",
         R"({"Input Dims": [[2, 8, 8], [2, 8, 8], [2, 8, 8]], "Input type": ["float", "float", "float"]})",
         R"({"Input Dims": [[8, 4, 6, 6], [4, 4, 3, 3], [4, 4, 3, 3]], "Input type": ["float", "float", "float"],
              "Concrete Inputs": ["", "", "[1, 1]", "[1, 1]", "[1, 1]", "1"]})",
         R"({"Input Dims": [[8, 4, 6, 6], [8, 4, 6, 6], [4, 4, 3, 3]], "Input type": ["float", "float", "float"],
              "Concrete Inputs": ["", "", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "", "1", "[True, True, False]"]})"}) {
      for (const ObservedOp& op : TellOp(MarkerOf(std::string(name).c_str(), arguments), {}).ops) {
        told = true;
        EXPECT_TRUE(GraphOf(op).has_value()) << name << ": " << LabelOf(op);
      }
    }
    EXPECT_TRUE(told) << name;
  }
}

}  // namespace
}  // namespace stowplan::cost_models
