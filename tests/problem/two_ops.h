// The smallest placement with everything in it that bounds one.
#pragma once

#include <memory>
#include <vector>

#include "problem/explain/study.h"

namespace stowplan::testing {

// a (10 us) on gpu0 sends 1 MB over 10 GB/s and 5 us to b (10 us) on gpu1: 125 us. `memory`: of gpu1.
class TwoOps {
 public:
  explicit TwoOps(sim::Bytes memory = sim::kMaxBytes, double b_us = 10) {
    graph_.name = "two";
    graph_.ops.resize(2);
    graph_.ops[0].name = "scope/a";
    graph_.ops[1].name = "scope/<!--<script>b";
    graph_.ops[0].type = "MatMul";
    graph_.ops[1].type = "Relu";
    graph_.ops[0].outputs = {{.bytes = 1'000'000}};
    graph_.ops[1].inputs = {{0, 0}};
    graph_.Finish();
    cluster_.name = "pair";
    for (const char* name : {"gpu0", "gpu1"})
      cluster_.devices.push_back({.name = name, .kind = "gpu", .memory = sim::kMaxBytes});
    cluster_.devices[1].memory = memory;
    cluster_.links = {
        {.name = "wire", .ends = {0, 1}, .bandwidth = 10'000'000'000, .latency = sim::FromMicros(5)}};
    cluster_.Finish();
    problem_ = std::make_unique<sim::Problem>(graph_, cluster_,
                                              sim::CostTable{"none",
                                                             2,
                                                             {sim::FromMicros(10), sim::FromMicros(10),
                                                              sim::FromMicros(b_us), sim::FromMicros(b_us)},
                                                             std::vector<sim::Tier>(4)});
    simulator_ = sim::MakeSimulator(*problem_);
    outcome_ = &simulator_->Run(placement_, {.record = sim::RunOptions::Record::kTimeline, .cutoff = {}});
  }
  problem::Study Explain() const {
    return problem::MakeStudy(*problem_, placement_, *outcome_, agents::ComputeLowerBound(*problem_),
                              problem::WhatIfsWorthAsking(cluster_, *outcome_));
  }

 private:
  sim::OpGraph graph_;
  sim::Cluster cluster_;
  sim::Placement placement_{{0, 1}, {}, {}};
  std::unique_ptr<sim::Problem> problem_;
  std::unique_ptr<sim::Simulator> simulator_;
  const sim::Outcome* outcome_ = nullptr;
};

}  // namespace stowplan::testing
