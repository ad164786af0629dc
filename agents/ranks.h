// The processes of one run under MPI: `mpirun -n 4 stowplan place …`. All of them take the same steps with the same random
// numbers; what they share out is the work between two steps (placements to simulate, gradients to compute), and every
// rank gets all of it back, so that every rank knows everything that a single process would.
//
// The calls below are collective: every rank makes the same ones in the same order.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace stowplan::agents {

class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;  // from 0; the first one prints and writes files
  virtual int size() const = 0;
  // What every rank gives, by rank, on every rank.
  virtual std::vector<std::string> Exchange(const std::string& own) = 0;
  // Sums over the ranks, in their order and in place: the same bits on every rank, not the same for every number of ranks.
  virtual void Sum(std::span<float> values) = 0;
  virtual void Sum(std::span<double> values) = 0;
  // Ends the other processes too: for a failure that they do not share. Does not return where there are others.
  virtual void Abort(int status) = 0;

  bool first() const { return rank() == 0; }
  bool alone() const { return size() == 1; }
  // The items [begin, end) of `count` that are this rank's: contiguous, nearly equal parts.
  struct Share {
    std::size_t begin;
    std::size_t end;
  };
  Share ShareOf(std::size_t count) const { return ShareOf(count, rank()); }
  Share ShareOf(std::size_t count, int of) const {
    const auto parts = static_cast<std::size_t>(size()), at = static_cast<std::size_t>(of);
    return {count * at / parts, count * (at + 1) / parts};
  }
};

// Of a process that is by itself.
Ranks& OneRank();

// Those that mpirun started, through the module libstowplan_mpi.so; OneRank() where mpirun did not start this. Opened at the
// first call. Throws RunError where mpirun started several and this build lacks MPI: they would all do the same.
Ranks& World();

// Whether mpirun started this process as another than the first. Opens nothing.
bool IsFurtherRank();
// Before a process ends with a failure that the others may not share: ends them too, so that none waits for it for ever.
// Does nothing where World() was not opened.
void AbortOthers(int status);

// The module's only symbol.
using RanksFactory = Ranks* (*)();
inline constexpr char kRanksSymbol[] = "stowplan_mpi_ranks";

}  // namespace stowplan::agents
