// stowplan validate --record: probes the ops of a workload alone, copies and dispatch, then times whole steps
// under many placements. Every workload is a file of its own, written after each placement, so that a run that was
// stopped goes on.
#pragma once

#include <string>
#include <vector>

#include "cli/validate/recorder_options.h"

namespace stowplan::cli {

// Measures on two devices of one core each: the first two that the process may use. Throws RunError where
// there is one core only, and where the machine is too busy, before anything is written (a first recording compares with
// the pace of the half second before, so it cannot see what slows both alike); InputError where the workload's file is
// another machine's. Ops that only a stand-in can run are measured and named as such. A workload whose file is there with
// as many placements is left alone, one with fewer goes on; false if the user stopped it before it was done.
bool RecordWorkload(const std::string& workload, const RecorderOptions& options);

// What is measured where nothing else is asked for: workloads at reduced sizes, with steps of some milliseconds.
const std::vector<std::string>& DefaultWorkloads();

}  // namespace stowplan::cli
