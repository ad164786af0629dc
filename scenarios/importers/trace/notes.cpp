#include "scenarios/importers/trace/notes.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace stowplan::scenarios::trace {
namespace {

// "aten.foo (3), aten.bar (1)", the most frequent first.
std::string CountedText(const std::map<std::string, std::int64_t>& counts) {
  std::vector<std::pair<std::string, std::int64_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater<>(), [](const auto& one) { return one.second; });
  constexpr std::size_t kMost = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMost); ++i)
    text += fmt::format("{}{} ({})", i > 0 ? ", " : "", sorted[i].first, sorted[i].second);
  return sorted.size() > kMost ? text + fmt::format(" and {} more", sorted.size() - kMost) : text;
}

std::vector<std::string> TimeNotes(const Seen& seen, const Times& times, const ImportOptions& options) {
  std::vector<std::string> notes;
  const auto share = [](double part, double whole) { return whole > 0 ? 100 * part / whole : 0; };
  if (times.device_us > 0) {
    notes.push_back(
        fmt::format("ops take {:.6g} us of the {:.6g} us that the trace's device{} worked ({:.1f} %); {:.6g} "
                    "us from its first record to "
                    "its last",
                    seen.device_us, times.device_us, times.gpu.empty() ? "" : " (" + times.gpu + ")",
                    share(seen.device_us, times.device_us), times.step_us));
    constexpr double kExplained = 95;  // [%]
    if (share(seen.device_us, times.device_us) < kExplained)
      notes.emplace_back(
          "warning: no op explains the rest of what the device did, which a simulated step leaves out");
    if (options.gpu.empty())
      notes.emplace_back(
          "every GPU is taken to be as fast as the one recorded; --gpu KIND says which kind it is");
  }
  if (seen.host_us > 0) {
    notes.push_back(fmt::format("ops on the CPU take {:.6g} us{}", seen.host_us,
                                times.device_us > 0
                                    ? std::string()
                                    : fmt::format(" of the {:.6g} us from the first to the last ({:.1f} %)",
                                                  times.step_us, share(seen.host_us, times.step_us))));
  }
  if (times.cut) notes.emplace_back(kCutNote);
  if (!times.repaired.empty()) notes.push_back(times.repaired);
  if (times.by_order)
    notes.push_back(fmt::format(
        "the traces number their ops differently, which are matched by the order of their names: {} of {}",
        times.matching.matched, times.matching.ops));
  if (seen.untimed > 0)
    notes.push_back(fmt::format("{} ops are not in the Kineto trace: cost models price them", seen.untimed));
  return notes;
}

}  // namespace

std::vector<std::string> NotesOf(const Seen& seen, const ExecutionTrace& execution, const Times* times,
                                 const ImportOptions& options) {
  std::vector<std::string> notes;
  if (times != nullptr) {
    notes = TimeNotes(seen, *times, options);
  } else {
    notes.emplace_back(
        "has no times: cost models price its ops (`stowplan graph import` with --kineto takes those "
        "measured)");
  }
  notes.push_back(
      fmt::format("{} tensors were there before: {} inputs, {} weights and what an optimizer keeps",
                  seen.variables, seen.inputs, seen.variables - seen.inputs));
  if (seen.inputs == 0)
    notes.emplace_back("nothing tells its inputs from its weights: it cannot be cut into micro-batches");
  if (!seen.unknown.empty()) {
    notes.push_back(
        fmt::format("not known, priced by the bytes they move alone where no time is measured: {}",
                    CountedText(seen.unknown)));
  }
  const auto count = [&](std::string_view part) {
    return std::ranges::count_if(execution.nodes,
                                 [&](const Node& node) { return node.name.find(part) != std::string::npos; });
  };
  if (const auto steps = count("ProfilerStep#"); steps > 1)
    notes.push_back(fmt::format("holds {} steps, one behind the other; record one", steps));
  if (!seen.collectives.empty()) {
    notes.push_back(
        fmt::format("one process of several: collectives are ops {}: {}",
                    times != nullptr
                        ? "that take the time they took here, waiting for the others included, on any machine"
                        : "that are priced by the bytes they move alone",
                    CountedText(seen.collectives)));
  }
  return notes;
}

}  // namespace stowplan::scenarios::trace
