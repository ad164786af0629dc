// The clusters behind the table in registry.cpp: each prints a stowplan.cluster file, with the source of every
// number in a comment beside it.
#pragma once

#include <string>

#include "sim/base/settings.h"

namespace stowplan::scenarios {

std::string K40Cluster(const Settings& read);
std::string K80Cluster(const Settings& read);
std::string P100Cluster(const Settings& read);
std::string V100Cluster(const Settings& read);
std::string Dgx2Cluster(const Settings& read);
std::string A100Cluster(const Settings& read);
std::string H100Cluster(const Settings& read);
std::string H200Cluster(const Settings& read);
std::string WorkstationCluster(const Settings& read);
std::string PcieTreeCluster(const Settings& read);
std::string NetworkedHostsCluster(const Settings& read);  // by the cluster's name
std::string BaechiCluster(const Settings& read);
std::string DopplerCluster(const Settings& read);
std::string MsrCluster(const Settings& read);

}  // namespace stowplan::scenarios
