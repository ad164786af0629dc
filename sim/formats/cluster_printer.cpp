// stowplan.cluster as we write it: every value in force.
#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/cluster.h"
#include "sim/formats/cluster_words.h"
#include "sim/formats/document/json_text.h"
#include "sim/formats/document/units_text.h"
#include "sim/formats/formats.h"

namespace stowplan::formats {
namespace {

using sim::Cluster;
using sim::Device;
using sim::Dispatch;
using sim::Link;

// Plain where YAML would read it back so.
std::string YamlText(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '/' || c == '-';
  });
  const bool null = text == "null" || text == "Null" || text == "NULL";
  return plain && !null && std::isalnum(static_cast<unsigned char>(text[0])) != 0 ? text : JsonString(text);
}

// Parts per million as a share: "0.71".
std::string YamlShare(std::int64_t ppm) {
  return JsonMicros(ppm);
}

std::string PrintDevice(const Device& device) {
  std::string line = fmt::format(
      "  - {{name: {}, kind: {}, memory: {}, reserve: {}, granularity: {}, streams: {}, copy_engines: {}",
      YamlText(device.name), YamlText(device.kind), PrintBytes(device.memory),
      device.automatic_reserve ? std::string(kAutomatic) : PrintBytes(device.reserve),
      PrintBytes(device.granularity), device.streams, device.copy_engines);
  if (!device.concurrency_ppm.empty()) {
    std::vector<std::string> rates;
    for (const auto ppm : device.concurrency_ppm) rates.push_back(YamlShare(ppm));
    line += fmt::format(", concurrency: [{}]", fmt::join(rates, ", "));
  }
  line += fmt::format(", overlap_copy: {}", YamlShare(device.overlap_copy_ppm));
  if (device.overlap_collective_ppm != sim::kPpm)
    line += fmt::format(", overlap_collective: {}", YamlShare(device.overlap_collective_ppm));
  return line + "}\n";
}

std::string PrintLink(const Cluster& cluster, const Link& link) {
  const auto name_of = [&](std::int32_t node) {
    const auto i = static_cast<std::size_t>(node);
    return YamlText(i < cluster.devices.size() ? cluster.devices[i].name
                                               : cluster.switches[i - cluster.devices.size()]);
  };
  std::string line = fmt::format("  - {{name: {}, ends: [{}, {}]", YamlText(link.name), name_of(link.ends[0]),
                                 name_of(link.ends[1]));
  if (!link.kind.empty()) line += fmt::format(", kind: {}", YamlText(link.kind));
  line += fmt::format(", bandwidth: {}, latency: {}, duplex: {}, both: {}", PrintBandwidth(link.bandwidth),
                      PrintTime(link.latency), kDuplexes[static_cast<std::size_t>(link.duplex)],
                      YamlShare(link.both_ppm));
  if (!link.curve.empty()) {
    std::vector<std::string> knots;
    for (const auto& [bytes, time] : link.curve)
      knots.push_back(fmt::format("[{}, {}]", PrintBytes(bytes), PrintTime(time)));
    line += fmt::format(", curve: [{}]", fmt::join(knots, ", "));
  }
  return line + "}\n";
}

// What is open is left out.
std::string PrintDispatch(const Dispatch& dispatch) {
  const auto word = [](const auto& words, auto which) {
    return std::string(words[static_cast<std::size_t>(which)]);
  };
  const bool is_flat = dispatch.mode == Dispatch::Mode::kFlat;
  const bool costs_by_kind = dispatch.automatic || !is_flat;
  std::string text = "dispatch: {per: ";
  text += dispatch.automatic_per ? std::string(kAutomatic) : word(kPers, dispatch.per);
  if (!dispatch.automatic_order) text += ", order: " + word(kOrders, dispatch.order);
  if (!dispatch.automatic_mode && costs_by_kind) text += ", mode: " + word(kModes, dispatch.mode);
  if (!dispatch.automatic_mode || dispatch.automatic)
    text += ", cost: " + (costs_by_kind ? std::string(kAutomatic) : PrintTime(dispatch.cost));
  return text + "}\n";
}

std::string PrintRoute(const Cluster& cluster, const sim::Route& route) {
  std::vector<std::string> via;
  for (const auto link : route.via)
    via.push_back(YamlText(cluster.links[static_cast<std::size_t>(link)].name));
  return fmt::format("  - {{from: {}, to: {}, via: [{}]}}\n",
                     YamlText(cluster.devices[static_cast<std::size_t>(route.from)].name),
                     YamlText(cluster.devices[static_cast<std::size_t>(route.to)].name),
                     fmt::join(via, ", "));
}

}  // namespace

std::string PrintCluster(const Cluster& cluster) {
  std::string out = "format: stowplan.cluster\nversion: 1\n";
  if (!cluster.name.empty()) out += fmt::format("name: {}\n", YamlText(cluster.name));
  out +=
      fmt::format("rules: {}\ninterconnect: {}\n", ToString(cluster.rules), YamlText(cluster.interconnect));
  out += PrintDispatch(cluster.dispatch);
  out += "devices:\n";
  for (const Device& device : cluster.devices) out += PrintDevice(device);
  if (!cluster.switches.empty()) {
    std::vector<std::string> names;
    for (const auto& name : cluster.switches) names.push_back(YamlText(name));
    out += fmt::format("switches: [{}]\n", fmt::join(names, ", "));
  }
  if (!cluster.links.empty()) out += "links:\n";
  for (const Link& link : cluster.links) out += PrintLink(cluster, link);
  if (!cluster.routes.empty()) out += "routes:\n";
  for (const auto& route : cluster.routes) out += PrintRoute(cluster, route);
  return out;
}

}  // namespace stowplan::formats
