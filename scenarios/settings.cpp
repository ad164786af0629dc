#include "scenarios/settings.h"

#include "scenarios/builder/workload_options.h"
#include "sim/base/error.h"
#include "sim/base/rows.h"
#include "sim/cluster.h"

namespace stowplan::scenarios {
namespace {

const std::vector<Setting>& Shared() {
  static const std::vector<Setting> rows = {
      // of all models
      Sized("batch", "examples a step", 1, 1 << 16),
      {"mode", "of a step", OneOf({"training", "inference"}), ""},
      {"optimizer", "of training", OneOf(OptimizerNames()), ""},
      {"gradients", "colocated: on the device of their op", OneOf({"free", "colocated"}), ""},
      {"granularity", "ops of ours, or all of the framework's", OneOf({"fused", "unfused"}), ""},
      Sized("framework_ops", "ops of the framework that one of ours stands for", 1, 1000),
      // of vision and audio
      {"size", "which network of the paper", OneOf({"mobile", "large", "cifar"}), ""},
      Sized("classes", "that the head tells apart", 2, 1 << 20),
      {"bn", "batch normalisation", YesNo(), ""},
      {"aux", "the auxiliary head", YesNo(), ""},
      Sized("image", "pixels of a side", 32, 1 << 12),
      Sized("cells", "a multiple of 3", 3, 300),
      Sized("filters", "a multiple of 16", 16, 1 << 12),
      Sized("stacks", "of layers", 1, 100),
      Sized("depth", "layers of a stack", 1, 20),
      Sized("residual", "channels between layers", 1, 1 << 14),
      Sized("dilation", "channels of a dilated convolution", 1, 1 << 14),
      Sized("skip", "channels that go to the head", 1, 1 << 14),
      Sized("samples", "of audio", 1, 1 << 24),
      {"input", "of the network", OneOf({"scalar", "onehot"}), ""},
      // of language and families
      Sized("layers", "of the network", 1, 1000),
      Sized("hidden", kHidden, 1, 1 << 16),
      Sized("heads", kHeads, 1, 1 << 12),
      Sized("kv_heads", "of keys and values; they divide the heads", 1, 1 << 12),
      Sized("feed_forward", kFeedForward, 1, 1 << 20),
      Sized("steps", "of time that are unrolled", 1, 1000),
      Sized("sequence", "tokens of an example", 1, 1 << 22),
      Sized("segment", "tokens of an example", 1, 1 << 16),
      Sized("memory", "tokens of the segment before that are kept", 1, 1 << 16),
      Sized("vocabulary", "words", 2, 1 << 24),
      {"softmax", "over all steps or each", OneOf({"once", "per_step"}), ""},
      {"head", "what it answers", OneOf({"squad", "classifier"}), ""},
      {"gelu", "of elementary ops, or one", OneOf({"elementary", "one_op"}), ""},
      {"pass", "over all tokens, or one token behind a cache (decode)", OneOf({"whole", "decode"}), ""},
      Sized("experts", "of a layer", 2, 1 << 12),
      Sized("top_k", "experts that a token goes to", 1, 1 << 12),
      {"capacity", "places of an expert, in its even share", Number(0.01, 1e3), ""},
      Sized("index", "which member of the family", 0, kFamilySize - 1),
      Sized("nodes", "of a cell", 1, 100),
      // of specimens
      Sized("ops", "of the graph", 1, 1e6),
      Sized("width", "paths", 1, 10'000),
      Sized("fan_in", "inputs of an op at most", 1, 1000),
      {"us", "microseconds of an op", Number(0, 1e9), ""},
      Sized("bytes", "of an op's output", 0, std::int64_t{1} << 40),
      {"seed", "of the dice", Whole(0), ""},
      {"cost", "measured times, or FLOPs for a cost model", OneOf({"us", "flops"}), ""},
      {"of", "the workload or file", Text(), ""},
      Sized("micro_batches", "that a batch is cut into", 1, 1 << 16),
      {"schedule", "of the micro-batches", OneOf({"gpipe", "1f1b"}), ""},
      // of clusters
      Sized("gpus", "devices beside the CPUs", 1, 8),
      {"interconnect", "how transfers share links", OneOf({"fair", "fifo", "ideal"}), ""},
      {"host",
       "a thread that issues for each device, or one for all; none: issuing takes no time; auto: by the "
       "graph",
       OneOf({"auto", "device", "process", "none"}), ""},
      {"order", "of issue: the program's, or as ops are ready", OneOf({"ready", "program"}), ""},
      {"copies", "blocking: a GPU that copies computes nothing", OneOf({"overlap", "blocking"}), ""},
      Sized("hosts", "machines", 1, sim::kMaxAccelerators),
      {"network",
       "one switch; leaf: hosts below leaves and a spine; rails: a leaf for each NIC of a host, and a spine",
       OneOf({"flat", "leaf", "rails"}), ""},
      {"pod", "hosts below a leaf", Whole(1, sim::kMaxAccelerators), "", {}, "network=leaf|rails"},
      {"oversubscription",
       "bandwidth below a leaf over that above it",
       Number(1, 64),
       "",
       {},
       "network=leaf|rails"},
      {"nics", "network cards: one a GPU, or one a host", OneOf({"gpu", "host"}), ""},
      Sized("mebibytes", "memory of a device", 1, 1 << 20)};
  return rows;
}

}  // namespace

Setting Sized(const char* name, const char* what, double least, double most) {
  return {name, what, Whole(least, most), ""};
}

Setting Layers(double least) {
  return Sized("layers", "of the network", least, 64);
}

SettingTable TableOf(const std::string& defaults, const std::vector<Setting>& own) {
  SettingTable table;
  for (const auto& [name, value] : Spec::Parse("x(" + defaults + ")").named) {
    const Setting* row = FindRow(own, name);
    if (row == nullptr) row = FindRow(Shared(), name);
    STOWPLAN_CHECK(row != nullptr);
    table.rows.push_back(*row);
    table.rows.back().fallback = value;
  }
  if (table.Find("granularity") != nullptr)
    table.defaults.push_back({"granularity=unfused", "framework_ops=1"});
  if (table.Find("size") != nullptr) table.defaults.push_back({"size=cifar", "classes=10"});
  return table;
}

}  // namespace stowplan::scenarios
