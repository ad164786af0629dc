#include "scenarios/clusters/cluster_text.h"

#include <fmt/format.h>

namespace stowplan::scenarios {

ClusterText::ClusterText(const std::string& name, const std::string& what, const Settings& read,
                         std::string_view why_order) {
  Line("# " + what);
  Line("format: stowplan.cluster");
  Line("version: 1");
  Line(fmt::format("name: \"{}\"", name));
  Line("interconnect: " + read.Text("interconnect"));
  const bool free = read.Is("host", "none");
  Line(fmt::format("dispatch: {{per: {}, order: {}, cost: {}}}", free ? "device" : read.Text("host"),
                   read.Text("order"), free ? "0us" : "auto"),
       why_order);
  Line("devices:");
}

void ClusterText::Line(std::string_view line, std::string_view why) {
  text_ += line;
  if (!why.empty()) text_.append("  # ").append(why);
  text_ += '\n';
}

}  // namespace stowplan::scenarios
