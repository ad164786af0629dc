#include "sim/base/plugin_interface.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include "sim/base/error.h"

namespace stowplan {
namespace {

constexpr std::string_view kMark = STOWPLAN_INTERFACE_MARK;
constexpr std::size_t kDigits = 12;

// Empty where there is none. A mark without digits behind it is that of code which looks for marks.
std::string InterfaceIn(std::string_view bytes) {
  for (auto at = bytes.find(kMark); at != std::string_view::npos; at = bytes.find(kMark, at + 1)) {
    const std::string_view digits = bytes.substr(at + kMark.size(), kDigits);
    if (digits.size() == kDigits && digits.find_first_not_of("0123456789abcdef") == std::string_view::npos)
      return std::string(digits);
  }
  return "";
}

}  // namespace

void CheckPlugin(const std::string& path, const std::string& what, const std::string& interface) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || bytes.empty())
    throw RunError(what + " cannot be opened: " + path + ": " +
                   (file.is_open() ? "is no file that can be read" : std::strerror(errno)));
  const std::string found = InterfaceIn(bytes);
  if (found.empty()) throw RunError(what + " cannot be opened: " + path + " is no plug-in of stowplan");
  if (found != interface) {
    throw InputError(path + ": belongs to another build than this program (interface " + found +
                     ", the program's is " + interface + "); build both together.");
  }
}

}  // namespace stowplan
