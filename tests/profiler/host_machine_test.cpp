#include "profiler/host_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stowplan::profiler {
namespace {

TEST(HostMachine, IsNamedWithItsCoresAndVectors) {
  EXPECT_THAT(HostText(), ::testing::StartsWith(CpuModel() + ", "));
  EXPECT_THAT(HostText(), ::testing::ContainsRegex(", [1-9][0-9]* cores?(, AVX2|, AVX-512)?$"));
#if defined(__x86_64__)
  EXPECT_EQ(HostText().ends_with(", AVX2") || HostText().ends_with(", AVX-512"),
            __builtin_cpu_supports("avx2") != 0);
#endif
}

}  // namespace
}  // namespace stowplan::profiler
