// Today's hosts: memory and link speeds are those of the catalogue's kinds.
#include <array>

#include <fmt/format.h>

#include "scenarios/clusters/cluster_text.h"
#include "scenarios/clusters/clusters.h"
#include "scenarios/clusters/host_text.h"

namespace stowplan::scenarios {
namespace {

struct SwitchedHost {
  const char* what;
  const char* gpu_kind;
  const char* pcie_kind;
  const char* memory = "";  // as WriteGpus() takes it
};

std::string PrintSwitchedHost(const Settings& read, const SwitchedHost& host) {
  const auto gpus = static_cast<int>(read.Int("gpus"));
  ClusterText yaml(read.Canonical(), host.what, read);
  WriteCpu(yaml, 0);
  WriteGpus(yaml, 0, gpus, host.gpu_kind, host.memory);
  yaml.Line("switches: [nvswitch]");
  yaml.Line("links:");
  WriteRootPorts(yaml, 0, 0, gpus, host.pcie_kind);
  WriteNvswitch(yaml, "nvswitch", 0, gpus, std::string("nvswitch-") + host.gpu_kind);
  return yaml.text();
}

// Pairs of the hybrid cube mesh of a DGX-1 with V100 and how many of its six NVLinks a GPU gives to each.
// That there is such a mesh is NVIDIA's; which pairs have two links is recalled, an assumption. Other pairs
// go over the host.
struct Bond {
  int a;
  int b;
  int links;
};
constexpr std::array kCubeMesh = {Bond{0, 1, 1}, Bond{0, 2, 1}, Bond{0, 3, 2}, Bond{0, 4, 2},
                                  Bond{1, 2, 2}, Bond{1, 3, 1}, Bond{1, 5, 2}, Bond{2, 3, 2},
                                  Bond{2, 6, 1}, Bond{3, 7, 1}, Bond{4, 5, 1}, Bond{4, 6, 1},
                                  Bond{4, 7, 2}, Bond{5, 6, 2}, Bond{5, 7, 1}, Bond{6, 7, 2}};
constexpr int kNvlinkGigabytes =
    25;  // a second, each direction of one link: V100 data sheet, 300 GB/s over 6, both ways

}  // namespace

std::string V100Cluster(const Settings& read) {
  const auto gpus = static_cast<int>(read.Int("gpus"));
  ClusterText yaml(read.Canonical(), "A DGX-1: V100 SXM2 of 16 GB in a hybrid cube mesh of NVLinks.", read);
  WriteCpu(yaml, 0);
  WriteGpus(yaml, 0, gpus, "v100");
  yaml.Line("links:");
  WriteRootPorts(yaml, 0, 0, gpus, "pcie3-x16");
  for (const Bond& bond : kCubeMesh) {
    if (bond.a >= gpus || bond.b >= gpus) continue;
    yaml.Line(fmt::format("  - {{name: nvlink-gpu{0}-gpu{1}, ends: [gpu{0}, gpu{1}], kind: nvlink-v100, "
                          "bandwidth: {2}GB/s}}",
                          bond.a, bond.b, bond.links * kNvlinkGigabytes),
              bond.links == 2 ? "two links" : "one link");
  }
  return yaml.text();
}

std::string Dgx2Cluster(const Settings& read) {
  // Visible memory of the 32 GB board: recalled, as that of the 16 GB board in the catalogue.
  return PrintSwitchedHost(read, {.what = "A DGX-2: 16 V100 SXM3 of 32 GB on NVSwitch.",
                                  .gpu_kind = "v100",
                                  .pcie_kind = "pcie3-x16",
                                  .memory = " memory: 32480MiB,"});
}

std::string A100Cluster(const Settings& read) {
  return PrintSwitchedHost(read, {"A DGX A100: A100 SXM4 of 80 GB on NVSwitch.", "a100", "pcie4-x16"});
}

std::string H100Cluster(const Settings& read) {
  return PrintSwitchedHost(read, {"A DGX H100: H100 SXM5 of 80 GB on NVSwitch.", "h100", "pcie5-x16"});
}

std::string H200Cluster(const Settings& read) {
  return PrintSwitchedHost(read, {"A DGX H200: H200 SXM of 141 GB on NVSwitch.", "h200", "pcie5-x16"});
}

std::string WorkstationCluster(const Settings& read) {
  const auto gpus = static_cast<int>(read.Int("gpus"));
  ClusterText yaml(read.Canonical(), "Unequal GPUs: an RTX 4090, all others T4.", read);
  WriteCpu(yaml, 0);
  WriteGpus(yaml, 0, 1, "rtx4090");
  WriteGpus(yaml, 1, gpus - 1, "t4");
  yaml.Line("links:");
  WriteRootPorts(yaml, 0, 0, 1, "pcie4-x16");
  WriteRootPorts(yaml, 0, 1, gpus - 1, "pcie3-x16");
  return yaml.text();
}

std::string PcieTreeCluster(const Settings& read) {
  const auto gpus = static_cast<int>(read.Int("gpus"));
  ClusterText yaml(read.Canonical(),
                   "Two Broadwell sockets, below each a PCI Express switch with half of the P100.", read);
  WriteCpu(yaml, 0);
  WriteCpu(yaml, 1);
  WriteGpus(yaml, 0, gpus, "p100");
  yaml.Line("switches: [plx0, plx1]", "assumption: the common board of eight cards, no one machine");
  yaml.Line("links:");
  yaml.Line("  - {name: qpi, ends: [cpu0, cpu1], kind: qpi}");
  const char* const kHalf = "latency: 2.5us";
  for (int i = 0; i < 2; ++i) {
    yaml.Line(
        fmt::format("  - {{name: pcie-host{0}, ends: [cpu{0}, plx{0}], kind: pcie3-x16, {1}}}", i, kHalf),
        i == 0 ? "derived: half of the kind's 5 us, since a path to the host crosses two" : "");
  }
  const int below_first = (gpus + 1) / 2;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    yaml.Line(fmt::format("  - {{name: pcie-gpu{0}, ends: [gpu{0}, plx{1}], kind: pcie3-x16, {2}}}", gpu,
                          gpu < below_first ? 0 : 1, kHalf));
  }
  return yaml.text();
}

}  // namespace stowplan::scenarios
