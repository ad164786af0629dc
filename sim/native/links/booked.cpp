#include "sim/native/links/booked_links.h"
#include "sim/native/native_simulator.h"

namespace stowplan::sim {
namespace {

// A type of this file alone, so that the run over it is compiled as few functions.
template <typename Moment>
struct BookedHere : BookedLinks<Moment> {
  using BookedLinks<Moment>::BookedLinks;
};

}  // namespace

std::unique_ptr<Simulator> MakeBookedSimulator(const Problem& problem, Sharing sharing) {
  return std::make_unique<NativeSimulator<BookedHere>>(problem, sharing);
}

}  // namespace stowplan::sim
