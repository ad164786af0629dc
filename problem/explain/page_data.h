// The numbers that problem/explain/data/placement.js draws, as one compact JSON.
//
//   us, ticks        the runtime, and into how many ticks it is cut; times below are ticks
//   graph, separator, devices, types, labels
//   nodes            the scope tree (problem/explain/scope_tree.h) by column: parent, label (of labels), made_up; of leaves
//                    that are one op also type (of types), device, time, depth, else -1
//   merged           of leaves that are several ops: node -> [[device, ops, time], …]
//   edges            between leaves, by column: from, to, bytes
//   lanes            name, kind, device (of links without slices: -1), tracks; then by column either slices, ascending:
//                    s (start, as difference to the one before), d (length), i (node; for links and channels: transfer),
//                    t (track, if there are several), c (1 = on the critical path); or slices of time, equally long:
//                    busy (percent) and i (node of the longest, -1 = none)
//   path             the critical path as a lane: k (0 op, 1 transfer, 2 dispatch, 3 waiting, 4 collective), v (device of an op, else
//                    -1); i is -1 of waits, and everywhere where lanes are cut
//   transfers        by column: node (producer), from, to, bytes, wait
//   memory           by device: capacity, peak, t (time), b (bytes from then on)
#pragma once

#include <string>

#include "problem/explain/study.h"

namespace stowplan::problem {

// Beyond so many ops, or twice as many transfers, lanes are cut into slices of time and small scopes are not opened.
inline constexpr std::size_t kMostDrawnOps = 20'000;
inline constexpr std::size_t kTimeBins = 1'500;

bool IsBinned(const Study& study);
std::string PageData(const Study& study);

}  // namespace stowplan::problem
