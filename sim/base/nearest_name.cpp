#include "sim/base/nearest_name.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace stowplan {
namespace {

std::string Plain(std::string_view name) {
  std::string plain;
  for (const char c : name)
    plain += c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

// A longer name is near to none: both would be compared letter by letter.
constexpr std::size_t kMostLetters = 1000;

// Optimal string alignment: no letter is changed twice.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string NearestName(std::string_view name, const std::vector<std::string>& known) {
  const std::string wanted = Plain(name);
  const std::string* nearest = nullptr;
  std::size_t least = 0;
  for (const std::string& candidate : known) {
    const std::size_t longer = std::max(wanted.size(), candidate.size());
    const std::size_t shorter = std::min(wanted.size(), candidate.size());
    if (longer > kMostLetters || 3 * (longer - shorter) > longer) continue;
    const std::string plain = Plain(candidate);
    const std::size_t distance = Distance(wanted, plain);
    if (3 * distance > longer) continue;
    if (nearest != nullptr && distance >= least) continue;
    nearest = &candidate;
    least = distance;
  }
  if (nearest != nullptr) return *nearest;
  const auto begins = [&](const std::string& candidate) {
    return Plain(std::string_view(candidate).substr(0, wanted.size())) == wanted;
  };
  if (wanted.empty() || std::count_if(known.begin(), known.end(), begins) != 1) return {};
  return *std::find_if(known.begin(), known.end(), begins);
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& known) {
  const std::string nearest = NearestName(name, known);
  return nearest.empty() ? "" : " (did you mean " + nearest + "?)";
}

}  // namespace stowplan
