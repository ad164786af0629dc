// The clusters behind the table in registry.cpp: each prints a stowplan.cluster file, with the source of every
// number in a comment beside it.
#pragma once

#include <string>

#include "sim/base/spec.h"

namespace stowplan::scenarios {

std::string K40Cluster(const Spec& spec);
std::string K80Cluster(const Spec& spec);
std::string P100Cluster(const Spec& spec);
std::string V100Cluster(const Spec& spec);
std::string Dgx2Cluster(const Spec& spec);
std::string A100Cluster(const Spec& spec);
std::string H100Cluster(const Spec& spec);
std::string H200Cluster(const Spec& spec);
std::string WorkstationCluster(const Spec& spec);
std::string PcieTreeCluster(const Spec& spec);
std::string H100HostsCluster(const Spec& spec);
std::string BaechiCluster(const Spec& spec);
std::string DopplerCluster(const Spec& spec);
std::string MsrCluster(const Spec& spec);

}  // namespace stowplan::scenarios
