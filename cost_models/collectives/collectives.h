// How long collectives take on a cluster: the table of models is in registry.cpp, the numbers are in data/collectives.yaml.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cost_models/cost_models.h"
#include "sim/cluster.h"
#include "sim/collective_prices.h"

namespace stowplan::cost_models {

std::string_view ToString(sim::CollectiveType type);                            // "all-reduce"
std::optional<sim::CollectiveType> CollectiveTypeNamed(std::string_view name);  // empty if unknown
std::vector<std::string> CollectiveTypeNames();                                 // in the order of the enum

// A time and why it is that.
struct CollectivePrice {
  sim::Picos time = 0;
  std::string algorithm;  // "ring", "in-switch", …; empty where no bytes move
  int hosts = 1;
  std::string evidence;  // "measured: …", "derived: …", as in the catalogue
};

// Contract: as sim::CollectivePrices; Explain() gives TimeOf() its time. Reads the cluster as long as it lives.
class CollectiveModel : public sim::CollectivePrices {
 public:
  virtual CollectivePrice Explain(const sim::CollectiveShape& collective) const = 0;
};

struct CollectiveModelRow {
  const char* name;
  const char* what;
  SettingTable settings;
  std::unique_ptr<CollectiveModel> (*make)(const Settings& read, const sim::Cluster& cluster,
                                           const Catalogue& catalogue);
};
const std::vector<CollectiveModelRow>& CollectiveModels();

// From a spec ("nccl"); empty = the first of the table. Throws InputError for unknown names and settings. The cluster must be
// finished.
std::unique_ptr<CollectiveModel> MakeCollectiveModel(const std::string& spec, const sim::Cluster& cluster,
                                                     const Catalogue& catalogue = BuiltinCatalogue());

std::unique_ptr<CollectiveModel> MakeNcclCollectives(const Settings& read, const sim::Cluster& cluster,
                                                     const Catalogue& catalogue);

// The bandwidth that nccl-tests calls bus bandwidth [B/s]: what each rank's links carry, whatever the type and the ranks. 0 where
// no time passes.
double BusBandwidth(sim::CollectiveType type, sim::Bytes bytes, std::int64_t ranks, sim::Picos time);

}  // namespace stowplan::cost_models
