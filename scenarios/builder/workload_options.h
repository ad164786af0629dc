// Settings that all model builders share, and what a finished graph says about itself.
//
// framework_ops: how many ops of the framework's graph one fused op stands for; dispatch is charged that many
// times. ASSUMPTION in all workloads: derived as (op count of the published graph) / (ops of our
// fused graph), where the published counts are recalled, no document seen (docs/protocol_rules.md#framework-ops:
// Inception 24,713, ResNet 20,586, RNNLM 9,021, NMT-2/4/8 28,044 / 46,600 / 83,712; none for the other
// networks of convolutions, which take ResNet's factor, nor for the other sequence models, which take NMT's; the decoders
// run eagerly, where an op of ours is about one of the framework's). One factor for every op of a workload; a setting, so it can be changed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/builder/graph_builder.h"
#include "sim/base/settings.h"

namespace stowplan::scenarios {

struct ModelOptions {
  std::int64_t batch;
  BuilderOptions builder;
};

const std::vector<std::string>& OptimizerNames();
// Of sgd, momentum, adam, rmsprop; anything else is an InputError that begins with `what`.
Optimizer OptimizerNamed(const std::string& name, const std::string& what);

// Throws InputError for framework_ops in unfused graphs (unfused.h).
ModelOptions ReadModelOptions(const Settings& read);

// The attributes of the graph: `workload` (the canonical name), every setting, `layers` (how many values `stage` has) and
// `expert`: by which attribute of ops the experts' rules spread the model, "stage" (recurrent) or "branch" (vision).
sim::Attributes Describe(const Settings& read, std::int64_t layers, const std::string& expert);

}  // namespace stowplan::scenarios
