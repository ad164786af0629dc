// granularity=unfused: the graph that a framework of the papers' time (TensorFlow 1.x, shapes known when the
// graph is built) would hold for a fused graph. A pass over the finished fused graph: every fused op stays, with
// its name, type, FLOPs and outputs, and gets the helpers of one template for its type:
//
// - a variable is read through an Identity; its slots are Variables of their own, with their part of the
//   persistent bytes; initialisers are in the graph but ran before the step;
// - constants and integer arithmetic on shapes that the op takes as operands (axis, shape,
//   paddings, BroadcastGradientArgs, ConcatOffset, …): a number for each axis, or one;
// - views that a gradient passes through (Sum over no axes, Reshape) where factors could have been broadcast;
// - a gate where an op has several input gradients: all are computed before any goes on (tuple/group_deps).
//
// What belongs to no fused op is not there: moving averages, power accumulators, summaries, savers, queues,
// clipping, the ops that group updates and initialisers. So unfused counts are results, not the published counts.
//
// Totals of FLOPs, parameters and persistent bytes are those of the fused graph; live bytes differ by the
// constants. Every unfused op stands for one framework op, initialisers for none, since a step runs none. Helpers
// take no time on a device (views, and integers that the host computes): they cost dispatch. They carry the
// attribute `helper`, the name of their fused op, and its stage, branch, group and phase. A variable, its
// reads, slots and initialisers share a device; other helpers are as free as their op is.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::scenarios {

// `forward_of`: by op, the forward op whose gradient it computes, or -1. `optimizer`: what names slots and
// rates, "Adam". The result is not Finish()ed.
sim::OpGraph ExpandRaw(const sim::OpGraph& fused, const std::vector<sim::OpIndex>& forward_of,
                       std::string_view optimizer);

// ---- templates (unfused_templates.cpp)

enum class HelperSize : std::uint8_t {
  kNothing,  // 0 bytes
  kNumber,
  kAxes,  // a number for each axis of the op's output
};

struct HelperRow {
  const char* name;
  const char* type;
  HelperSize size = HelperSize::kNumber;
  std::vector<const char*> reads = {};  // earlier helpers of the same scope
  bool per_output = false;              // one for each output of the op; who reads the name reads them all
};

// Backward ops of one forward op share a scope, so a helper that two of them name is there once.
struct UnfusedTemplate {
  const char* type;
  const char* phase;                       // of the op: "forward", "backward"
  std::vector<HelperRow> before = {};      // added before the op, in this order
  std::vector<const char*> operands = {};  // which of them the op reads, after its own inputs
  // Views, each of the one before: what input 0 passes through on its way into the op, and output 0 on its
  // way out. They read helpers besides.
  std::vector<HelperRow> in = {};
  std::vector<HelperRow> out = {};
};

// Null if the type needs no helpers.
const UnfusedTemplate* FindUnfusedTemplate(std::string_view type, std::string_view phase);
// The constants of an update: learning rate and the like, shared by all updates of a graph.
const std::vector<const char*>& OptimizerRates(std::string_view optimizer);

}  // namespace stowplan::scenarios
