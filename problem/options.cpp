#include "problem/options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "output/console.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/spec.h"

namespace stowplan::problem {
namespace {

// What CLI11 takes for the reason of a refusal; empty = it is right.
template <typename Number>
std::string Refusal(const std::string& text, Number low, Number high, const std::string& wanted) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const bool right = error == std::errc() && stop == end && number >= low && number <= high;
  return right ? "" : fmt::format("\"{}\" is not {}.", text, wanted);
}

}  // namespace

CLI::Option* Whole(CLI::Option* option, std::int64_t low, std::int64_t high) {
  const std::string wanted =
      fmt::format("a whole number from {} to {}", output::CountText(low), output::CountText(high));
  return option->check([=](const std::string& text) { return Refusal(text, low, high, wanted); });
}

CLI::Option* Real(CLI::Option* option, double low, double high) {
  const std::string wanted = fmt::format("a number from {} to {}", low, high);
  return option->check([=](const std::string& text) { return Refusal(text, low, high, wanted); });
}

CLI::Option* Threads(CLI::Option* option) {
  return Whole(option, 0, kMaxThreads);
}

CLI::Option* OneOf(CLI::Option* option, const std::vector<std::string>& words) {
  option->option_text(fmt::format("{}", fmt::join(words, "|")));
  return option->check([=](const std::string& text) {
    const bool known = std::ranges::find(words, text) != words.end();
    return known ? ""
                 : fmt::format("\"{}\"{}: there are {}.", text, DidYouMean(text, words), JoinNames(words));
  });
}

CLI::Option* JsonFile(CLI::Option* option) {
  return option->check(WrongJsonName);
}

std::string WrongJsonName(const std::string& file) {
  std::filesystem::path name = std::filesystem::path(file).filename();
  if (name.extension() == ".zst") name = name.stem();
  const std::string suffix = name.extension().string();
  if (suffix.empty() || suffix == ".json") return {};
  return fmt::format("\"{}\" ends in {}, which is not written here; known are .json and .json.zst.", file,
                     suffix);
}

void RefuseTwoDocuments(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string first;
  for (const auto& [option, file] : files) {
    if (file != "-") continue;
    if (!first.empty()) {
      throw InputError(fmt::format(
          "{} - and {} - would mix two documents on standard output; give a file to one.", first, option));
    }
    first = option;
  }
}

}  // namespace stowplan::problem
