// Valid documents, damaged in a thousand ways: every reader reads or refuses what comes out, and never
// crashes. A fixed sequence, so that ./check repeats it; tests/fuzz searches further.
#include "tests/formats/readers.h"
#include "tests/formats/testing.h"
#include "tests/testing.h"

namespace stowplan::formats {

// What gtest calls a case; else it prints the bytes, addresses among them.
static void PrintTo(const Reader& reader, std::ostream* out) {
  *out << reader.name;
}

namespace {

constexpr int kMutations = 1500;

// What damaged documents are made of: numbers at limits, structure, and words that mean something.
const char* const kTokens[] = {"{",
                               "}",
                               "[",
                               "]",
                               ",",
                               ":",
                               "\"",
                               "\\",
                               "\n",
                               " ",
                               "- ",
                               "0",
                               "-1",
                               "1e999",
                               "1e-999",
                               "1125899906842625",
                               "9223372036854775808",
                               "NaN",
                               "null",
                               "~",
                               "true",
                               "\"\"",
                               "\xff",
                               "\xef\xbb\xbf",
                               "\\u0000",
                               "\\ud800",
                               "&a",
                               "*a",
                               "!!int",
                               "---",
                               "...",
                               "%",
                               "#",
                               "|",
                               ">",
                               "?",
                               "<<",
                               "'",
                               "1GiB",
                               "1e400us",
                               "conv0:0",
                               "persistent",
                               "cost_us",
                               "format",
                               "stowplan.graph",
                               "name",
                               "ops"};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : engine_(seed) {}

  std::string Damage(std::string text) {
    for (std::uint64_t rounds = 1 + Below(4); rounds > 0; --rounds) DamageOnce(text);
    return text;
  }

 private:
  std::uint64_t Below(std::uint64_t bound) { return engine_() % bound; }

  void DamageOnce(std::string& text) {
    const std::size_t at = Below(text.size() + 1);
    const std::size_t length = Below(40);
    switch (Below(6)) {
      case 0:
        text.insert(at, kTokens[Below(std::size(kTokens))]);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(Below(text.size() + 1), text.substr(at, length));
        break;
      case 3:
        text.resize(at);
        break;
      case 4:
        text.replace(at, length, kTokens[Below(std::size(kTokens))]);
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(Below(256));
    }
  }

  std::mt19937_64 engine_;
};

class Mutation : public ::testing::TestWithParam<Reader> {};

TEST_P(Mutation, IsReadOrRefused) {
  const Reader& reader = GetParam();
  const std::string sample = ReadText(SamplePath(reader.sample));
  for (std::uint64_t seed = 1; seed <= kMutations; ++seed) {
    const std::string text = Mutator(seed).Damage(sample);
    ASSERT_NO_THROW(reader.read(text)) << "seed " << seed << ":\n" << text;
  }
}

TEST_P(Mutation, EveryTruncationIsReadOrRefused) {
  const Reader& reader = GetParam();
  const std::string sample = ReadText(SamplePath(reader.sample));
  for (std::size_t size = 0; size <= sample.size(); ++size) {
    ASSERT_NO_THROW(reader.read(std::string_view(sample).substr(0, size)))
        << "the first " << size << " bytes";
  }
}

INSTANTIATE_TEST_SUITE_P(Readers, Mutation, ::testing::ValuesIn(Readers().begin(), Readers().end()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace stowplan::formats
