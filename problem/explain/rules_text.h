// What a cluster's rules are, in words.
#pragma once

#include <string>

#include "sim/cluster.h"
#include "sim/simulator.h"

namespace stowplan::problem {

// "Of each GPU's memory 0.88 GB are kept for the framework, …" Empty where nothing is.
std::string ReserveText(const sim::Cluster& cluster);

// "Issued op by op as eager PyTorch does, which takes the host 12.3 ms in all …" Empty where each op costs one time.
std::string HostText(const sim::Problem& problem);

// Which of these rules hold: "native rules, one host process, program order"; "published rules" know no host.
std::string RulesText(const sim::Cluster& cluster);

}  // namespace stowplan::problem
