// Favourite children of small communication times scheduling (Hanen, Munier, 1995 and 2001; Baechi): which
// reader of an op had best run right after it on the same device.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agents/classical/linear_program.h"
#include "agents/classical/list_schedule.h"

namespace stowplan::agents {

// Minimise the makespan w over starts s >= 0 and x in [0, 1] for each edge i -> j between the ops:
//   s_j >= s_i + p_i + c_ij x_ij                      x = 0: j is i's favourite child and waits for no transfer
//   sum over children j of x_ij >= |children| - 1     at most one favourite child
//   sum over parents i of x_ij >= |parents| - 1       of at most one parent
//   s_i + p_i <= w
// p [us]: mean over the devices; c [us]: mean over their pairs, for all that j reads of i. No edge has an x
// where c is 0 or both ops are of one unit; then no transfer is waited for.
struct FavouriteProgram {
  struct Edge {
    sim::OpIndex parent;
    sim::OpIndex child;
    std::int32_t column;  // of x
  };
  LinearProgram program;
  std::vector<Edge> edges;  // those with an x
  std::int32_t makespan;    // column of w
};
// `ops`: in topological order; what they read of others is there at once.
FavouriteProgram MakeFavouriteProgram(ListSchedule& list, std::span<const sim::OpIndex> ops);

// By op of the graph, -1 = none: j is i's where x_ij <= threshold, which is at least 0 and below 0.5 (then the
// rows allow one child and one parent at most). Sources have no part in it: they go along with their reader.
// At most `window` ops are put into one program, in the order of their starts if transfers took no time; what
// connects two programs has no favourite. 0 = all into one.
std::vector<sim::OpIndex> FavouriteChildren(ListSchedule& list, double threshold, std::int64_t window);

}  // namespace stowplan::agents
