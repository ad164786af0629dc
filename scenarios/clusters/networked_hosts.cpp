// Hosts that a network joins: data centres' machines, instances of clouds, PCs.
//
// What is not modelled: switches above the leaves, which are never the bottleneck; which path a packet takes.
#include <algorithm>

#include <fmt/format.h>

#include "scenarios/clusters/cluster_text.h"
#include "scenarios/clusters/clusters.h"
#include "scenarios/clusters/host_text.h"
#include "sim/base/error.h"
#include "sim/base/rows.h"
#include "sim/cluster.h"

namespace stowplan::scenarios {
namespace {

// A copy over one NIC, as links.yaml has its kind.
struct Nic {
  const char* kind;
  double gigabytes;  // a second
  double latency;    // [us] half of the kind's, since a path crosses two
};
constexpr Nic kHdr{"infiniband-hdr", 18, 9.55}, kNdr{"infiniband-ndr", 36, 9.55}, kEfa{"efa-100g", 9, 15},
    kEthernet200{"ethernet-200g", 18, 12.5}, kEthernet10{"ethernet-10g", 1.18, 15};

struct Gpu {
  const char* kind;
  const char* pcie_kind;
  const char* nvswitch_kind;  // nullptr: GPUs meet at the CPU
};
constexpr Gpu kA100{"a100", "pcie4-x16", "nvswitch-a100"},
    kA100Of40GB{"a100-sxm-40gb", "pcie4-x16", "nvswitch-a100"}, kH100{"h100", "pcie5-x16", "nvswitch-h100"},
    kB200{"b200", "pcie5-x16", "nvswitch-b200"}, kGb200{"b200", "nvlink-c2c", "nvswitch-b200"};

struct HostSheet {
  const char* name;  // of the cluster
  const char* what;
  Gpu gpu;
  Nic nic;
  const char* nic_source;  // of how many there are
  int nics_together = 1;   // that one link stands for
  int gpus_per_nic = 1;    // with more, these share a switch of PCI Express with the NIC
  int gpus_per_cpu = 0;    // 0: one CPU a host
};

constexpr HostSheet kSheets[] = {
    {"a100_hosts", "DGX A100s, with `gpus` each, joined by HDR InfiniBand.", kA100, kHdr,
     "data sheet: DGX A100, eight ConnectX-6 of 200 Gbit/s for computing [recalled]"},
    {"h100_hosts", "DGX H100s, with `gpus` each, joined by NDR InfiniBand.", kH100, kNdr,
     "data sheet: DGX H100, eight ConnectX-7 of 400 Gbit/s [recalled]"},
    {"b200_hosts", "DGX B200s, with `gpus` each, joined by NDR InfiniBand.", kB200, kNdr,
     "data sheet: DGX B200, eight ConnectX-7 of 400 Gbit/s [recalled]"},
    {"gb200_nvl72",
     "Racks of GB200 NVL72: 72 Blackwell GPUs on one NVSwitch domain, a Grace CPU for two of them. B200 "
     "stands for the GPU.",
     kGb200, kNdr, "data sheet: GB200 NVL72, a ConnectX-7 of 400 Gbit/s a GPU [recalled]", 1, 1, 2},
    {"aws_p4d", "Amazon EC2 p4d.24xlarge: A100 of 40 GB, 400 Gbit/s of EFA.", kA100Of40GB, kEfa,
     "Amazon EC2 P4 page: 400 Gbit/s in four adapters [recalled]", 1, 2},
    {"aws_p5", "Amazon EC2 p5.48xlarge: H100, 3,200 Gbit/s of EFA.", kH100, kEfa,
     "Amazon EC2 P5 page: 32 adapters of 100 Gbit/s, four a GPU taken together [recalled]", 4},
    {"azure_nd_h100_v5", "Azure ND H100 v5: H100, a 400 Gbit/s InfiniBand adapter a GPU.", kH100, kNdr,
     "Azure's page of the ND H100 v5 series: eight ConnectX-7 of 400 Gbit/s [recalled]"},
    {"gcp_a3_highgpu", "Google Cloud a3-highgpu-8g: H100, four 200 Gbit/s adapters for GPUs.", kH100,
     kEthernet200, "Google Cloud's page of A3 High: four adapters of 200 Gbit/s beside the host's [recalled]",
     1, 2},
    {"rtx4090",
     "PCs with RTX 4090, which do not reach each other's memory.",
     {"rtx4090", "pcie4-x16", nullptr},
     kEthernet10,
     ""},
    {"rtx5090",
     "PCs with RTX 5090, which do not reach each other's memory.",
     {"rtx5090", "pcie5-x16", nullptr},
     kEthernet10,
     ""},
};

// A network's links beyond the NICs.
struct Fabric {
  bool flat;
  bool rails;
  int pod;  // hosts below a leaf
  double oversubscription;

