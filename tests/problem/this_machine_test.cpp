// --cluster here: from what the machine says to a cluster, with machines that are made up.
#include "problem/this_machine.h"

#include "sim/formats/formats.h"
#include "tests/cli/program.h"
#include "tests/testing.h"

namespace stowplan::problem {
namespace {

using testing::RunShell;
using tests::TempFolder;

constexpr const char* kCpu =
    "processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\nphysical id\t: 0\ncore id\t\t: 0\nflags\t\t: fma "
    "avx2\n\n"
    "processor\t: 1\nphysical id\t: 0\ncore id\t\t: 1\n\nprocessor\t: 2\nphysical id\t: 0\ncore id\t\t: 0\n\n"
    "processor\t: 3\nphysical id\t: 0\ncore id\t\t: 1\n";
constexpr const char* kMemory = "MemTotal:       16384000 kB\nMemFree: 1 kB\n";

sim::Cluster ClusterOf(const ThisMachine& machine) {
  const auto catalogue =
      cost_models::CatalogueWith(cost_models::BuiltinCatalogue(), {{machine.yaml, "here"}});
  return formats::ParseCluster(machine.yaml, "here", *catalogue);
}

ThisMachine Describe(const std::string& gpus, const std::string& topology = "") {
  return DescribeMachine({.gpus = gpus, .topology = topology, .cpuinfo = kCpu, .meminfo = kMemory},
                         cost_models::BuiltinCatalogue());
}

TEST(ThisMachine, WithoutGpusIsItsCpu) {
  const ThisMachine machine = Describe("");
  const sim::Cluster cluster = ClusterOf(machine);
  ASSERT_EQ(cluster.devices.size(), 1U);
  EXPECT_EQ(cluster.devices[0].memory, sim::Bytes{16000} << 20);
  EXPECT_THAT(machine.yaml, HasSubstr("cores: {value: 2,"));             // of four hardware threads
  EXPECT_THAT(machine.yaml, HasSubstr("peak_f32: {value: 160GFLOP/s"));  // 2 x 2.5 GHz x 32
  EXPECT_THAT(machine.notes,
              ElementsAre(HasSubstr("tells of no GPU"),
                          HasSubstr("the rates of the CPU (Some CPU @ 3 GHz, 2 cores) are assumed")));
  EXPECT_EQ(ClusterOf(Describe("No devices were found\n")).devices.size(), 1U);
}

TEST(ThisMachine, KnowsTheBoardsOfTheCatalogue) {
  const auto kind = [](const std::string& name, int mib) {
    return ClusterOf(Describe("0, " + name + ", " + std::to_string(mib) + ", 4, 16\n")).devices[1].kind;
  };
  EXPECT_EQ(kind("NVIDIA H100 80GB HBM3", 81559), "h100");
  EXPECT_EQ(kind("NVIDIA H100 PCIe", 81559), "h100-pcie");
  EXPECT_EQ(kind("NVIDIA H200", 143771), "h200");
  EXPECT_EQ(kind("NVIDIA A100-SXM4-80GB", 81920), "a100");
  EXPECT_EQ(kind("NVIDIA A100-SXM4-40GB", 40960), "a100-sxm-40gb");
  EXPECT_EQ(kind("NVIDIA A100-PCIE-40GB", 40960), "a100-pcie-40gb");
  EXPECT_EQ(kind("NVIDIA A100 80GB PCIe", 81920), "a100-pcie-80gb");
  EXPECT_EQ(kind("Tesla V100-SXM2-16GB", 16160), "v100");
  EXPECT_EQ(kind("Tesla T4", 15360), "t4");
  EXPECT_EQ(kind("NVIDIA GeForce RTX 4090", 24564), "rtx4090");
  EXPECT_EQ(kind("NVIDIA L40S", 46068), "l40s");
}

TEST(ThisMachine, PricesUnknownBoardsAsTheNearestAndSaysSo) {
  const ThisMachine machine =
      Describe("0, NVIDIA GeForce RTX 4080, 16376, 4, 8\n1, NVIDIA GeForce RTX 4080, 16376, 4, 8\n");
  const sim::Cluster cluster = ClusterOf(machine);
  EXPECT_EQ(cluster.devices[1].kind, "rtx4090");
  EXPECT_EQ(cluster.devices[1].memory, sim::Bytes{16376} << 20);
  EXPECT_EQ(cluster.links[0].bandwidth, 13'000'000'000);  // half the lanes of pcie4-x16
  ASSERT_EQ(machine.notes.size(), 2U) << "one for both boards, one for the CPU";
  EXPECT_THAT(machine.notes[0], HasSubstr("\"NVIDIA GeForce RTX 4080\" with 16376 MiB, which the"));
  EXPECT_THAT(machine.notes[0], HasSubstr("devices: [{name: rtx4080, class: gpu"));
}

TEST(ThisMachine, ReadsNvlinksFromTheTopology) {
  const std::string pair = "0, Tesla V100-SXM2-16GB, 16160, 3, 16\n1, Tesla V100-SXM2-16GB, 16160, 3, 16\n";
  const sim::Cluster bonded =
      ClusterOf(Describe(pair, "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV2\t0-3\nGPU1\tNV2\t X \t0-3\n"));
  ASSERT_EQ(bonded.links.size(), 3U);
  EXPECT_EQ(bonded.links[2].bandwidth, 40'000'000'000);
  EXPECT_EQ(ClusterOf(Describe(pair, "\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n")).links.size(), 2U);

  std::string gpus, topology = "\tGPU0\tGPU1\tGPU2\n";
  for (int g = 0; g < 3; ++g) {
    gpus += std::to_string(g) + ", NVIDIA H100 80GB HBM3, 81559, 5, 16\n";
    topology += "GPU" + std::to_string(g);
    for (int other = 0; other < 3; ++other) topology += other == g ? "\t X " : "\tNV18";
    topology += "\n";
  }
  const sim::Cluster switched = ClusterOf(Describe(gpus, topology));
  ASSERT_EQ(switched.links.size(), 6U);
  EXPECT_EQ(switched.links[1].kind, "nvswitch-h100");
}

// Two cards of four, in the order in which CUDA shows them; links stay those of the cards.
TEST(ThisMachine, TakesTheGpusThatCudaMaySee) {
  MachineFacts facts{
      .gpus = "", .topology = "\tGPU0\tGPU1\tGPU2\tGPU3\n", .cpuinfo = kCpu, .meminfo = kMemory};
  for (int g = 0; g < 4; ++g) {
    const std::string number = std::to_string(g);
    facts.gpus += number +
                  (g < 2 ? ", Tesla V100-SXM2-16GB, 16160, 3, 16, GPU-" : ", Tesla T4, 15360, 3, 16, GPU-") +
                  "abc" + number + "\n";
    facts.topology += "GPU" + number;
    for (int other = 0; other < 4; ++other)
      facts.topology += other == g ? "\t X " : other + g == 1 ? "\tNV2" : "\tPHB";
    facts.topology += "\n";
  }
  const auto kinds = [&](const std::string& visible) {
    facts.visible = visible;
    std::string text;
    for (const sim::Device& device :
         ClusterOf(DescribeMachine(facts, cost_models::BuiltinCatalogue())).devices)
      text += device.kind + " ";
    return text;
  };
  EXPECT_EQ(kinds("0,1"), "this-cpu v100 v100 ");
  EXPECT_EQ(kinds("3, 0"), "this-cpu t4 v100 ");
  EXPECT_EQ(kinds("GPU-abc2,GPU-abc1"), "this-cpu t4 v100 ");
  EXPECT_EQ(kinds("1,7,0"), "this-cpu v100 ") << "what stands behind one that is not there is not seen";
  EXPECT_EQ(kinds("1,1"), "this-cpu ");
  for (const char* none : {"", "-1", "NoDevFiles"}) EXPECT_EQ(kinds(none), "this-cpu ") << none;
  EXPECT_THROW(kinds("MIG-GPU-abc0/1/0"), InputError);

  facts.visible = "1,0";
  const ThisMachine two = DescribeMachine(facts, cost_models::BuiltinCatalogue());
  ASSERT_EQ(ClusterOf(two).links.size(), 3U) << "two of PCI Express and the bond of two NVLinks";
  EXPECT_EQ(ClusterOf(two).links[2].bandwidth, 40'000'000'000);
  EXPECT_THAT(two.notes[0], HasSubstr("CUDA_VISIBLE_DEVICES is \"1,0\": 2 of 4 GPUs"));
  facts.visible = "0,2";
  EXPECT_EQ(ClusterOf(DescribeMachine(facts, cost_models::BuiltinCatalogue())).links.size(), 2U);
  EXPECT_THAT(DescribeMachine(facts, cost_models::BuiltinCatalogue()).notes,
              Contains(HasSubstr("PCI_BUS_ID")));
}

TEST(ThisMachine, KeepsToItsControlGroupAndItsThreads) {
  const auto describe = [](const MachineFacts& facts) {
    return DescribeMachine(facts, cost_models::BuiltinCatalogue());
  };
  MachineFacts facts{
      .cpuinfo = kCpu, .meminfo = kMemory, .limits = {.cpus = 1, .memory = sim::Bytes{512} << 20}};
  EXPECT_EQ(ClusterOf(describe(facts)).devices[0].memory, sim::Bytes{512} << 20);
  EXPECT_THAT(describe(facts).yaml, HasSubstr("cores: {value: 1, source"));
  facts.limits = {.cpus = 64, .memory = sim::Bytes{1} << 40};
  EXPECT_EQ(ClusterOf(describe(facts)).devices[0].memory, sim::Bytes{16000} << 20) << "no more than there is";
  EXPECT_THAT(describe(facts).yaml, HasSubstr("cores: {value: 2,"));
  facts.status = "Name:\tstowplan\nCpus_allowed_list:\t0,2\n";  // both threads of one core
  EXPECT_THAT(describe(facts).yaml, HasSubstr("cores: {value: 1,"));
  facts.status = "Cpus_allowed_list:\t1-2\n";
  EXPECT_THAT(describe(facts).yaml, HasSubstr("cores: {value: 2,"));
}

TEST(ThisMachine, LooksBelowARoot) {
  const TempFolder root;
  for (const char* folder : {"/proc/self", "/sys/fs/cgroup"})
    std::filesystem::create_directories(root.path() + folder);
  formats::WriteFile(root.path() + "/proc/cpuinfo", kCpu);
  formats::WriteFile(root.path() + "/proc/meminfo", kMemory);
  formats::WriteFile(root.path() + "/proc/self/status", "Cpus_allowed_list:\t0-3\n");
  formats::WriteFile(root.path() + "/proc/self/cgroup", "0::/\n");
  formats::WriteFile(root.path() + "/sys/fs/cgroup/cpu.max", "100000 100000\n");
  const MachineFacts facts = LookAtMachine(root.path());
  EXPECT_EQ(facts.meminfo, kMemory);
  EXPECT_THAT(facts.status, HasSubstr("0-3"));
  EXPECT_EQ(facts.limits.cpus, 1);
}

// A driver that is stuck, and one that prints without end.
TEST(ThisMachine, WaitsForNvidiaSmiWithinLimits) {
  const TempFolder folder;
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder.path() + ":" + path).c_str(), 1);
  const auto notes = [&](const std::string& script) {
    formats::WriteFile(folder / "nvidia-smi", "#!/bin/sh\n" + script);
    std::filesystem::permissions(folder / "nvidia-smi", std::filesystem::perms::owner_all);
    MachineFacts facts = LookAtMachine("", {.time = std::chrono::milliseconds(500), .output = 1000});
    facts.visible.reset();
    const ThisMachine machine = DescribeMachine(facts, cost_models::BuiltinCatalogue());
    EXPECT_EQ(ClusterOf(machine).devices.size(), machine.notes.size() == 2 && facts.gpus.empty() ? 1U : 2U);
    return machine.notes;
  };
  const auto rates = HasSubstr("the rates of the CPU");
  EXPECT_THAT(notes("exec sleep 1000"),
              ElementsAre("nvidia-smi has not ended within 0.5 s, so the machine is its CPU alone", rates));
  EXPECT_THAT(
      notes("exec yes '0, NVIDIA A10, 23028, 4, 16, GPU-1'"),
      ElementsAre("nvidia-smi has written more than 1000 bytes, so the machine is its CPU alone", rates));
  EXPECT_THAT(notes("exit 9"), ElementsAre(HasSubstr("tells of no GPU"), rates));
  EXPECT_THAT(notes("[ $1 = topo ] && exec sleep 1000; echo '0, NVIDIA A10, 23028, 4, 16, GPU-1'"),
              ElementsAre("nvidia-smi topo has not ended within 0.5 s, so no NVLink is known", rates));
  setenv("PATH", path.c_str(), 1);
}

// As a user calls it, with an nvidia-smi that is a script.
TEST(ThisMachine, IsWhatClusterHereMeans) {
  const TempFolder folder;
  formats::WriteFile(folder / "nvidia-smi",
                     "#!/bin/sh\ncase \"$1\" in\n--query-gpu=*) echo '0, NVIDIA A10, 23028, 4, 16, GPU-1'; "
                     "echo '1, NVIDIA A10, 23028, 4, 16, GPU-2' ;;\nesac\n");
  std::filesystem::permissions(folder / "nvidia-smi", std::filesystem::perms::owner_all);
  const auto placed = RunShell("export CUDA_VISIBLE_DEVICES=0; PATH=" + folder.path() +
                               ":$PATH STOWPLAN place 'chain(ops=4)' --cluster here --samples 5 --out run && "
                               "STOWPLAN export run --to graphml");
  EXPECT_EQ(placed.status, 0) << placed.err;
  EXPECT_THAT(placed.out, HasSubstr("gpu0"));
  EXPECT_THAT(placed.out, HasSubstr("</graphml>"));
  EXPECT_THAT(placed.err, HasSubstr("the rates of the CPU"));
  EXPECT_THAT(placed.err, HasSubstr("CUDA_VISIBLE_DEVICES is \"0\": 1 of 2 GPUs"));
}

}  // namespace
}  // namespace stowplan::problem
