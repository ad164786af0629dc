#include "tables/timeline.h"

#include <algorithm>
#include <cmath>
#include <sstream>
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

void ReadDigits(const std::string& digits, const std::string& where,
                std::array<double, kTimelineParts>& parts) {
  if (digits.size() != kTimelineParts || digits.find_first_not_of("0123456789") != std::string::npos) {
    throw InputError(fmt::format("{}: the timeline is wrong: wanted are DEVICE:<{} digits>:<{} digits>.",
                                 where, kTimelineParts, kTimelineParts));
  }
  for (std::size_t i = 0; i < kTimelineParts; ++i) parts[i] = (digits[i] - '0') / 9.0;
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

std::vector<TimelineLane> ReadTimeline(const std::string& text, const std::string& where) {
  std::vector<TimelineLane> lanes;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    TimelineLane& lane = lanes.emplace_back();
    const std::size_t second = word.rfind(':');
    const std::size_t first =
        second == std::string::npos || second == 0 ? std::string::npos : word.rfind(':', second - 1);
    lane.device = word.substr(0, first);
    ReadDigits(first == std::string::npos ? "" : word.substr(first + 1, second - first - 1), where,
               lane.works);
    ReadDigits(word.substr(second + 1), where, lane.sends);
  }
  return lanes;
}

}  // namespace stowplan::tables
