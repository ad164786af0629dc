// Split points for torch.distributed.pipelining: each stage begins with a module, one stage for each device in the order of
// the forward pass.
#include <fmt/format.h>

#include "scenarios/exporters/exporters.h"
#include "scenarios/exporters/placed_stages.h"
#include "sim/base/error.h"
#include "sim/formats/document/json_text.h"

namespace stowplan::scenarios {
namespace {

class ModuleSplit {
 public:
  explicit ModuleSplit(const ExportInput& input)
      : stages_(input, "pipeline"), position_(input.problem.graph().ops.size(), -1) {
    for (std::size_t p = 0; p < stages_.forward().size(); ++p)
      position_[static_cast<std::size_t>(stages_.forward()[p])] = static_cast<std::int32_t>(p);
    begins_.emplace_back();
    for (std::size_t s = 1; s < stages_.stages().size(); ++s)
      begins_.push_back(BeginningOf(stages_.stages()[s]));
  }

  std::string Print() const {
    const std::vector<PlacedStage>& stages = stages_.stages();
    std::string text = "{\n  \"split_spec\": {";
    for (std::size_t s = 1; s < stages.size(); ++s) {
      text += s == 1 ? "\n    " : ",\n    ";
      text += formats::JsonString(begins_[s]) + ": \"beginning\"";
    }
    text += "\n  },\n  \"stages\": [";
    for (std::size_t s = 0; s < stages.size(); ++s) {
      text += s == 0 ? "\n    " : ",\n    ";
      text += fmt::format("{{\"rank\": {}, \"device\": {}, \"modules\": [", s,
                          formats::JsonString(stages_.Device(stages[s])));
      const char* separator = "";
      for (const std::int32_t m : stages_.modules().Coarsest()) {
        if (stages_.modules().device(m) != stages[s].device) continue;
        text += separator + formats::JsonString(stages_.modules().module(m).path);
        separator = ", ";
      }
      text += "]}";
    }
    text += "\n  ],\n  \"shared_weights\": {";
    const char* separator = "\n    ";
    for (const auto& [op, readers] : stages_.shared()) {
      text += fmt::format("{}{}: [{}]", separator,
                          formats::JsonString(sim::ModulePath(stages_.modules().op(op).name)),
                          fmt::join(readers, ", "));
      separator = ",\n    ";
    }
    return text + (stages_.shared().empty() ? "}\n}\n" : "\n  }\n}\n");
  }

 private:
  // The coarsest module whose first op this is.
  std::string BeginningOf(const PlacedStage& stage) const {
    const sim::OpIndex op = stages_.forward()[stage.begin];
    const sim::ModuleTree& tree = stages_.modules().tree();
    std::int32_t m = tree.module_of_op[static_cast<std::size_t>(op)];
    const std::string inside = stages_.modules().module(m).path;
    std::string found;
    for (; m > 0 && First(m) == op; m = stages_.modules().module(m).parent)
      found = stages_.modules().module(m).path;
    if (found.empty()) {
      throw InputError(fmt::format(
          "pipeline: the stage of {} begins at {}, within {}; stages begin where a module does, as those of "
          "`stowplan place --for pipeline`.",
          stages_.Device(stage), stages_.modules().op(op).name, inside.empty() ? "no module" : inside));
    }
    return found;
  }

  // The first op of the forward pass in the module or below it; -1 = none.
  sim::OpIndex First(std::int32_t m) const {
    sim::OpIndex first = -1;
    const auto take = [&](sim::OpIndex op) {
      if (op < 0 || position_[static_cast<std::size_t>(op)] < 0) return;
      if (first < 0 || position_[static_cast<std::size_t>(op)] < position_[static_cast<std::size_t>(first)])
        first = op;
    };
    for (const sim::OpIndex op : stages_.modules().module(m).own) take(op);
    for (const std::int32_t child : stages_.modules().module(m).children) take(First(child));
    return first;
  }

  PlacedStages stages_;
  std::vector<std::int32_t> position_;  // by op, in the order of the forward pass; -1 = not of it
  std::vector<std::string> begins_;     // by stage, the module that it begins with; empty = the model does
};

}  // namespace

Exported ExportPipeline(const ExportInput& input) {
  return {.text = ModuleSplit(input).Print(), .notes = {}};
}

}  // namespace stowplan::scenarios
