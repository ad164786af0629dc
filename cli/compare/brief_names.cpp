#include "cli/compare/brief_names.h"

#include <algorithm>

#include "sim/base/spec.h"

namespace stowplan::cli {

std::vector<std::string> BriefNames(const std::vector<std::string>& specs) {
  std::vector<Spec> parsed;
  for (const std::string& spec : specs) parsed.push_back(Spec::Parse(spec));
  std::vector<std::string> names;
  for (const Spec& own : parsed) {
    Spec brief = own;
    // Whether all of this name have the parameter alike.
    std::erase_if(brief.named, [&](const auto& parameter) {
      return std::all_of(parsed.begin(), parsed.end(), [&](const Spec& other) {
        return other.name != own.name ||
               std::find(other.named.begin(), other.named.end(), parameter) != other.named.end();
      });
    });
    names.push_back(brief.ToString());
  }
  return names;
}

}  // namespace stowplan::cli
