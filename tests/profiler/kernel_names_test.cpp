#include "profiler/traces/kernel_names.h"

#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

// Expected: what c++filt says.
TEST(KernelNames, AreDemangled) {
  const std::string mangled =
      "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_";
  const std::string plain =
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
      "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)";
  EXPECT_EQ(Demangled(mangled), plain);
  EXPECT_EQ(Demangled(mangled), plain);  // the second time from what was kept
  EXPECT_EQ(Demangled("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"),
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
}

TEST(KernelNames, ThatAreNotMangledStay) {
  for (const char* name : {"", "i", "float", "ampere_sgemm_128x64_nn", "nvjet_tst_128x64_64x8_2x1_v_bz_TNT",
                           "_Z", "_Z9", "_ZNS0", "_Z99999999999999999999fff"})
    EXPECT_EQ(Demangled(name), name);
}

TEST(KernelNames, MoreOfThemThanAreKeptAreStillRight) {
  for (int i = 1000; i < 40'000; ++i) {
    const std::string number = std::to_string(i), name = "f" + number;
    ASSERT_EQ(Demangled("_Z" + std::to_string(name.size()) + name + "v"), name + "()");
  }
}

TEST(KernelNames, CallsLoseTheVersionOfTheRuntime) {
  EXPECT_EQ(WithoutVersion("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(WithoutVersion("cudaLaunchKernelExC_v11060"), "cudaLaunchKernelExC");
  EXPECT_EQ(WithoutVersion("cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel_ptsz");
  for (const char* name : {"", "_v", "cudaLaunchKernel", "cuMemAlloc_v2", "cuEventElapsedTime_v2", "a_v70x0"})
    EXPECT_EQ(WithoutVersion(name), name);
}

}  // namespace
}  // namespace stowplan::profiler
