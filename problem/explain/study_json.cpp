#include <nlohmann/json.hpp>

#include "problem/explain/memory_parts.h"
#include "problem/explain/study.h"

namespace stowplan::problem {
namespace {

using Json = nlohmann::ordered_json;

double Us(sim::Picos picos) {
  return sim::ToMicros(picos);
}

Json OomJson(const Study& study) {
  if (study.outcome.feasible()) return nullptr;
  const sim::OutOfMemory& oom = *study.outcome.oom;
  return {{"device", study.problem.cluster().devices[static_cast<std::size_t>(oom.device)].name},
          {"op", study.problem.graph().ops[static_cast<std::size_t>(oom.op)].name},
          {"what", sim::ToString(oom.what)},
          {"time_us", Us(oom.time)},
          {"needed_bytes", oom.needed},
          {"capacity_bytes", oom.capacity}};
}

Json PathJson(const Study& study) {
  const sim::Cluster& cluster = study.problem.cluster();
  Json devices = Json::array(), types = Json::array(), routes = Json::array();
  for (std::size_t d = 0; d < study.path.devices.size(); ++d)
    devices.push_back({{"name", cluster.devices[d].name}, {"us", Us(study.path.devices[d])}});
  for (const auto& [type, time] : study.path.types) types.push_back({{"type", type}, {"us", Us(time)}});
  for (const PathShares::Route& route : study.path.routes) {
    Json links = Json::array();
    for (const auto& hop : cluster.route(route.from, route.to))
      links.push_back(cluster.links[static_cast<std::size_t>(hop.link)].name);
    routes.push_back({{"from", cluster.devices[static_cast<std::size_t>(route.from)].name},
                      {"to", cluster.devices[static_cast<std::size_t>(route.to)].name},
                      {"links", std::move(links)},
                      {"transfers", route.transfers},
                      {"us", Us(route.time)}});
  }
  return {{"devices", std::move(devices)},
          {"op_types", std::move(types)},
          {"routes", std::move(routes)},
          {"collectives_us", Us(study.path.collectives)},
          {"dispatch_us", Us(study.path.dispatch)},
          {"waiting_us", Us(study.path.waiting)}};
}

Json DevicesJson(const Study& study) {
  const std::vector<MemoryParts> peaks = MemoryAtPeak(study.problem.graph(), study.why);
  Json devices = Json::array();
  for (std::size_t d = 0; d < peaks.size(); ++d) {
    const sim::DeviceUse& use = study.outcome.devices[d];
    const sim::IdleTime& idle = study.why.idle[d];
    const sim::Device& device = study.problem.cluster().devices[d];
    devices.push_back({{"name", device.name},
                       {"busy_us", Us(use.busy)},
                       {"idle",
                        {{"upstream_us", Us(idle.upstream)},
                         {"queued_us", Us(idle.queued)},
                         {"transfer_us", Us(idle.transfer)},
                         {"collective_us", Us(idle.collective)},
                         {"dispatch_us", Us(idle.dispatch)},
                         {"finished_us", Us(idle.finished)}}},
                       {"peak_bytes", use.peak},
                       {"capacity_bytes", device.capacity()},
                       {"peak_time_us", Us(study.why.peak_time[d])},
                       {"peak",
                        {{"persistent_bytes", peaks[d].persistent()},
                         {"output_bytes", peaks[d].outputs()},
                         {"copy_bytes", peaks[d].copies}}}});
  }
  return devices;
}

Json LinksJson(const Study& study) {
  Json links = Json::array();
  for (std::size_t l = 0; l < study.outcome.links.size(); ++l) {
    links.push_back({{"name", study.problem.cluster().links[l].name},
                     {"busy_us", Us(study.outcome.links[l].busy)},
                     {"bytes", study.outcome.links[l].bytes},
                     {"critical_us", Us(study.path.links[l])}});
  }
  return links;
}

Json WhatIfsJson(const Study& study) {
  const sim::Cluster& cluster = study.problem.cluster();
  Json what_ifs = Json::array();
  for (const sim::WhatIf& what_if : study.what_ifs) {
    Json name = nullptr;
    if (what_if.change == sim::WhatIf::Change::kDevice)
      name = cluster.devices[static_cast<std::size_t>(what_if.index)].name;
    if (what_if.change == sim::WhatIf::Change::kLink)
      name = cluster.links[static_cast<std::size_t>(what_if.index)].name;
    what_ifs.push_back({{"change", sim::ToString(what_if.change)},
                        {"name", std::move(name)},
                        {"feasible", what_if.feasible},
                        {"unlimited_runtime_us", Us(what_if.runtime)},
                        {"gain", study.Gain(what_if)}});
  }
  return what_ifs;
}

}  // namespace

std::string StudyJson(const Study& study) {
  const sim::Problem& problem = study.problem;
  Json runtime = nullptr;
  if (study.outcome.feasible()) runtime = Us(study.outcome.runtime);
  const Json json = {{"format", "stowplan.explanation"},
                     {"version", 1},
                     {"graph", problem.graph().name},
                     {"cluster", problem.cluster().name},
                     {"rules", sim::ToString(problem.cluster().rules)},
                     {"cost_model", problem.costs().cost_model},
                     {"feasible", study.outcome.feasible()},
                     {"runtime_us", std::move(runtime)},
                     {"unlimited_runtime_us", Us(study.outcome.runtime)},
                     {"oom", OomJson(study)},
                     {"lower_bound",
                      {{"best_us", Us(study.bound.best())},
                       {"critical_path_us", Us(study.bound.critical_path)},
                       {"work_us", Us(study.bound.work)},
                       {"window_us", Us(study.bound.window)},
                       {"together_us", Us(study.bound.together)},
                       {"memory_us", Us(study.bound.memory)},
                       {"proven_infeasible", study.bound.nothing_fits}}},
                     {"critical_path", PathJson(study)},
                     {"devices", DevicesJson(study)},
                     {"links", LinksJson(study)},
                     {"faster", study.faster},
                     {"what_if", WhatIfsJson(study)}};
  return json.dump(1) + "\n";
}

}  // namespace stowplan::problem
