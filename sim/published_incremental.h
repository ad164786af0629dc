// Incremental evaluation under the rules `published`.
//
// The base timeline is kept whole: when each op and each sending joined its queue, started and ended, and in
// which order the ends were processed. Because queues are first in, first out, that is a snapshot before every
// event: what had joined and ended by then is found by bisection in each queue, so a trial begins exactly at the
// first event that the moves change, leaves out what is the old timeline later by a constant, and ends where
// all the rest is that (published_replay.h); peaks are put together from the old ones (published_peaks.h).
#pragma once

#include <memory>

#include "sim/incremental.h"

namespace berth::sim {

// Keeps a reference to the problem. Nothing is allocated in a trial that records nothing. Moves of many ops, and
// trials that record, are run from scratch. Throws InputError as MakePublishedSimulator does.
std::unique_ptr<IncrementalSimulator> MakePublishedIncrementalSimulator(const Problem& problem);

}  // namespace berth::sim
