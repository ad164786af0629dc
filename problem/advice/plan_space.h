// What a search keeps to so that a format can say its plan: `stowplan place --for`.
#pragma once

#include <string>
#include <vector>

#include "agents/task.h"
#include "scenarios/scenarios.h"

namespace stowplan::problem {

// A row whose format says plans. Throws InputError for others, listing those.
const scenarios::ExporterRow& FindPlanFormat(const std::string& name);

// Of the devices that were asked for (empty = none was, so of all) those that a plan may use, in cluster order. Throws InputError
// where one was asked for that the format cannot say, and where too few are left.
std::vector<std::string> PlanDevices(const scenarios::ExporterRow& format, const sim::Cluster& cluster,
                                     const std::vector<std::string>& asked);

// Throws the exporter's InputError where the format cannot say a plan of this task (parts of equal size, in order, one for each
// device), or the units are too few for two stages.
void CheckPlanFormat(const scenarios::ExporterRow& format, const agents::Task& task,
                     const std::string& graph_file);

// Whether the format says it.
bool CanSay(const scenarios::ExporterRow& format, const agents::Task& task,
            const agents::UnitPlacement& placement, const std::string& graph_file);

}  // namespace stowplan::problem
