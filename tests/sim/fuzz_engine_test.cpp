// The entry of tests/fuzz/fuzz_engine.cpp without a fuzzer: it is compiled here too, and aborts at a difference.
#include "tests/sim/random_case.h"
#include "tests/testing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace stowplan::sim {
namespace {

TEST(FuzzEngine, RandomBytesShowNoDifference) {
  Dice dice(std::uint64_t{1});
  for (int i = 0; i < 1000; ++i) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(dice.Between(0, 1000)));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(dice.Between(0, 255));
    EXPECT_EQ(LLVMFuzzerTestOneInput(bytes.data(), bytes.size()), 0);
  }
}

}  // namespace
}  // namespace stowplan::sim
