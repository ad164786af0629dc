#include "profiler/op_graphs.h"

#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

using Sizes = std::vector<std::pair<std::string, std::int64_t>>;

std::string RefusalOf(const char* op, const Sizes& shape) {
  return tests::ErrorOf([&] { GraphOf({.op = op, .format = "f32", .shape = shape}); }, "no error");
}

TEST(OpGraphs, SizesWhoseProductsLeave64BitsAreRefused) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_EQ(RefusalOf("gemm", {{"m", 8}, {"n", 8}, {"k", 8}}), "no error");
  EXPECT_THAT(RefusalOf("gemm", {{"m", kHuge}, {"n", kHuge}, {"k", kHuge}}), HasSubstr("a probe of gemm"));
  EXPECT_THAT(RefusalOf("conv2d", {{"batch", 1},
                                   {"side", 1},
                                   {"in", kHuge},
                                   {"out", 1},
                                   {"kernel_h", kHuge},
                                   {"kernel_w", kHuge},
                                   {"stride", 1}}),
              HasSubstr("a probe of conv2d has a tensor"));
}

}  // namespace
}  // namespace stowplan::profiler
