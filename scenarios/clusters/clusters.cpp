// The papers' machines: trees of PCI Express.
#include "scenarios/clusters/clusters.h"

#include <fmt/format.h>

#include "scenarios/clusters/cluster_text.h"

namespace stowplan::scenarios {
namespace {

struct Tree {
  const char* what;
  const char* cpu_kind;
  const char* cpu_memory;
  const char* cpu_source;
  const char* gpu_kind;
  const char* gpu_memory;
  int gpus_per_switch;
  const char* bandwidth;
  const char* bandwidth_source;
  // The published simulator of Placeto keeps a channel busy for 25 us beside each copy; two links of 12.5 us are as much.
  const char* hop_latency = "12.5us";
};

constexpr const char* kGpuMemorySource =
    "visible memory and what the framework keeps: docs/protocol.md#memory [recalled: medium]";
constexpr const char* kWhyProgram =
    "the memory arithmetic of docs/protocol.md is that of program order; order=ready sums weight "
    "gradients earlier and holds less";

// Settings that came later are part of the name only where they are chosen: scenarios are told apart by the names of their
// clusters, and those that were recorded keep theirs. With `copies=blocking` a GPU that sends or receives computes next to nothing.
std::string NameOf(const Settings& read) {
  Spec name = Spec::Parse(read.Canonical());
  std::erase_if(name.named, [](const auto& setting) {
    return (setting.first == "copies" && setting.second == "overlap") ||
           (setting.first == "prices" && setting.second == "sheet");
  });
  return name.ToString();
}

std::string TreeCluster(const Settings& read, const Tree& tree) {
  const auto gpus = static_cast<int>(read.Int("gpus"));
  const char* const overlap = read.Is("copies", "blocking") ? ", overlap_copy: 0.001" : "";
  ClusterText yaml(NameOf(read), tree.what, read, read.Is("order", "program") ? kWhyProgram : "");
  yaml.Line(fmt::format("  - {{name: cpu0, kind: {}, memory: {}}}", tree.cpu_kind, tree.cpu_memory),
            tree.cpu_source);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    yaml.Line(fmt::format("  - {{name: gpu{}, kind: {}, memory: {}, reserve: 300MiB{}}}", gpu, tree.gpu_kind,
                          tree.gpu_memory, overlap),
              gpu == 0 ? kGpuMemorySource : "");
  }
  const int switches = (gpus + tree.gpus_per_switch - 1) / tree.gpus_per_switch;
  std::string names = "plx0";
  for (int i = 1; i < switches; ++i) names += fmt::format(", plx{}", i);
  yaml.Line(fmt::format("switches: [{}]", names),
            fmt::format("assumption: {} GPUs to a switch", tree.gpus_per_switch));
  yaml.Line("links:");
  for (int i = 0; i < switches; ++i) {
    yaml.Line(fmt::format("  - {{name: pcie-host{0}, ends: [cpu0, plx{0}], bandwidth: {1}, latency: {2}}}", i,
                          tree.bandwidth, tree.hop_latency),
              i == 0 ? tree.bandwidth_source : "");
  }
  for (int gpu = 0; gpu < gpus; ++gpu) {
    yaml.Line(fmt::format("  - {{name: pcie-gpu{0}, ends: [gpu{0}, plx{1}], bandwidth: {2}, latency: {3}}}",
                          gpu, gpu / tree.gpus_per_switch, tree.bandwidth, tree.hop_latency));
  }
  return yaml.text();
}

}  // namespace

std::string K40Cluster(const Settings& read) {
  return TreeCluster(
      read,
      {.what =
           "Testbed of A Hierarchical Model for Device Placement (ICLR 2018): a Haswell CPU and K40 GPUs.",
       .cpu_kind = "cpu-haswell",
       .cpu_memory = "256GiB",
       .cpu_source = "memory assumed: not published, and never the limit",
       .gpu_kind = "k40",
       .gpu_memory = "11440MiB",
       .gpus_per_switch = 4,
       .bandwidth = "10GB/s",
       .bandwidth_source =
           "PCI Express 3 x16 as a K40 drives it (10.04 GB/s measured by Microway); 25 us over two links "
           "as in Placeto's simulator"});
}

std::string K80Cluster(const Settings& read) {
  return TreeCluster(
      read,
      {.what = "Testbed of Placeto (NeurIPS 2019): Amazon EC2 p2.8xlarge; a GPU is one die of a K80.",
       .cpu_kind = "cpu-broadwell",
       .cpu_memory = "488GiB",
       .cpu_source = "memory: Amazon EC2 P2 page",
       .gpu_kind = "k80",
       .gpu_memory = "11440MiB",
       .gpus_per_switch = 8,
       .bandwidth = "7.6GB/s",
       .bandwidth_source =
           "bandwidth, and 25 us over two links: Placeto's published simulator, made for this machine"});
}

