// Incremental evaluation in the preset `placeto`.
//
// The base timeline is kept whole: when each op and each sending joined its queue, started and ended, and in
// which order the ends were processed. Because queues are first in, first out, that is a snapshot before every
// event: what had joined and ended by then is found by bisection in each queue, so a try begins exactly at the
// first event that the moves change, leaves out what is the old timeline later by a constant, and ends where
// all the rest is that (placeto_replay.h); peaks are put together from the old ones (placeto_peaks.h).
#pragma once

#include <memory>

#include "sim/incremental.h"

namespace berth::sim {

// Keeps a reference to the problem. Nothing is allocated in a try that records nothing. Moves of many ops, and
// tries that record, are run from scratch. Throws InputError as MakePlacetoSimulator does.
std::unique_ptr<IncrementalSimulator> MakePlacetoIncrementalSimulator(const Problem& problem);

}  // namespace berth::sim
