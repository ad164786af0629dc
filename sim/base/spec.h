// Names that carry parameters: `placeto(lr=1e-3,rounds=8)`, `chain(table,fitted,analytic)`.
//
// A spec is a round-trip string: parsing and printing gives it back. It is the command-line argument, the key
// in results and the name of a golden file. Values may nest: `mars(grouper=neighbour(groups=128))`; in "…" anything goes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stowplan {

struct Spec {
  std::string name;
  std::vector<std::string> positional;                     // as written
  std::vector<std::pair<std::string, std::string>> named;  // in the order written

  // Throws InputError on unbalanced parentheses or quotes, empty names, a repeated key, or text after the closing one.
  static Spec Parse(std::string_view text);
  std::string ToString() const;
};

// Reads the named parameters of a spec with defaults; Finish() refuses what nobody asked for.
//
//   ParameterReader read(spec);
//   const double lr = read.Double("lr", 1e-3);
//   const int rounds = read.Int("rounds", 8, 1, 100);
//   read.Finish();   // InputError naming the unknown parameter and listing "lr, rounds"
//
// Every getter throws InputError for a value of the wrong type or out of range, naming spec and parameter.
class ParameterReader {
 public:
  explicit ParameterReader(const Spec& spec);

  std::int64_t Int(const std::string& key, std::int64_t fallback, std::int64_t low = INT64_MIN,
                   std::int64_t high = INT64_MAX);
  double Double(const std::string& key, double fallback, double low = -1e300, double high = 1e300);
  bool Bool(const std::string& key, bool fallback);  // yes/no (also true/false, 1/0)
  std::string String(const std::string& key, const std::string& fallback);
  // One of `choices`; the first is the default.
  std::string Choice(const std::string& key, const std::vector<std::string>& choices);

  void Finish();

  // name(all parameters with the values in force), in the order they were read: the canonical name.
  std::string Canonical() const;

 private:
  const std::string* Find(const std::string& key);
  void Note(const std::string& key, const std::string& value);
  [[noreturn]] void Fail(const std::string& key, const std::string& value, const std::string& wanted) const;

  Spec spec_;
  std::vector<std::string> known_;
  std::vector<std::pair<std::string, std::string>> in_force_;
};

// "a, b and c": for error messages that list what would be right.
std::string JoinNames(const std::vector<std::string>& names);

}  // namespace stowplan