// DeepBench measured the board of NVLink with the libraries of the papers' years. Links and memory stay those of the papers' boards.
std::string P100Cluster(const Settings& read) {
  const bool large = read.Is("memory", "16GB");
  const char* const of_sheet = large ? "p100" : "p100-12gb";
  return TreeCluster(
      read, {.what = "Testbeds of SGDP (P100 of 16 GB) and Mars (12 GB): a Broadwell CPU, PCI Express.",
             .cpu_kind = "cpu-broadwell",
             .cpu_memory = "256GiB",
             .cpu_source = "memory assumed: not published, and never the limit",
             .gpu_kind = read.Is("prices", "sheet") ? of_sheet : "p100-sxm2",
             .gpu_memory = large ? "16280MiB" : "12198MiB",
             .gpus_per_switch = 4,
             .bandwidth = "10GB/s",
             .bandwidth_source = "assumption: as of the K40's"});
}

// A device is a server, first in, first out; an edge between two of them takes what its source says, and nothing is
// shared. In graphs that importers/doppler.h reads a byte is 10^-13 s.
std::string DopplerCluster(const Settings& read) {
  const auto gpus = static_cast<int>(read.Int("gpus"));
  std::string text = fmt::format(
      "# The simulator of DOPPLER (ICLR 2026), as its program has it: equal devices, transfers that share "
      "nothing.\n"
      "format: stowplan.cluster\nversion: 1\nname: \"{}\"\ninterconnect: ideal\n"
      "dispatch: {{per: device, order: ready, cost: 0us}}\ndevices:\n",
      read.Canonical());
  for (int gpu = 0; gpu < gpus; ++gpu) {
    text += fmt::format("  - {{name: gpu{}, kind: p100, memory: 1024TiB, reserve: 0B}}{}\n", gpu,
                        gpu == 0 ? "  # any kind: graphs bring their costs; memory is no limit there" : "");
  }
  text += "switches: [all]\nlinks:\n";
  for (int gpu = 0; gpu < gpus; ++gpu) {
    text += fmt::format("  - {{name: link{0}, ends: [gpu{0}, all], bandwidth: 10TB/s, latency: 0us}}{1}\n",
                        gpu, gpu == 0 ? "  # 10^10 units of its graphs are 1 ms" : "");
  }
  return text;
}

std::string BaechiCluster(const Settings& read) {
  return TreeCluster(
      read,
      {.what = "Testbed of BaechiPyTorch's log: four cards of 8 GB that it does not name; a P100 of PCI "
               "Express is as fast on one of them.",
       .cpu_kind = "cpu-broadwell",
       .cpu_memory = "256GiB",
       .cpu_source = "CPU and memory assumed: not published, and never the limit",
       .gpu_kind = "p100-pcie-16gb",
       .gpu_memory = "7611MiB",
       .gpus_per_switch = 4,
       .bandwidth = "5.59GB/s",
       .bandwidth_source = "read: 1.788e-7 ms a byte, 0.1 ms a copy (BaechiPyTorch, main_training/config.py)",
       .hop_latency = "50us"});
}

// The deployment of msr-fiddle/dnn-partitioning: accelerators of little memory that reach each other through the memory of
// a CPU, each over a link of its own, of the speed that its files' costs have.
std::string MsrCluster(const Settings& read) {
  const auto gpus = static_cast<int>(read.Int("gpus"));
  const auto mebibytes = read.Int("mebibytes");
  std::string text = fmt::format(
      "# Accelerators beside a CPU, as in the inputs of msr-fiddle/dnn-partitioning (NeurIPS 2020).\n"
      "format: stowplan.cluster\nversion: 1\nname: \"{}\"\ninterconnect: fair\n"
      "dispatch: {{per: device, order: ready, cost: 0us}}\ndevices:\n"
      "  - {{name: cpu0, kind: cpu-broadwell, memory: 1TiB}}  # graphs bring their costs; its memory is no "
      "limit\n",
      read.Canonical());
  for (int gpu = 0; gpu < gpus; ++gpu)
    text += fmt::format("  - {{name: gpu{}, kind: p100, memory: {}MiB, reserve: 0B}}\n", gpu, mebibytes);
  text += "links:\n";
  for (int gpu = 0; gpu < gpus; ++gpu) {
    text += fmt::format("  - {{name: link{0}, ends: [gpu{0}, cpu0], bandwidth: 2GiB/s, latency: 0us}}{1}\n",
                        gpu, gpu == 0 ? "  # an edge's cost is its size over this" : "");
  }
  return text;
}

}  // namespace stowplan::scenarios
