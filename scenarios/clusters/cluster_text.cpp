#include "scenarios/clusters/cluster_text.h"

#include <fmt/format.h>

#include "sim/base/error.h"

namespace stowplan::scenarios {

ClusterChoices ReadChoices(ParameterReader& read, GpuCount gpus, IssueOrder order) {
  ClusterChoices choices;
  choices.gpus = static_cast<int>(read.Int("gpus", gpus.if_not_given, 1, gpus.most));
  choices.interconnect = read.Choice("interconnect", {"fair", "fifo", "ideal"});
  choices.host = read.Choice("host", {"device", "process"});
  choices.order = order == IssueOrder::kProgram ? read.Choice("order", {"program", "ready"})
                                                : read.Choice("order", {"ready", "program"});
  return choices;
}

void FinishReading(const Spec& spec, ParameterReader& read) {
  if (!spec.positional.empty()) {
    throw InputError(spec.name + ": '" + spec.positional.front() + "' has no name; write " + spec.name +
                     "(gpus=2)");
  }
  read.Finish();
}

ClusterText::ClusterText(const std::string& name, const std::string& what, const ClusterChoices& choices,
                         std::string_view why_order) {
  Line("# " + what);
  Line("format: stowplan.cluster");
  Line("version: 1");
  Line(fmt::format("name: \"{}\"", name));
  Line("interconnect: " + choices.interconnect);
  Line(fmt::format("dispatch: {{per: {}, order: {}, cost: auto}}", choices.host, choices.order), why_order);
  Line("devices:");
}

void ClusterText::Line(std::string_view line, std::string_view why) {
  text_ += line;
  if (!why.empty()) text_.append("  # ").append(why);
  text_ += '\n';
}

}  // namespace stowplan::scenarios
