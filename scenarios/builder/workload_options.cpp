#include "scenarios/builder/workload_options.h"

#include <algorithm>
#include <charconv>

#include "sim/base/error.h"
#include "sim/base/nearest_name.h"

namespace stowplan::scenarios {
namespace {

// Whole numbers stay numbers, so that readers of a graph file need not parse text.
void AddParameter(sim::Attributes& attributes, const std::string& key, const std::string& value) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size()) {
    AddAttribute(attributes, key, number);
  } else {
    AddAttribute(attributes, key, value);
  }
}

}  // namespace

const std::vector<std::string>& OptimizerNames() {
  static const std::vector<std::string> names = {"sgd", "momentum", "adam",
                                                 "rmsprop"};  // in the order of the enum
  return names;
}

Optimizer OptimizerNamed(const std::string& name, const std::string& what) {
  const auto& names = OptimizerNames();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw InputError(what + " " + name + ": there is no such optimizer" + DidYouMean(name, names) +
                     "; there are " + JoinNames(names));
  }
  return static_cast<Optimizer>(found - names.begin());
}

ModelOptions ReadModelOptions(const Settings& read) {
  ModelOptions options;
  options.batch = read.Int("batch");
  options.builder.training = read.Is("mode", "training");
  options.builder.optimizer = read.Choice<Optimizer>("optimizer");
  options.builder.colocate_gradients = read.Is("gradients", "colocated");
  const bool unfused = read.Is("granularity", "unfused");
  options.builder.granularity = unfused ? Granularity::kUnfused : Granularity::kFused;
  options.builder.framework_ops = static_cast<std::int32_t>(read.Int("framework_ops"));
  if (unfused && options.builder.framework_ops != 1) {
    throw InputError(
        read.name() + ": framework_ops=" + std::to_string(options.builder.framework_ops) +
        " says how many ops of a framework a fused op stands for, and with granularity=unfused every op "
        "is one of the framework; leave framework_ops out or write granularity=fused");
  }
  return options;
}

sim::Attributes Describe(const Settings& read, std::int64_t layers, const std::string& expert) {
  const Spec canonical = Spec::Parse(read.Canonical());
  sim::Attributes attributes;
  AddAttribute(attributes, "workload", canonical.ToString());
  for (const auto& [key, value] : canonical.named) {
    if (key != "layers") AddParameter(attributes, key, value);
  }
  AddAttribute(attributes, "layers", layers);
  AddAttribute(attributes, "expert", expert);
  return attributes;
}

}  // namespace stowplan::scenarios