  // `rail`: which NIC of its host.
  std::string LeafOf(int host, int rail) const {
    if (flat) return "network";
    return rails ? fmt::format("leaf{}-{}", host / pod, rail) : fmt::format("leaf{}", host / pod);
  }
};

// Writes hosts one after another, numbering GPUs and CPUs through.
class HostsText {
 public:
  HostsText(const Settings& read, const HostSheet& sheet)
      : sheet_(sheet),
        gpus_(static_cast<int>(read.Int("gpus"))),
        hosts_(static_cast<int>(read.Int("hosts"))),
        nic_for_each_gpu_(!read.Has("nics") || read.Is("nics", "gpu")),
        fabric_(FabricOf(read)),
        yaml_(NameOf(read), sheet.what, read) {
    if (std::int64_t{gpus_} * hosts_ > sim::kMaxAccelerators) {
      throw InputError(fmt::format("{}: has {} GPUs; at most {} can be simulated.", read.Canonical(),
                                   std::int64_t{gpus_} * hosts_, sim::kMaxAccelerators));
    }
  }

  std::string Print() {
    for (int cpu = 0; cpu < hosts_ * cpus(); ++cpu) WriteCpu(yaml_, cpu);
    WriteGpus(yaml_, 0, hosts_ * gpus_, sheet_.gpu.kind);
    if (const std::string switches = Switches(); !switches.empty())
      yaml_.Line(fmt::format("switches: [{}]", switches),
                 fabric_.flat && has_network() ? "assumption: a network that is never the bottleneck" : "");
    yaml_.Line("links:");
    for (int host = 0; host < hosts_; ++host) WriteInside(host);
    if (!has_network()) return yaml_.text();
    for (int cpu = 0; cpu < hosts_ * cpus(); ++cpu)
      WriteNic("cpu", cpu, fabric_.LeafOf(cpu / cpus(), 0),
               cpu == 0 ? "derived: half of the kind's, since a path crosses two" : "");
    if (nic_for_each_gpu_) WriteNics();
    if (!fabric_.flat) WriteUplinks();
    return yaml_.text();
  }

 private:
  // A flat network is what there was before there was a choice.
  static std::string NameOf(const Settings& read) {
    Spec name = Spec::Parse(read.Canonical());
    std::erase_if(name.named,
                  [](const auto& setting) { return setting.first == "network" && setting.second == "flat"; });
    return name.ToString();
  }

  static Fabric FabricOf(const Settings& read) {
    if (read.Is("network", "flat")) return {true, false, 1, 1};
    return {false, read.Is("network", "rails"), static_cast<int>(read.Int("pod")),
            read.Double("oversubscription")};
  }

  // CPUs of one rack reach one another over it, too.
  bool has_network() const { return hosts_ > 1 || cpus() > 1; }
  int cpus() const {
    return sheet_.gpus_per_cpu == 0 ? 1 : (gpus_ + sheet_.gpus_per_cpu - 1) / sheet_.gpus_per_cpu;
  }
  int nics() const { return (gpus_ + sheet_.gpus_per_nic - 1) / sheet_.gpus_per_nic; }
  int rails() const { return nic_for_each_gpu_ ? nics() : 1; }

