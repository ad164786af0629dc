// The graph of a Kineto trace alone: an op for each piece of work that a device did, or on a CPU for each op that no other one
// called, in the order in which they ran (docs/importing.md, Traces). No tensors: ops wait for the one before on their stream, and
// for what the trace shows them to wait for.
#pragma once

#include <string>

#include "scenarios/scenarios.h"

namespace stowplan::scenarios::trace {

// Throws InputError for what is no Kineto trace, is not to be trusted, or holds nothing that ran.
ImportedGraph ReadKinetoGraph(const std::string& content, const std::string& source,
                              const ImportOptions& options);

}  // namespace stowplan::scenarios::trace
