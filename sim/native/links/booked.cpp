#include "sim/native/links/booked_links.h"
#include "sim/native/native_simulator.h"

namespace berth::sim {
namespace {

// In this file alone, so that the run over them is compiled as few functions.
template <typename Moment>
struct LinksOf : BookedLinks<Moment> {
  using BookedLinks<Moment>::BookedLinks;
};

}  // namespace

std::unique_ptr<Simulator> MakeBookedSimulator(const Problem& problem, Sharing sharing) {
  return std::make_unique<NativeSimulator<LinksOf>>(problem, sharing);
}

}  // namespace berth::sim
