// A training step over k micro-batches: the graph of one of them, k times over.
//
// - An op is there k times ("conv0", "conv0@1", …), all on one device; variables, constants and updates once.
// - An update reads the sum of the k gradients, which are added in place as they come (AddN, "…/accumulate@1"). Gradients of
//   another size than the variable (rows of a table) are all read by it.
// - Which of a device's ops is next says the schedule (sim/native/pipeline_order.h). It is the graph's attribute `schedule`, the
//   number of an op's micro-batch its attribute `micro_batch`.
#pragma once

#include <cstdint>
#include <string>

#include "sim/op_graph.h"

namespace stowplan::scenarios {

// `one`: the graph of one micro-batch; k = 1 gives it back. Not Finish()ed. Throws InputError for more than kMostOps ops.
sim::OpGraph RepeatMicroBatch(const sim::OpGraph& one, std::int64_t k, const std::string& schedule);

// Where a graph cannot be built anew for a k-th of the batch: what depends on data (a Placeholder, or an op without inputs that
// is no variable or constant and has the batch as a dimension) takes a k-th of its time, FLOPs, workspace and bytes, the
// dimension that holds the batch a k-th of its length. Gradients on their way to an update, and what holds no batch, keep their
// size. Not Finish()ed. Throws InputError where the batch is not divisible, and where the k parts together would do over a
// tenth more than the whole: nothing tells inputs from weights, or much of the work does not depend on inputs.
// `what`: for messages, "pipeline: micro_batches".
sim::OpGraph ShareBatch(const sim::OpGraph& whole, std::int64_t k,
                        const std::string& what = "pipeline: micro_batches");
// Of a workload, which is built for a k-th of its batch, or a graph file, whose batch is shared out. Finish()ed. Throws InputError as
// they do, and for what is over micro-batches already.
sim::OpGraph ShareOf(const std::string& of, std::int64_t k, const std::string& what);

}  // namespace stowplan::scenarios
