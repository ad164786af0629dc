// What a cluster's rules are, in words.
#pragma once

#include <string>

#include "sim/cluster.h"

namespace stowplan::problem {

// "Of each GPU's memory 0.88 GB are kept for the framework, …" Empty where nothing is.
std::string ReserveText(const sim::Cluster& cluster);

// Which of these rules hold: "native rules, one host process, program order"; "published rules" know no host.
std::string RulesText(const sim::Cluster& cluster);

}  // namespace stowplan::problem
