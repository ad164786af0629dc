#include "profiler/traces/nvtx_ops.h"

#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

Marker Told(const char* name) {
  ActivityTrace trace;
  trace.markers.emplace_back();
  trace.markers[0].name = name;
  trace.markers[0].what = Marker::What::kAnnotation;
  TellNvtxOps(trace);
  return trace.markers[0];
}

TEST(NvtxOps, AreToldWithTheirSizes) {
  const Marker marker =
      Told("aten::mm, seq = 5, op_id = 7, sizes = [[64, 32], [32, 16], []], input_op_ids = [(1,0)]");
  EXPECT_EQ(marker.what, Marker::What::kOp);
  EXPECT_EQ(marker.name, "aten::mm");
  const sim::Attribute* const dims = sim::FindAttribute(marker.attributes, "Input Dims");
  ASSERT_NE(dims, nullptr);
  const auto& list = std::get<sim::Attribute::List>(dims->value);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(std::get<sim::Attribute::List>(list[1].value).front(), (sim::Attribute{std::int64_t{32}}));
}

TEST(NvtxOps, WithoutSizesTheNameAlone) {
  EXPECT_EQ(Told("aten::relu_, seq = 5").name, "aten::relu_");
  EXPECT_TRUE(Told("aten::relu_, seq = 5").attributes.empty());
  EXPECT_TRUE(Told("aten::mm, sizes = [[64, 32").attributes.empty());  // cut
  EXPECT_TRUE(Told("aten::mm, sizes = [[a]]").attributes.empty());
}

TEST(NvtxOps, OpsOfOtherLibrariesAreKnownByWhatPyTorchSaysOfThem) {
  EXPECT_EQ(Told("torchvision::nms, op_id = 7, sizes = [[3, 4]]").what, Marker::What::kOp);
  EXPECT_EQ(Told("torchvision::nms, seq = 7").name, "torchvision::nms");
}

TEST(NvtxOps, OtherRangesStayAnnotations) {
  for (const char* name :
       {"step", "ProfilerStep#3", "std::vector<int>", "my::range of mine", "a, sizes = [[3]]", "",
        "Model::forward", "std::sort", "Model::forward, batch = 3", "::, seq = 1"}) {
    EXPECT_EQ(Told(name).what, Marker::What::kAnnotation) << name;
    EXPECT_EQ(Told(name).name, name);
  }
}

}  // namespace
}  // namespace stowplan::profiler
