#include "scenarios/clusters.h"

#include <array>
#include <string_view>

#include <fmt/format.h>

#include "sim/error.h"

namespace berth::scenarios {
namespace {

// ---- what the user chooses on every cluster ---------------------------------------------------------------

enum class IssueOrder : std::uint8_t { kReady, kProgram };

struct Choices {
  int gpus;
  std::string interconnect;
  std::string host;   // a thread of its own for each device, or one for the process
  std::string order;  // of issue
};

Choices ReadChoices(ParameterReader& read, int gpus, IssueOrder order) {
  Choices choices;
  choices.gpus = static_cast<int>(read.Int("gpus", gpus, 1, 8));
  choices.interconnect = read.Choice("interconnect", {"fair", "fifo", "ideal"});
  choices.host = read.Choice("host", {"device", "process"});
  choices.order = order == IssueOrder::kProgram ? read.Choice("order", {"program", "ready"})
                                                : read.Choice("order", {"ready", "program"});
  return choices;
}

void FinishReading(const Spec& spec, ParameterReader& read) {
  if (!spec.positional.empty()) {
    throw InputError(spec.name + ": '" + spec.positional.front() + "' has no name; write " + spec.name +
                     "(gpus=2)");
  }
  read.Finish();
}

// ---- the file ---------------------------------------------------------------------------------------------

class Yaml {
 public:
  // `why` becomes a comment behind the line.
  void Line(std::string_view line, std::string_view why = "") {
    text_ += line;
    if (!why.empty()) text_.append("  # ").append(why);
    text_ += '\n';
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

Yaml Begin(const std::string& name, const std::string& what, const Choices& choices,
           std::string_view why_order) {
  Yaml yaml;
  yaml.Line("# " + what);
  yaml.Line("format: berth.cluster");
  yaml.Line("version: 1");
  yaml.Line(fmt::format("name: \"{}\"", name));
  yaml.Line("interconnect: " + choices.interconnect);
  yaml.Line(fmt::format("dispatch: {{per: {}, order: {}, cost: auto}}", choices.host, choices.order),
            why_order);
  yaml.Line("devices:");
  return yaml;
}

// ---- trees of PCI Express: the papers' machines -----------------------------------------------------------

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
};

// The published simulator of Placeto keeps a channel busy for 25 us beside each copy; two links of 12.5 us
// are as much.
constexpr const char* kHopLatency = "12.5us";
constexpr const char* kGpuMemorySource =
    "visible memory and what the framework keeps: PROTOCOL 6.1 [recalled: medium]";
constexpr const char* kWhyProgram =
    "the memory arithmetic of PROTOCOL 6.1 is that of program order; order=ready sums weight gradients "
    "earlier and holds less";

std::string PrintTree(const std::string& name, const Tree& tree, const Choices& choices) {
  Yaml yaml = Begin(name, tree.what, choices, choices.order == "program" ? kWhyProgram : "");
  yaml.Line(fmt::format("  - {{name: cpu0, kind: {}, memory: {}}}", tree.cpu_kind, tree.cpu_memory),
            tree.cpu_source);
  for (int gpu = 0; gpu < choices.gpus; ++gpu) {
    yaml.Line(fmt::format("  - {{name: gpu{}, kind: {}, memory: {}, reserve: 300MiB}}", gpu, tree.gpu_kind,
                          tree.gpu_memory),
              gpu == 0 ? kGpuMemorySource : "");
  }
  const int switches = (choices.gpus + tree.gpus_per_switch - 1) / tree.gpus_per_switch;
  std::string names = "plx0";
  for (int i = 1; i < switches; ++i) names += fmt::format(", plx{}", i);
  yaml.Line(fmt::format("switches: [{}]", names),
            fmt::format("assumption: {} GPUs to a switch", tree.gpus_per_switch));
  yaml.Line("links:");
  for (int i = 0; i < switches; ++i) {
    yaml.Line(fmt::format("  - {{name: pcie-host{0}, ends: [cpu0, plx{0}], bandwidth: {1}, latency: {2}}}", i,
                          tree.bandwidth, kHopLatency),
              i == 0 ? tree.bandwidth_source : "");
  }
  for (int gpu = 0; gpu < choices.gpus; ++gpu) {
    yaml.Line(fmt::format("  - {{name: pcie-gpu{0}, ends: [gpu{0}, plx{1}], bandwidth: {2}, latency: {3}}}",
                          gpu, gpu / tree.gpus_per_switch, tree.bandwidth, kHopLatency));
  }
  return yaml.text();
}

std::string TreeCluster(const Spec& spec, const Tree& tree) {
  ParameterReader read(spec);
  const Choices choices = ReadChoices(read, 2, IssueOrder::kProgram);
  FinishReading(spec, read);
  return PrintTree(read.Canonical(), tree, choices);
}

// ---- today's hosts: memory and link speeds are those of the catalogue's kinds -----------------------------

Yaml BeginHost(const std::string& name, const std::string& what, const std::string& gpu_kind,
               const Choices& choices) {
  Yaml yaml = Begin(name, what, choices, "");
  yaml.Line("  - {name: cpu0, kind: cpu-broadwell, memory: 1TiB}",
            "assumption: a stand-in for the host's CPU");
  for (int gpu = 0; gpu < choices.gpus; ++gpu) {
    yaml.Line(fmt::format("  - {{name: gpu{}, kind: {}, reserve: 500MiB}}", gpu, gpu_kind),
              gpu == 0 ? "reserve assumed: a CUDA context and its libraries" : "");
  }
  return yaml;
}

void WriteHostLinks(Yaml& yaml, const std::string& pcie_kind, const Choices& choices) {
  yaml.Line("links:");
  for (int gpu = 0; gpu < choices.gpus; ++gpu) {
    yaml.Line(fmt::format("  - {{name: pcie-gpu{0}, ends: [gpu{0}, cpu0], kind: {1}}}", gpu, pcie_kind),
              gpu == 0 ? "assumption: a root port for each GPU" : "");
  }
}

// The switches themselves are never the bottleneck: only a GPU's own links are modelled.
std::string SwitchedHost(const Spec& spec, const std::string& what, const std::string& gpu_kind,
                         const std::string& pcie_kind) {
  ParameterReader read(spec);
  const Choices choices = ReadChoices(read, 8, IssueOrder::kReady);
  FinishReading(spec, read);
  Yaml yaml = BeginHost(read.Canonical(), what, gpu_kind, choices);
  yaml.Line("switches: [nvswitch]");
  WriteHostLinks(yaml, pcie_kind, choices);
  for (int gpu = 0; gpu < choices.gpus; ++gpu) {
    yaml.Line(fmt::format("  - {{name: nvlink-gpu{0}, ends: [gpu{0}, nvswitch], kind: nvswitch-{1}}}", gpu,
                          gpu_kind));
  }
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

std::string HierarchicalCluster(const Spec& spec) {
  return TreeCluster(
      spec,
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

std::string PlacetoCluster(const Spec& spec) {
  return TreeCluster(
      spec,
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

std::string P100Cluster(const Spec& spec) {
  ParameterReader read(spec);
  const Choices choices = ReadChoices(read, 2, IssueOrder::kProgram);
  const bool large = read.Choice("memory", {"16GB", "12GB"}) == "16GB";
  FinishReading(spec, read);
  return PrintTree(
      read.Canonical(),
      {.what = "Testbeds of SGDP (P100 of 16 GB) and Mars (12 GB): a Broadwell CPU, PCI Express.",
       .cpu_kind = "cpu-broadwell",
       .cpu_memory = "256GiB",
       .cpu_source = "memory assumed: not published, and never the limit",
       .gpu_kind = large ? "p100" : "p100-12gb",
       .gpu_memory = large ? "16280MiB" : "12198MiB",
       .gpus_per_switch = 4,
       .bandwidth = "10GB/s",
       .bandwidth_source = "assumption: PROTOCOL appendix A"},
      choices);
}

std::string V100Cluster(const Spec& spec) {
  ParameterReader read(spec);
  const Choices choices = ReadChoices(read, 8, IssueOrder::kReady);
  FinishReading(spec, read);
  Yaml yaml = BeginHost(read.Canonical(), "A DGX-1: V100 SXM2 of 16 GB in a hybrid cube mesh of NVLinks.",
                        "v100", choices);
  WriteHostLinks(yaml, "pcie3-x16", choices);
  for (const Bond& bond : kCubeMesh) {
    if (bond.a >= choices.gpus || bond.b >= choices.gpus) continue;
    yaml.Line(fmt::format("  - {{name: nvlink-gpu{0}-gpu{1}, ends: [gpu{0}, gpu{1}], kind: nvlink-v100, "
                          "bandwidth: {2}GB/s}}",
                          bond.a, bond.b, bond.links * kNvlinkGigabytes),
              bond.links == 2 ? "two links" : "one link");
  }
  return yaml.text();
}

std::string A100Cluster(const Spec& spec) {
  return SwitchedHost(spec, "A DGX A100: A100 SXM4 of 80 GB on NVSwitch.", "a100", "pcie4-x16");
}

std::string H100Cluster(const Spec& spec) {
  return SwitchedHost(spec, "A DGX H100: H100 SXM5 of 80 GB on NVSwitch.", "h100", "pcie5-x16");
}

std::string H200Cluster(const Spec& spec) {
  return SwitchedHost(spec, "A DGX H200: H200 SXM of 141 GB on NVSwitch.", "h200", "pcie5-x16");
}

}  // namespace berth::scenarios
