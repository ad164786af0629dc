#include "tables/timeline.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/base/error.h"

namespace stowplan::tables {
namespace {

using Spans = std::vector<std::pair<sim::Picos, sim::Picos>>;

// Overlapping spans count once.
std::string Digits(Spans spans, sim::Picos runtime) {
  std::sort(spans.begin(), spans.end());
  std::array<double, kTimelineParts> busy{};  // in slices
  const double slice = static_cast<double>(std::max<sim::Picos>(runtime, 1)) / kTimelineParts;
  sim::Picos covered = 0;
  for (const auto& [start, end] : spans) {
    const double from = static_cast<double>(std::max(start, covered)) / slice;
    const double to = static_cast<double>(end) / slice;
    covered = std::max(covered, end);
    for (auto i = static_cast<std::size_t>(from); i < kTimelineParts && static_cast<double>(i) < to; ++i) {
      const auto low = static_cast<double>(i);
      busy[i] += std::max(0.0, std::min(to, low + 1) - std::max(from, low));
    }
  }
  std::string digits;
  for (const double part : busy)
    digits += static_cast<char>('0' + std::min(9, static_cast<int>(std::ceil(10 * part - 1e-9))));
  return digits;
}

// Behind a colon at `at`; false where there are no such digits.
bool ReadDigits(const std::string& text, std::size_t at, std::array<double, kTimelineParts>& parts) {
  if (at + kTimelineParts >= text.size() || text[at] != ':') return false;
  for (std::size_t i = 0; i < kTimelineParts; ++i) {
    const char digit = text[at + 1 + i];
    if (digit < '0' || digit > '9') return false;
    parts[i] = (digit - '0') / 9.0;
  }
  return true;
}

}  // namespace

std::string KeepTimeline(const sim::Outcome& outcome, const sim::Placement& placement,
                         const sim::Cluster& cluster) {
  std::string text;
  for (std::size_t d = 0; d < cluster.devices.size(); ++d) {
    Spans works, sends;
    for (std::size_t op = 0; op < outcome.ops.size(); ++op) {
      if (placement.device[op] == static_cast<sim::DeviceIndex>(d))
        works.emplace_back(outcome.ops[op].start, outcome.ops[op].end);
    }
    for (const sim::TransferTimes& transfer : outcome.transfers) {
      if (transfer.from == static_cast<sim::DeviceIndex>(d)) sends.emplace_back(transfer.start, transfer.end);
    }
    text += fmt::format("{}{}:{}:{}", text.empty() ? "" : " ", cluster.devices[d].name,
                        Digits(std::move(works), outcome.runtime), Digits(std::move(sends), outcome.runtime));
  }
  return text;
}

// The name of a device may hold any text but control characters: a lane ends where its digits do.
std::vector<TimelineLane> ReadTimeline(const std::string& text, const std::string& where) {
  constexpr std::size_t kDigits = 1 + kTimelineParts;  // with their colon
  std::vector<TimelineLane> lanes;
  for (std::size_t begin = 0; begin < text.size();) {
    TimelineLane lane;
    std::size_t at = text.find(':', begin);
    while (at != std::string::npos && !ReadDigits(text, at, lane.works)) at = text.find(':', at + 1);
    const std::size_t end = at + 2 * kDigits;
    if (at == std::string::npos || !ReadDigits(text, at + kDigits, lane.sends) ||
        (end < text.size() && text[end] != ' ')) {
      throw InputError(fmt::format("{}: the timeline is wrong: wanted are DEVICE:<{} digits>:<{} digits>.",
                                   where, kTimelineParts, kTimelineParts));
    }
    lane.device = text.substr(begin, at - begin);
    lanes.push_back(std::move(lane));
    begin = end + 1;
  }
  return lanes;
}

}  // namespace stowplan::tables
