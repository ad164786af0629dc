#include "scenarios/parallel/tensor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "scenarios/builder/graph_builder.h"
#include "scenarios/parallel/collective.h"
#include "scenarios/parallel/graph_edit.h"

namespace stowplan::scenarios {
namespace {

using sim::OpIndex;
using sim::TensorRef;

class TensorCutter {
 public:
  TensorCutter(const sim::OpGraph& graph, const ShardOptions& options)
      : whole_(graph),
        group_{.name = "tensor", .ranks = options.ranks, .stride = 1},
        shards_(FindShards(graph, options)),
        edit_(graph) {}

  TensorRank Run() {
    TensorRank made;
    for (OpIndex op = 0; op < whole_.size(); ++op) {
      made.flops += whole_.ops[At(op)].flops;
      if (shards_.share[At(op)] < 1) made.cut_flops += whole_.ops[At(op)].flops;
      TakePart(op);
    }
    for (const OpIndex op : whole_.topological_order()) PutExchanges(op);
    for (OpIndex op = 0; op < whole_.size(); ++op) SumUnread(op);
    for (const OpIndex op : shards_.shared_softmax) ShareRows(op);
    made.graph = edit_.Take();
    return made;
  }

 private:
  const Shard& ShardOf(TensorRef tensor) const {
    return shards_.outputs[At(tensor.op)][static_cast<std::size_t>(tensor.output)];
  }

  void TakePart(OpIndex index) {
    sim::Op& op = edit_.op(index);
    const double share = shards_.share[At(index)];
    const auto part = [&](sim::Bytes bytes) {
      return static_cast<sim::Bytes>(std::llround(std::ceil(share * static_cast<double>(bytes) - 1e-6)));
    };
    op.flops *= share;
    op.workspace_bytes = part(op.workspace_bytes);
    op.persistent_bytes = part(op.persistent_bytes);
    if (op.cost_us) *op.cost_us *= share;
    for (auto& [kind, us] : op.cost_us_by_kind) us *= share;
    for (std::size_t o = 0; o < op.outputs.size(); ++o)
      if (shards_.outputs[At(index)][o].IsCut())
        CutOutput(op.outputs[o], shards_.outputs[At(index)][o].dimension);
  }

  void CutOutput(sim::Output& output, int dimension) const {
    std::int64_t& size = output.shape[static_cast<std::size_t>(dimension)];
    const std::int64_t part = PartOf(size, group_.ranks);
    output.bytes = (output.bytes * part + size - 1) / size;
    size = part;
  }

  void PutExchanges(OpIndex index) {
    const bool adds_terms = AddsTermsFirst(index);
    for (std::size_t i = 0; i < whole_.ops[At(index)].inputs.size(); ++i) {
      const Exchange exchange = shards_.exchanges[At(index)][i];
      if (exchange == Exchange::kNone || (adds_terms && exchange == Exchange::kReduceScatter)) continue;
      if (IsUpdate(whole_.ops[At(index)]) && exchange == Exchange::kAllReduce) {
        AddAttribute(edit_.op(index).attributes, kIsTerm, true);
        continue;
      }
      const TensorRef before = whole_.ops[At(index)].inputs[i];
      const TensorRef now = Exchanged(index, before, exchange);
      edit_.op(index).inputs[i] = now;
      for (sim::Output& output : edit_.op(index).outputs)
        if (output.storage == sim::Output::Storage::kInput && output.alias == before) output.alias = now;
    }
    if (adds_terms) AddTerms(index);
  }

  // One collective for all readers; what is gathered forwards is not kept for the backward pass, but gathered again.
  TensorRef Exchanged(OpIndex reader, TensorRef tensor, Exchange exchange) {
    const bool gathers = exchange == Exchange::kAllGather;
    const bool later = gathers && IsBackward(whole_.ops[At(reader)]);
    const auto [known, fresh] = made_.try_emplace({tensor, exchange, later});
    if (!fresh) return known->second;
    const sim::Op& producer = whole_.ops[At(tensor.op)];
    const std::string name = producer.name + (tensor.output > 0 ? "/" + std::to_string(tensor.output) : "");
    sim::Output output = gathers ? OutputOf(whole_, tensor) : OutputOf(edit_.graph(), tensor);
    if (exchange == Exchange::kReduceScatter) CutOutput(output, ShardOf(tensor).dimension);
    if (gathers) output.bytes = OutputOf(edit_.graph(), tensor).bytes * group_.ranks;
    const auto collective = [&](const char* type, const char* suffix) {
      return CollectiveBeside(gathers ? whole_.ops[At(reader)] : producer, name + suffix, type, tensor,
                              output, group_);
    };
    const OpIndex made =
        gathers ? edit_.AddBefore(reader, collective("AllGather", later ? "/gather_again" : "/gather"))
        : exchange == Exchange::kAllReduce
            ? edit_.AddAfter(tensor.op, collective("AllReduce", "/all_reduce"))
            : edit_.AddAfter(tensor.op, collective("ReduceScatter", "/reduce_scatter"));
    known->second = {made, 0};
    return known->second;
  }

