#include "agents/ranks.h"

#include <cstdlib>
#include <initializer_list>

#include "agents/plugin.h"

namespace stowplan::agents {
namespace {

class Alone final : public Ranks {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::vector<std::string> Exchange(const std::string& own) override { return {own}; }
  void Sum(std::span<float>) override {}
  void Sum(std::span<double>) override {}
  void Abort(int) override {}
};

// What the launchers of Open MPI, MPICH and Slurm tell their processes; -1 = none did.
int Told(std::initializer_list<const char*> variables) {
  for (const char* variable : variables) {
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0')
      return std::atoi(value);
  }
  return -1;
}

}  // namespace

Ranks& OneRank() {
  static Alone alone;
  return alone;
}

namespace {

Ranks& Open() {
  if (Told({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) <= 1) return OneRank();
  static constexpr Plugin kPlugin = {
      "MPI",        "libstowplan_mpi.so",   "agents/mpi",     "STOWPLAN_MPI_PLUGIN",
      kRanksSymbol, STOWPLAN_WITH_MPI != 0, "an MPI library", "stowplan_mpi"};
  return *reinterpret_cast<RanksFactory>(PluginSymbol(kPlugin))();
}

Ranks*& Opened() {
  static Ranks* opened = nullptr;
  return opened;
}

}  // namespace

Ranks& World() {
  static Ranks& world = *(Opened() = &Open());
  return world;
}

void AbortOthers(int status) {
  if (Opened() != nullptr) Opened()->Abort(status);
}

bool IsFurtherRank() {
  return Told({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) > 0;
}

}  // namespace stowplan::agents
