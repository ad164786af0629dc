// Valid files, damaged in a fixed way: every reader reads or refuses what comes out. tests/fuzz searches further.
#include "tests/tables/readers.h"
#include "tests/testing.h"

namespace stowplan::tables {

static void PrintTo(const FileReader& reader, std::ostream* out) {
  *out << reader.name;
}

namespace {

class Mutations : public ::testing::TestWithParam<FileReader> {};

void DamageOnce(std::string& bytes, std::mt19937_64& engine) {
  static constexpr const char* kTokens[] = {
      "",  ",", "\"", "\n", "-1", "1e999", "nan", "{", "[", ":", "\xff", "0", "9223372036854775808",
      "#", "(", ")",  "=",  "\r"};
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(engine() % limit); };
  if (bytes.empty()) return;
  const std::size_t at = below(bytes.size());
  switch (below(4)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
      break;
    case 1:
      bytes.replace(at, below(6), kTokens[below(std::size(kTokens))]);
      break;
    case 2:
      bytes.erase(at, 1 + below(64));
      break;
    default:
      bytes.insert(at, bytes.substr(below(bytes.size()), below(64)));
  }
}

TEST_P(Mutations, AreReadOrRefused) {
  const FileReader& reader = GetParam();
  const std::string sample = reader.sample();
  reader.read(sample);
  std::mt19937_64 engine(20261123);
  const int mutations = std::string(reader.name) == "store" ? 40 : 400;
  for (int i = 0; i < mutations; ++i) {
    std::string bytes = sample;
    for (auto rounds = 1 + engine() % 3; rounds > 0; --rounds) DamageOnce(bytes, engine);
    reader.read(bytes);
  }
}

const auto NameOf = [](const auto& param) { return std::string(param.param.name); };
INSTANTIATE_TEST_SUITE_P(Files, Mutations, ::testing::ValuesIn(FileReaders().begin(), FileReaders().end()),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Imports, Mutations,
                         ::testing::ValuesIn(ImportReaders().begin(), ImportReaders().end()), NameOf);

}  // namespace
}  // namespace stowplan::tables
