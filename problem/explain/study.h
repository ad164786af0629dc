// Everything that can be said about one run of one placement: what `stowplan explain` and the pages of `stowplan simulate` and
// `stowplan place` show.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agents/bounds/bounds.h"
#include "problem/explain/path_shares.h"
#include "sim/analysis/explain.h"
#include "sim/analysis/what_if.h"

namespace stowplan::problem {

struct Study {
  const sim::Problem& problem;
  const sim::Placement& placement;
  const sim::Outcome& outcome;
  sim::Explanation why;
  PathShares path;
  agents::LowerBound bound;
  double faster = 0;                  // how many times as fast devices and links are in `what_ifs`
  std::vector<sim::WhatIf> what_ifs;  // best first

  // Of the runtime that `what_if` would save; below 0 where it takes longer.
  double Gain(const sim::WhatIf& what_if) const;
  // runtime / proven lower bound; none where nothing is proven.
  std::optional<double> gap() const;
};

// `outcome`: of Record::kTimeline; it, `problem` and `placement` must outlive the study. `bound` is proven for the devices
// that the placement may use. Throws nothing.
Study MakeStudy(const sim::Problem& problem, const sim::Placement& placement, const sim::Outcome& outcome,
                const agents::LowerBound& bound, const sim::WhatIfOptions& options);

// Every device and link `faster` times as fast, on all cores; of a large machine the ten that are longest in use, since of its
// time in use a faster one can save a part.
inline constexpr double kTwiceAsFast = 2;
sim::WhatIfOptions WhatIfsWorthAsking(const sim::Cluster& cluster, const sim::Outcome& outcome,
                                      double faster = kTwiceAsFast);

// "gpu0 2x faster", "no dispatch".
std::string WhatIfText(const sim::WhatIf& what_if, const Study& study);
// Whether it changes the verdict, or the runtime by as much as is printed; and one sentence that names those that do not,
// empty where all do.
bool HasEffect(const sim::WhatIf& what_if, const Study& study);
std::string WithoutEffect(const Study& study);
// Why a what-if can have a negative gain.
inline constexpr char kSlower[] =
    "* Takes longer, though something is faster: what is ready sooner can take the place of what is more "
    "urgent.";
// "ops on gpu0", "transfers", "collectives", "dispatch", "waiting".
std::string BottleneckText(const Bottleneck& bottleneck, const sim::Cluster& cluster);
// "12.3 %", of the runtime
std::string ShareText(sim::Picos part, const Study& study);
// What the critical path is made of: ops by device, transfers by their two devices (the longest of many), dispatch,
// waiting; none of length 0.
std::vector<std::pair<std::string, sim::Picos>> PathParts(const Study& study);

// For a screen of 80 columns.
std::string PrintStudy(const Study& study);
// stowplan.explanation (docs/formats.md).
std::string StudyJson(const Study& study);

}  // namespace stowplan::problem