  // Of several terms of one sum the ranks exchange the sum.
  bool AddsTermsFirst(OpIndex index) const {
    return whole_.ops[At(index)].type == "AddN" &&
           std::ranges::count(shards_.exchanges[At(index)], Exchange::kReduceScatter) > 1;
  }

  void AddTerms(OpIndex index) {
    const sim::Op& op = whole_.ops[At(index)];
    sim::Op sum = Beside(op, op.name + "/terms", "AddN");
    std::vector<TensorRef> others;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const bool is_term = shards_.exchanges[At(index)][i] == Exchange::kReduceScatter;
      (is_term ? sum.inputs : others).push_back(is_term ? op.inputs[i] : edit_.op(index).inputs[i]);
    }
    const TensorRef term = sum.inputs.front();
    sim::Output part = OutputOf(edit_.graph(), term);
    part.storage = sim::Output::Storage::kOwn;
    sum.outputs = {part};
    sum.framework_ops = op.framework_ops;
    CutOutput(part, ShardOf(term).dimension);
    const OpIndex terms = edit_.AddBefore(index, std::move(sum));
    const OpIndex made = edit_.AddBefore(
        index, CollectiveBeside(op, op.name + "/reduce_scatter", "ReduceScatter", {terms, 0}, part, group_));
    others.push_back({made, 0});
    edit_.op(index).inputs = std::move(others);
  }

  // A loss that nothing reads is summed as well.
  void SumUnread(OpIndex index) {
    const sim::Op& op = whole_.ops[At(index)];
    if (IsBackward(op) || IsUpdate(op)) return;
    for (std::size_t o = 0; o < op.outputs.size(); ++o) {
      const TensorRef tensor{index, static_cast<std::int32_t>(o)};
      const bool read = std::ranges::any_of(whole_.consumers(index), [&](OpIndex reader) {
        return std::ranges::find(whole_.ops[At(reader)].inputs, tensor) !=
               whole_.ops[At(reader)].inputs.end();
      });
      if (ShardOf(tensor).IsTerm() && !read && o == 0) Exchanged(index, tensor, Exchange::kAllReduce);
    }
  }

  // Megatron-LM's cross-entropy over a cut vocabulary: the maxima of the rows, then the sums of their exponentials.
  void ShareRows(OpIndex index) {
    const TensorRef logits = edit_.op(index).inputs.front();
    sim::Output row = OutputOf(edit_.graph(), logits);
    row.bytes /= std::max<std::int64_t>(1, row.shape.back());
    row.shape.pop_back();
    row.storage = sim::Output::Storage::kOwn;
    OpIndex before = -1;
    for (const char* what : {"/row_max", "/row_sum"}) {
      const sim::Op& op = whole_.ops[At(index)];
      sim::Op rows = Beside(op, op.name + what, what[5] == 'm' ? "ReduceMax" : "ReduceSum");
      rows.inputs = {logits};
      rows.outputs = {row};
      if (before >= 0) rows.control = {before};
      const OpIndex made = edit_.AddBefore(index, std::move(rows));
      before = edit_.AddBefore(
          index, CollectiveBeside(op, op.name + what + "/all_reduce", "AllReduce", {made, 0}, row, group_));
    }
    edit_.op(index).control.push_back(before);
  }

  const sim::OpGraph& whole_;
  const RankGroup group_;
  const Shards shards_;
  GraphEdit edit_;
  std::map<std::tuple<TensorRef, Exchange, bool>, TensorRef> made_;
};

}  // namespace

TensorRank CutTensors(const sim::OpGraph& graph, const ShardOptions& options) {
  return TensorCutter(graph, options).Run();
}

}  // namespace stowplan::scenarios
