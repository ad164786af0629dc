// Execution traces of torch (torch.profiler.ExecutionTraceObserver, what Chakra reads), with the Kineto trace of the same
// run where there is one. Read as (docs/importing.md, Traces):
// - an op for each call that PyTorch's dispatcher hands to a kernel; what calls such ops is opened, what they call is theirs;
// - tensors by their storage: what writes in place waits for those that still read; what was there before is a Variable;
// - cost_us: the device time of the kernels that Kineto's records link to an op; on the CPU its time on the host;
// - with a Kineto trace of a GPU: its order, the host's time for each op and its waits (trace/host_order.h).
#pragma once

#include <string>

#include "scenarios/scenarios.h"

namespace stowplan::scenarios {

// An execution trace, or a Kineto trace, which is a graph by itself (trace/kineto_graph.h).
bool RecognisesTrace(const std::string& content);
ImportedGraph ImportTrace(const std::string& content, const std::string& source,
                          const ImportOptions& options);

// The same of texts: `kineto` is what options.kineto names, where it names a file.
ImportedGraph ImportTracePair(const std::string& content, const std::string& source,
                              const std::string& kineto, const ImportOptions& options);

}  // namespace stowplan::scenarios