  std::string Switches() const {
    std::string names;
    const auto add = [&names](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
    if (has_network()) add(fabric_.flat ? "network" : "spine");
    for (int pod = 0; !fabric_.flat && has_network() && pod * fabric_.pod < hosts_; ++pod) {
      for (int rail = 0; rail < (fabric_.rails ? rails() : 1); ++rail)
        add(fabric_.LeafOf(pod * fabric_.pod, rail));
    }
    for (int host = 0; host < hosts_; ++host) {
      if (sheet_.gpu.nvswitch_kind != nullptr) add(fmt::format("nvswitch{}", host));
      for (int nic = 0; sheet_.gpus_per_nic > 1 && nic < nics(); ++nic)
        add(fmt::format("plx{}", host * nics() + nic));
    }
    return names;
  }

  void WriteInside(int host) {
    const int first = host * gpus_;
    if (sheet_.gpus_per_nic > 1) {
      WritePcieSwitches(host);
    } else {
      const int share = sheet_.gpus_per_cpu == 0 ? gpus_ : sheet_.gpus_per_cpu;
      for (int gpu = 0, cpu = host * cpus(); gpu < gpus_; gpu += share, ++cpu)
        WriteRootPorts(yaml_, cpu, first + gpu, std::min(share, gpus_ - gpu), sheet_.gpu.pcie_kind);
    }
    if (sheet_.gpu.nvswitch_kind != nullptr)
      WriteNvswitch(yaml_, fmt::format("nvswitch{}", host), first, gpus_, sheet_.gpu.nvswitch_kind);
  }

  void WritePcieSwitches(int host) {
    for (int nic = 0; nic < nics(); ++nic) {
      const int plx = host * nics() + nic;
      yaml_.Line(fmt::format("  - {{name: pcie-host{0}, ends: [cpu{1}, plx{0}], kind: {2}, latency: 2.5us}}",
                             plx, host, sheet_.gpu.pcie_kind),
                 plx == 0 ? "derived: half of the kind's 5 us, since a path to the host crosses two" : "");
      for (int gpu = nic * sheet_.gpus_per_nic; gpu < std::min((nic + 1) * sheet_.gpus_per_nic, gpus_);
           ++gpu) {
        yaml_.Line(fmt::format("  - {{name: pcie-gpu{0}, ends: [gpu{0}, plx{1}], kind: {2}, latency: 2.5us}}",
                               host * gpus_ + gpu, plx, sheet_.gpu.pcie_kind));
      }
    }
  }

  void WriteNic(const char* device, int index, const std::string& leaf, const char* why) {
    const int together = sheet_.nics_together;
    const std::string wider =
        together == 1 ? "" : fmt::format(" bandwidth: {}GB/s,", sheet_.nic.gigabytes * together);
    yaml_.Line(fmt::format("  - {{name: nic-{0}{1}, ends: [{0}{1}, {2}], kind: {3},{4} latency: {5}us}}",
                           device, index, leaf, sheet_.nic.kind, wider, sheet_.nic.latency),
               why);
  }

  void WriteNics() {
    const bool own = sheet_.gpus_per_nic == 1;
    for (int nic = 0; nic < hosts_ * nics(); ++nic)
      WriteNic(own ? "gpu" : "plx", nic, fabric_.LeafOf(nic / nics(), nic % nics()),
               nic == 0 ? sheet_.nic_source : "");
  }

  void WriteUplinks() {
    for (int pod = 0; pod * fabric_.pod < hosts_; ++pod) {
      const int hosts = std::min(fabric_.pod, hosts_ - pod * fabric_.pod);
      for (int rail = 0; rail < (fabric_.rails ? rails() : 1); ++rail) {
        const std::string leaf = fabric_.LeafOf(pod * fabric_.pod, rail);
        const double down =
            sheet_.nic.gigabytes * sheet_.nics_together * hosts * (fabric_.rails ? 1 : rails());
        yaml_.Line(
            fmt::format(
                "  - {{name: up-{0}, ends: [{0}, spine], kind: {1}, bandwidth: {2}GB/s, latency: 0.5us}}",
                leaf, sheet_.nic.kind, down / fabric_.oversubscription),
            pod + rail == 0 ? "assumption: a switch's latency" : "");
      }
    }
  }

  const HostSheet& sheet_;
  const int gpus_, hosts_;
  const bool nic_for_each_gpu_;
  const Fabric fabric_;
  ClusterText yaml_;
};

}  // namespace

std::string NetworkedHostsCluster(const Settings& read) {
  const HostSheet* sheet = FindRow(kSheets, read.name());
  STOWPLAN_CHECK(sheet != nullptr);
  return HostsText(read, *sheet).Print();
}

}  // namespace stowplan::scenarios
