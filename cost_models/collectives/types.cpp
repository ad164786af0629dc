// The names of collectives, and what of their bytes each rank's links carry.
#include <array>

#include "cost_models/collectives/collectives.h"

namespace stowplan::cost_models {
namespace {

using sim::CollectiveType;

struct TypeRow {
  std::string_view name;
  double (*share)(double ranks);  // of the buffer that each rank's links carry, as nccl-tests has it
};
double Around(double ranks) {
  return (ranks - 1) / ranks;
}
constexpr std::array<TypeRow, 6> kTypeRows = {{
    {"all-reduce", [](double ranks) { return 2 * Around(ranks); }},
    {"reduce-scatter", Around},
    {"all-gather", Around},
    {"all-to-all", Around},
    {"broadcast", [](double) { return 1.0; }},
    {"reduce", [](double) { return 1.0; }},
}};

}  // namespace

std::string_view ToString(CollectiveType type) {
  return kTypeRows[static_cast<std::size_t>(type)].name;
}

std::optional<CollectiveType> CollectiveTypeNamed(std::string_view name) {
  for (std::size_t i = 0; i < kTypeRows.size(); ++i)
    if (kTypeRows[i].name == name) return static_cast<CollectiveType>(i);
  return std::nullopt;
}

std::vector<std::string> CollectiveTypeNames() {
  std::vector<std::string> names;
  for (const TypeRow& row : kTypeRows) names.emplace_back(row.name);
  return names;
}

double BusBandwidth(CollectiveType type, sim::Bytes bytes, std::int64_t ranks, sim::Picos time) {
  if (time == 0) return 0;
  return static_cast<double>(bytes) *
         kTypeRows[static_cast<std::size_t>(type)].share(static_cast<double>(ranks)) /
         (sim::ToMicros(time) * 1e-6);
}

}  // namespace stowplan::cost_models
