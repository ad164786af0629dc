// The makers behind the table in registry.cpp, one for each file, and what models share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cost_models/cost_models.h"
#include "cost_models/parameters/parameters.h"
#include "sim/base/settings.h"

namespace stowplan::cost_models {

// The settings of a model that only reads a file.
inline SettingTable FileSettings() {
  return {{{"file", "what was measured: a stowplan.cost_model file", Text(), ""}}};
}
inline SettingTable ConstantSettings() {
  return {{{"us", "microseconds of every op", Number(0, sim::kMaxMicros), "10"}}};
}
SettingTable AnalyticSettings();  // without the efficiencies, whose names are op classes and kinds

std::unique_ptr<sim::CostModel> MakeConstant(const Spec& spec, const Catalogue& catalogue);
std::unique_ptr<sim::CostModel> MakeAnalytic(const Spec& spec, const Catalogue& catalogue);
std::unique_ptr<sim::CostModel> MakeTable(const Spec& spec, const Catalogue& catalogue);
std::unique_ptr<sim::CostModel> MakeFitted(const Spec& spec, const Catalogue& catalogue);
std::unique_ptr<sim::CostModel> MakeChain(const Spec& spec, const Catalogue& catalogue);

// Half and double: data-sheet rooflines are off by 32 to 51 % on average on the H100 GEMMs that Vidur
// published, which leaves nine in ten within about a factor of 2.
inline constexpr double kStructuralFactor = 2;

inline sim::Price StructuralPrice(double us) {
  return {us, sim::Tier::kStructural, us / kStructuralFactor, us * kStructuralFactor};
}

// Variables, constants, placeholders and views take no time on any device.
inline constexpr sim::Price kFree = {0, sim::Tier::kStructural, 0, 0};

}  // namespace stowplan::cost_models
