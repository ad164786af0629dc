// Parameters that all model builders share, and what a finished graph says about itself.
//
// framework_ops: how many ops of the framework's graph one fused op stands for; dispatch is charged that many
// times. ASSUMPTION in all workloads: derived as (op count of the published graph) / (ops of our
// fused graph), where the published counts are recalled, no document seen (docs/protocol.md#framework-ops:
// Inception 24,713, ResNet 20,586, RNNLM 9,021, NMT-2/4/8 28,044 / 46,600 / 83,712; none for NASNet, which
// takes ResNet's factor). One factor for every op of a workload; a parameter, so it can be changed.
#pragma once

#include <cstdint>
#include <string>

#include "scenarios/builder/graph_builder.h"
#include "sim/base/spec.h"

namespace stowplan::scenarios {

struct ModelDefaults {
  std::int64_t batch;
  Optimizer optimizer;
  std::int32_t framework_ops;
};

struct ModelOptions {
  std::int64_t batch;
  BuilderOptions builder;
};

// Of sgd, momentum, adam, rmsprop; anything else is an InputError that begins with `what`.
Optimizer OptimizerNamed(const std::string& name, const std::string& what);

// Reads batch, mode=training|inference, optimizer=sgd|momentum|adam|rmsprop, gradients=free|colocated,
// granularity=fused|unfused (unfused.h) and framework_ops, which is 1 in unfused graphs.
ModelOptions ReadModelOptions(ParameterReader& read, const ModelDefaults& defaults);

// Refuses positional and unknown parameters, and returns the attributes of the graph: `workload` (the
// canonical name), every parameter in force, `layers` (how many values `stage` has) and `expert`: by which
// attribute of ops the experts' rules spread the model, "stage" (recurrent) or "branch" (vision).
sim::Attributes Describe(const Spec& spec, ParameterReader& read, std::int64_t layers,
                         const std::string& expert);

}  // namespace stowplan::scenarios
