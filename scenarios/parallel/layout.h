// A parallel layout of a model: which part of its training step or inference each of many accelerators does.
//
// The graph of one step becomes that of a rank by transformations in this order, each in a file of its own: a share of the batch
// (workloads/micro_batches.h), tensor parallelism (tensor.h), recomputing (recompute.h), pipeline stages (stages.h), weights that
// are gathered (sharded_weights.h), micro-batches, and the exchange of gradients (gradients.h).
//
// In the *symmetric form* one rank stands for all that do the same: of each tensor and data group there is the first. A collective has
// one input and output of its rank, or one for each rank of the graph that takes part, and the attributes `ranks` and `stride`:
// with a rank on the accelerator at position p the others are at p + stride, …; `group` is the name of the mesh's dimension. In
// the *full form* (all_ranks.h) every rank is there. Rank r = (d x pipeline + s) x tensor + t of the data rank d, stage s and
// tensor rank t is the accelerator at position r of the cluster's list; it is the attribute `rank` of an op.
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/settings.h"

namespace stowplan::scenarios {

enum class Recompute : std::uint8_t { kNone, kSelective, kFull };

struct Layout {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t micro_batches = 1;  // of a data rank
  bool of_micro_batch =
      false;  // the graph is of one micro-batch; else of the whole step, whose batch all share
  std::string schedule = "1f1b";
  bool sequence = false;  // what tensor ranks would all do is cut along the sequence
  int zero = 0;           // 0, 1 or 3
  Recompute recompute = Recompute::kNone;
  std::int64_t bucket = 25;   // MiB of gradients
  std::int64_t prefetch = 1;  // layers whose weights are gathered ahead

  std::int64_t ranks() const { return tensor * pipeline * data; }
  std::string Text() const;  // "tensor=4,pipeline=2,data=8,…": what differs from the defaults
};

SettingTable LayoutSettings();
// `of` under the name of the workload that lays it out. `settings`: "tensor=2,data=4".
std::string LaidOutName(const std::string& of, const std::string& settings);
Layout ReadLayout(const Settings& read);

}  // namespace stowplan::scenarios
