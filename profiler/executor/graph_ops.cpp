#include "profiler/executor/graph_ops.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profiler/executor/block_pool.h"
#include "profiler/executor/kernel_table.h"
#include "profiler/executor/op_tensors.h"
#include "profiler/probe_rows.h"
#include "sim/base/error.h"

namespace stowplan::profiler {
namespace {

struct CountedOp {
  sim::OpIndex first = -1;
  std::int64_t count = 0;
};

std::vector<CountedOp> KernelsOf(const sim::OpGraph& graph) {
  std::vector<CountedOp> kernels;
  std::map<std::string, std::size_t> seen;
  for (sim::OpIndex op = 0; op < graph.size(); ++op) {
    const OpTensors tensors(graph, op);
    if (DoesNothing(tensors)) continue;
    const auto [found, is_new] = seen.emplace(KernelKey(tensors), kernels.size());
    if (is_new) kernels.push_back({.first = op});
    ++kernels[found->second].count;
  }
  return kernels;
}

sim::Op SourceOf(const sim::Op& producer, std::int32_t output) {
  sim::Op source;
  source.outputs = {producer.outputs[static_cast<std::size_t>(output)]};
  const bool variable = source.outputs[0].storage == sim::Output::Storage::kPersistent;
  source.type = variable ? "Variable" : "Placeholder";
  if (variable) {
    source.persistent_bytes = producer.persistent_bytes;
  } else {
    source.outputs[0].storage = sim::Output::Storage::kOwn;
    source.outputs[0].alias = {};
  }
  return source;
}

void CheckRows(const sim::OpGraph& graph, const std::vector<CountedOp>& kernels,
               const sim::Attribute::List& rows) {
  bool same = rows.size() <= kernels.size();
  for (std::size_t i = 0; i < rows.size() && same; ++i) {
    const auto* const row = std::get_if<sim::Attributes>(&rows[i].value);
    const sim::Attribute* const lone = row == nullptr ? nullptr : sim::FindAttribute(*row, "graph");
    same = lone != nullptr && *lone == GraphValue(LoneOp(graph, kernels[i].first));
  }
  if (!same)
    throw InputError("the ops that were recorded of " + graph.name +
                     " are those of another graph of that name; give another --out.");
}

}  // namespace

sim::OpGraph LoneOp(const sim::OpGraph& graph, sim::OpIndex index) {
  sim::OpGraph lone;
  sim::Op op = graph.ops[static_cast<std::size_t>(index)];
  std::map<sim::TensorRef, sim::TensorRef> sources;
  for (sim::TensorRef& input : op.inputs) {
    const auto [found, is_new] =
        sources.emplace(input, sim::TensorRef{static_cast<sim::OpIndex>(lone.ops.size()), 0});
    if (is_new) {
      lone.ops.push_back(SourceOf(graph.ops[static_cast<std::size_t>(input.op)], input.output));
      lone.ops.back().name = "in" + std::to_string(lone.ops.size() - 1);
    }
    input = found->second;
  }
  for (sim::Output& output : op.outputs)
    if (output.storage == sim::Output::Storage::kInput) output.alias = sources.at(output.alias);
  lone.name = op.type;
  op.name = "op";
  op.control.clear();
  op.colocate.clear();
  op.group.clear();
  op.cost_us.reset();
  op.cost_us_by_kind.clear();
  lone.ops.push_back(std::move(op));
  lone.Finish();
  return lone;
}

sim::Attribute MeasureOpsOf(const sim::OpGraph& graph, const MeasureOptions& options,
                            const MeasureLoneOp& measure) {
  const std::vector<CountedOp> kernels = KernelsOf(graph);
  if (options.rows != nullptr) CheckRows(graph, kernels, *options.rows);
  return Rows(MeasureRows(kernels.size(), options, [&](std::size_t number) {
    const sim::OpGraph lone = LoneOp(graph, kernels[number].first);
    sim::Attributes row = {{"op", {lone.ops.back().type}},
                           {"count", {kernels[number].count}},
                           {"workload", {graph.name}},
                           {"graph", GraphValue(lone)}};
    const auto unavailable = [&row](const std::exception& reason) {
      row.emplace_back("unavailable", sim::Attribute{std::string(reason.what())});
    };
    try {
      measure(lone, &row);
    } catch (const Unavailable& reason) {
      unavailable(reason);
    } catch (const NoMemory& reason) {
      unavailable(reason);
    }
    return row;
  }));
}

}  // namespace stowplan::profiler
