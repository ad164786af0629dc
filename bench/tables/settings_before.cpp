#include "bench/tables/settings_before.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "agents/agent.h"
#include "sim/error.h"

namespace berth::bench {
namespace {

class Today {
 public:
  // The name with all parameters in force; nothing where this build cannot make it.
  const std::optional<std::string>& NameOf(const std::string& agent) {
    const auto [name, is_new] = names_.try_emplace(agent);
    if (is_new) {
      try {
        name->second = agents::MakeAgent(agent)->name();
      } catch (const RunError&) {
      }
    }
    return name->second;
  }

 private:
  std::map<std::string, std::optional<std::string>> names_;
};

}  // namespace

std::string SettingsBefore(const TableResults& results) {
  Today today;
  std::string text;
  const bool several = results.table().blocks.size() > 1;
  for (const TableBlock& block : results.table().blocks) {
    for (const TableColumn& column : block.columns) {
      int run = 0, before = 0;
      for (const TableLine& line : block.lines) {
        const CellSummary& cell = results.At(block.key, line.key, column.key);
        if (!cell.was_run()) continue;
        ++run;
        const std::optional<std::string>& name = today.NameOf(line.AgentOf(column));
        // Behind a zero-shot agent's name stands what it was trained on.
        const bool same = !name || std::ranges::all_of(cell.records, [&](const CellRecord& record) {
          return record.agent == *name || (column.zero_shot && record.agent.starts_with(*name + " "));
        });
        if (!same) ++before;
      }
      if (before == 0) continue;
      text += fmt::format("{}{}{} ({} row{})", text.empty() ? "" : ", ", column.title,
                          several ? fmt::format(", {}", block.title) : "",
                          before == run ? std::to_string(run) : fmt::format("{} of {}", before, run),
                          run == 1 ? "" : "s");
    }
  }
  return text;
}

}  // namespace berth::bench
