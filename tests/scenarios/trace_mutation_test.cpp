// The hand-made pair, damaged in a fixed way: read or refused in a sentence, whatever comes out; tests/fuzz searches further.
#include "sim/formats/formats.h"
#include "tests/scenarios/trace_reader.h"
#include "tests/testing.h"

namespace stowplan::scenarios {
namespace {

constexpr int kMutations = 600;
constexpr const char* kTokens[] = {"{",
                                   "}",
                                   "[",
                                   "]",
                                   "\"",
                                   ",",
                                   "0",
                                   "-1",
                                   "9223372036854775807",
                                   "1e300",
                                   "null",
                                   "\"cpu\"",
                                   "Tensor(float)",
                                   "(a!)",
                                   "GenericList[",
                                   "\x01"};

std::string Damaged(std::string text, std::mt19937_64& random) {
  for (int change = 0; change < 1 + static_cast<int>(random() % 3); ++change) {
    const std::size_t at = random() % text.size(),
                      length = std::min<std::size_t>(1 + random() % 24, text.size() - at);
    switch (random() % 4) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(random() % text.size(), length));
        break;
      case 2:
        text[at] = static_cast<char>('0' + random() % 10);
        break;
      default:
        text.insert(at, kTokens[random() % std::size(kTokens)]);
    }
    if (text.empty()) text = " ";
  }
  return text;
}

TEST(TraceMutation, IsReadOrRefused) {
  const std::string folder = STOWPLAN_SOURCE_DIR "/tests/scenarios/data/";
  const std::string execution = formats::ReadFile(folder + "step_execution.json");
  const std::string kineto = formats::ReadFile(folder + "step_kineto.json");
  std::mt19937_64 random(1);
  int read = 0;
  for (int i = 0; i < kMutations; ++i) {
    const bool damage_times = i % 3 == 0;
    read += ReadDamagedTrace(damage_times ? execution : Damaged(execution, random),
                             damage_times ? Damaged(kineto, random) : kineto)
                ? 1
                : 0;
  }
  EXPECT_GT(read, kMutations / 20) << "most damage was refused before anything was done with it";
  EXPECT_LT(read, kMutations);
}

}  // namespace
}  // namespace stowplan::scenarios
