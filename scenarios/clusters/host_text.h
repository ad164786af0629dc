// What the files of hosts with GPUs have in common. `first` and `gpus`: the numbers of the GPUs meant.
#pragma once

#include <string>

#include "scenarios/clusters/cluster_text.h"

namespace stowplan::scenarios {

void WriteCpu(ClusterText& yaml, int cpu);
// `memory`: " memory: 32GiB," where it is not the kind's.
void WriteGpus(ClusterText& yaml, int first, int gpus, const std::string& kind,
               const std::string& memory = "");
void WriteRootPorts(ClusterText& yaml, int cpu, int first, int gpus, const std::string& pcie_kind);
// The switches themselves are never the bottleneck: only a GPU's own links are modelled.
void WriteNvswitch(ClusterText& yaml, const std::string& name, int first, int gpus, const std::string& kind);

}  // namespace stowplan::scenarios
