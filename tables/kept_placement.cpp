#include "tables/kept_placement.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "sim/base/error.h"

namespace stowplan::tables {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

}  // namespace

std::string KeepPlacement(const agents::UnitPlacement& placement) {
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < placement.size(); begin = end) {
    const auto device = static_cast<std::size_t>(placement[begin]);
    if (device >= kLetters.size()) return {};
    while (end < placement.size() && placement[end] == placement[begin]) ++end;
    text += kLetters[device];
    if (end - begin > 1) text += std::to_string(end - begin);
  }
  return text;
}

bool IsOnOneDevice(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin() + 1, text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

agents::UnitPlacement ReadKeptPlacement(const std::string& text, const agents::Task& task,
                                        const std::string& where) {
  const auto units = static_cast<std::size_t>(task.units.size());
  agents::UnitPlacement placement;
  for (std::size_t at = 0; at < text.size();) {
    const auto device = static_cast<sim::DeviceIndex>(kLetters.find(text[at++]));
    std::size_t count = 1;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), count);
    if (error == std::errc()) at = static_cast<std::size_t>(end - text.data());
    if (std::find(task.devices.begin(), task.devices.end(), device) == task.devices.end() ||
        error == std::errc::result_out_of_range || count > units - placement.size()) {
      throw InputError(
          fmt::format("{}: the placement is wrong at character {}; wanted is a letter for one of the cell's "
                      "devices, with the length "
                      "of its run where that is not 1, for {} units.",
                      where, at, units));
    }
    placement.insert(placement.end(), count, device);
  }
  if (placement.size() != units) {
    throw InputError(
        fmt::format("{}: the placement is of {} units, the cell has {}.", where, placement.size(), units));
  }
  return placement;
}

}  // namespace stowplan::tables
