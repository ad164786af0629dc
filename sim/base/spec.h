// Names that carry parameters: `placeto(lr=1e-3,rounds=8)`, `chain(table,fitted,analytic)`.
//
// A spec is a round-trip string: parsing and printing gives it back. It is the command-line argument, the key
// in results and the name of a golden file. Values may nest: `mars(grouper=neighbour(groups=128))`; in "…" anything goes.
#pragma once

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

// "a, b and c": for error messages that list what would be right.
std::string JoinNames(const std::vector<std::string>& names, const std::string& last = "and");

}  // namespace stowplan
