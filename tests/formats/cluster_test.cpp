#include "sim/formats/formats.h"
#include "tests/formats/testing.h"
#include "tests/testing.h"

namespace stowplan::formats {
namespace {

const std::string kHead = "format: stowplan.cluster\nversion: 1\nname: c\n";  // three lines

sim::Cluster ClusterOf(const std::string& rest) {
  return ParseCluster(kHead + rest, "c.yaml", SampleCatalogue());
}
std::string ClusterError(const std::string& rest) {
  return MessageOf([&] { ClusterOf(rest); });
}
// The devices stand on lines 5 and 6, the link on line 8.
std::string LinkError(const std::string& link) {
  return ClusterError("devices:\n  - {name: a, kind: gpu-a}\n  - {name: b, kind: gpu-a}\nlinks:\n  - " +
                      link + "\n");
}

TEST(Cluster, ReadsTheSample) {
  const sim::Cluster cluster = ReadCluster(SamplePath("cluster.yaml"), SampleCatalogue());
  EXPECT_EQ(cluster.name, "two-gpus");
  EXPECT_EQ(cluster.rules, sim::Rules::kNative);
  EXPECT_EQ(cluster.interconnect, "fair");
  ASSERT_EQ(cluster.devices.size(), 3u);
  EXPECT_EQ(cluster.devices[0].memory, sim::Bytes{488} << 30);
  EXPECT_EQ(cluster.devices[0].streams, 8);
  EXPECT_EQ(cluster.devices[1].capacity(), sim::Bytes{11440 - 300} << 20);
  EXPECT_EQ(cluster.devices[1].concurrency_ppm, (std::vector<std::int64_t>{1'000'000, 600'000}));
  EXPECT_EQ(cluster.devices[1].overlap_copy_ppm, 900'000);
  ASSERT_EQ(cluster.links.size(), 3u);
  EXPECT_EQ(cluster.links[0].bandwidth, 10'000'000'000);
  EXPECT_EQ(cluster.links[0].latency, 5'000'000);
  EXPECT_EQ(cluster.links[0].ends, (std::array<std::int32_t, 2>{0, 3}));
  EXPECT_EQ(cluster.links[1].duplex, sim::Duplex::kHalf);
  EXPECT_EQ(cluster.links[1].curve, (std::vector<std::pair<sim::Bytes, sim::Picos>>{
                                        {0, 5'000'000}, {1 << 20, 150'000'000}, {64 << 20, 9'000'000'000}}));
  EXPECT_EQ(cluster.links[1].latency, 5'000'000);  // of the first knot
  ASSERT_EQ(cluster.routes.size(), 1u);
  EXPECT_EQ(cluster.routes[0].via, (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(cluster.dispatch.cost, 5'000'000);
  EXPECT_FALSE(cluster.dispatch.automatic);
}

TEST(Cluster, DefaultsAndTheCatalogue) {
  const sim::Cluster cluster = ClusterOf(
      "devices:\n  - {name: c, kind: cpu-a}\n  - {name: g, kind: gpu-one}\n"
      "links:\n  - {name: l, ends: [c, g], kind: pcie}\n  - {name: m, ends: [c, g], bandwidth: 1GB/s}\n");
  EXPECT_EQ(cluster.rules, sim::Rules::kNative);
  EXPECT_EQ(cluster.interconnect, "fifo");
  const sim::Device &cpu = cluster.devices[0], &gpu = cluster.devices[1];
  EXPECT_EQ(cpu.device_class, sim::DeviceClass::kCpu);
  EXPECT_EQ(cpu.memory, sim::Bytes{64} << 30);
  EXPECT_EQ(cpu.granularity, 64);
  EXPECT_EQ(gpu.granularity, 256);
  EXPECT_EQ(gpu.copy_engines, 1);
  EXPECT_EQ(gpu.streams, 1);
  EXPECT_EQ(gpu.reserve, 0);
  EXPECT_TRUE(gpu.automatic_reserve);
  EXPECT_FALSE(cpu.automatic_reserve);
  EXPECT_EQ(gpu.launch_cost, 4'500'000);
  EXPECT_TRUE(gpu.concurrency_ppm.empty());
  EXPECT_EQ(gpu.overlap_copy_ppm, sim::kPpm);
  const sim::Link &of_kind = cluster.links[0], &bare = cluster.links[1];
  EXPECT_EQ(of_kind.bandwidth, 12'500'000'000);
  EXPECT_EQ(of_kind.latency, 4'000'000);
  EXPECT_EQ(of_kind.curve.size(), 2u);
  EXPECT_EQ(of_kind.both_ppm, 710'000);
  EXPECT_EQ(bare.latency, 0);
  EXPECT_EQ(bare.duplex, sim::Duplex::kFull);
  EXPECT_EQ(bare.both_ppm, sim::kPpm);
  EXPECT_EQ(cluster.dispatch.cost, 0);
  EXPECT_FALSE(cluster.dispatch.automatic);
  EXPECT_TRUE(cluster.dispatch.automatic_per);
  EXPECT_TRUE(cluster.dispatch.automatic_order);
}

// What the file says is said.
TEST(Cluster, LeavesOpenOnlyWhatIsNotSaid) {
  const sim::Cluster said =
      ClusterOf("devices: [{name: g, kind: gpu-a, reserve: 0B}]\ndispatch: {per: device, order: ready}\n");
  EXPECT_FALSE(said.dispatch.automatic_per || said.dispatch.automatic_order);
  EXPECT_FALSE(said.devices[0].automatic_reserve);
  const sim::Cluster open =
      ClusterOf("devices: [{name: g, kind: gpu-a, reserve: auto}]\ndispatch: {per: auto, cost: 1us}\n");
  EXPECT_TRUE(open.dispatch.automatic_per && open.dispatch.automatic_order);
  EXPECT_TRUE(open.devices[0].automatic_reserve);
}

TEST(Cluster, DispatchMayBeTheCatalogues) {
  EXPECT_TRUE(ClusterOf("devices: [{name: g, kind: gpu-a}]\ndispatch: {per: process, cost: auto}\n")
                  .dispatch.automatic);
}

// Read again, what is printed is what was read: open stays open, and said stays said.
TEST(Cluster, ModesAreReadAndPrinted) {
  using Mode = sim::Dispatch::Mode;
  for (const auto& [dispatch, mode, open] :
       {std::tuple{"", Mode::kFlat, true}, std::tuple{"dispatch: {order: ready}\n", Mode::kFlat, true},
        std::tuple{"dispatch: {cost: auto}\n", Mode::kFlat, true},
        std::tuple{"dispatch: {cost: 0us}\n", Mode::kFlat, false},
        std::tuple{"dispatch: {mode: flat, cost: auto}\n", Mode::kFlat, false},
        std::tuple{"dispatch: {mode: eager}\n", Mode::kEager, false},
        std::tuple{"dispatch: {mode: graph, cost: auto}\n", Mode::kGraph, false}}) {
    const sim::Cluster read = ClusterOf(std::string("devices: [{name: g, kind: gpu-a}]\n") + dispatch);
    const std::string printed = PrintCluster(read);
    const sim::Cluster again = ParseCluster(printed, "c.yaml", SampleCatalogue());
    EXPECT_EQ(PrintCluster(again), printed);
    for (const sim::Cluster* cluster : {&read, &again}) {
      EXPECT_EQ(cluster->dispatch.mode, mode) << printed;
      EXPECT_EQ(cluster->dispatch.automatic_mode, open) << printed;
      EXPECT_EQ(cluster->dispatch.automatic, read.dispatch.automatic) << printed;
    }
  }
}

// The catalogue's curve was measured at the catalogue's bandwidth and latency.
TEST(Cluster, SpeedsOfTheFileReplaceTheCurveOfTheKind) {
  const auto link = [](const std::string& speed) {
    return ClusterOf(
               "devices: [{name: a, kind: gpu-a}, {name: b, kind: gpu-a}]\nlinks: [{name: l, ends: [a, b], "
               "kind: pcie, " +
               speed + "}]\n")
        .links[0];
  };
  EXPECT_TRUE(link("latency: 9us").curve.empty());
  EXPECT_EQ(link("latency: 9us").bandwidth, 12'500'000'000);
  EXPECT_TRUE(link("bandwidth: 1GB/s").curve.empty());
  EXPECT_EQ(link("both: 0.5").curve.size(), 2u);
  EXPECT_EQ(link("curve: [[0, 1us], [1kB, 2us]]").latency, 1'000'000);
}

TEST(Cluster, MayHaveNoLinks) {
  EXPECT_TRUE(ClusterOf("devices: [{name: a, kind: gpu-a}, {name: b, kind: gpu-a}]\n").links.empty());
}

TEST(Cluster, WithoutANameIsNamedByItsFile) {
  EXPECT_EQ(ParseCluster("format: stowplan.cluster\nversion: 1\ndevices: [{name: g, kind: gpu-a}]\n",
                         "dir/box.yaml", SampleCatalogue())
                .name,
            "box");
}

// ---- what is refused ----------------------------------------------------------------------------

TEST(ClusterRefuses, WithThePlace) {
  const auto other = [](const std::string& text) {
    return MessageOf([&] { ParseCluster(text, "c.yaml", SampleCatalogue()); });
  };
  EXPECT_THAT(other("format: stowplan.scenario\nversion: 1\n"), StartsWith("c.yaml:1: format is "));
  EXPECT_THAT(other("format: stowplan.cluster\nversion: 9\n"), StartsWith("c.yaml:2: version is 9"));
  const std::string g = "devices: [{name: g, kind: gpu-a}]\n";
  for (const auto& [text, says] : {
           std::pair<std::string, const char*>{"device: []\n", "c.yaml:4: device is not known here"},
           {"devices:\n  - {name: g, kind: gpu-a,\n     ram: 1GiB}\n",
            "c.yaml:6: devices[0].ram is not known"},
           {"devices:\n  - {name: g, kind: k99}\n", "c.yaml:5: devices[0].kind is \"k99\""},
           {"switches: []\n", "c.yaml:1: the file has no \"devices\""},
           {"devices: []\n", "c.yaml: a cluster needs at least one device"},
           {"devices:\n  - {name: c}\n", "c.yaml:5: devices[0] has no \"kind\""},
           {"devices:\n  - {name: c, kind: cpu-bare}\n", "c.yaml:5: devices[0] has no \"memory\""},
           {"rules: fancy\n", "c.yaml:4: rules must be one of native and published"},
           {g + "interconnect: telepathy\n", "c.yaml:5: interconnect must be one of ideal, fifo and fair"},
           {g + "dispatch: {per: core}\n", "c.yaml:5: dispatch.per must be one of device, process and auto"},
           {g + "dispatch: {mode: lazy}\n",
            "c.yaml:5: dispatch.mode must be one of eager, graph, flat and traced"},
           {g + "dispatch: {mode: eager, cost: 5us}\n", "c.yaml:5: dispatch.cost is a time"},
           {g + "dispatch: {cost: 5}\n", "c.yaml:5: dispatch.cost is \"5\""},
           {g + "switches: [s, g]\n", "c.yaml:5: switches[1] is \"g\""},
           {"devices:\n  - {name: g, kind: gpu-a}\n  - {name: g, kind: gpu-a}\n",
            "c.yaml:6: devices[1].name"},
       })
    EXPECT_THAT(ClusterError(text), StartsWith(says));
  EXPECT_THAT(ClusterError("devices:\n  - {name: g, kind: gpu-on}\n"), HasSubstr("(did you mean gpu-one?)"));
  for (const auto& [rest, says] : {
           std::pair{"memory: 12", "memory is \"12\""},
           {"memory: 1GiB, reserve: 2GiB", "reserve is 2GiB, but must be at most the memory, 1GiB"},
           {"streams: 0", "streams must be a whole number between 1 and 1024"},
           {"concurrency: [1, 1.5]", "concurrency[1] must be a number between 0 and 1"},
           {"streams: 2, concurrency: [1, 0.5, 0.4]",
            "concurrency has 3 rates, but the device has 2 streams"},
           {"overlap_copy: 0", "overlap_copy must be above 0"},
           {"granularity: 0", "granularity must be at least 1 B"},
       })
    EXPECT_THAT(ClusterError(std::string("devices:\n  - {name: g, kind: gpu-a, ") + rest + "}\n"),
                StartsWith(std::string("c.yaml:5: devices[0].") + says));
  for (const auto& [link, says] : {
           std::pair{"[a, b], kind: pcie9", ".kind is \"pcie9\""},
           {"[a, b]", " has no \"bandwidth\""},
           {"[a, b], bandwidth: 0", ".bandwidth must be at least 1 B/s"},
           {"[a, b], bandwidth: -1GB/s", ".bandwidth"},
           {"[a, b], bandwidth: .nan", ".bandwidth is"},
           {"[a, b], bandwidth: 1GB/s, latency: 2000s", ".latency is 2000s, but must be at most 1000s"},
           {"[a, b], bandwidth: 1GB/s, duplex: simplex", ".duplex must be one of full and half"},
           {"[a, x], bandwidth: 1GB/s", ".ends[1] is \"x\""},
           {"[a, a], bandwidth: 1GB/s", ".ends must be two different"},
           {"[a], bandwidth: 1GB/s", ".ends must be a list of two"},
       })
    EXPECT_THAT(LinkError(std::string("{name: l, ends: ") + link + "}"),
                StartsWith(std::string("c.yaml:8: links[0]") + says));
}

TEST(ClusterRefuses, NamesThatAreNoLineOfText) {
  for (const char* name : {"''", "\"a\\nb\"", "\"\\e[2J\"", "\"\\x85\"", "\"\\0\""}) {
    EXPECT_THAT(MessageOf([&] {
                  ParseCluster("format: stowplan.cluster\nversion: 1\nname: " + std::string(name), "c.yaml",
                               SampleCatalogue());
                }),
                StartsWith("c.yaml:3: name must be a name: not empty, without control characters"));
  }
}

TEST(ClusterRefuses, BadCurves) {
  const auto error = [](const std::string& curve) {
    return LinkError("{name: l, ends: [a, b], bandwidth: 1GB/s, curve: " + curve + "}");
  };
  EXPECT_EQ(error("[[0, 1us]]"), "c.yaml:8: links[0].curve must have at least two knots");
  EXPECT_THAT(error("[[1kB, 1us], [2kB, 2us]]"), StartsWith("c.yaml:8: links[0].curve[0] must be at 0"));
  EXPECT_THAT(error("[[0, 3us], [2kB, 2us]]"), StartsWith("c.yaml:8: links[0].curve[1] must"));
  EXPECT_THAT(error("[[0, 1us], [1kB, 2us], [2kB, 2us]]"), StartsWith("c.yaml: link 'l': its curve"));
  EXPECT_THAT(error("[[0, 3us, 1], [2kB, 4us]]"), StartsWith("c.yaml:8: links[0].curve[0] must be a pair"));
  EXPECT_THAT(error("[[0, 3us], [2kB, 4us]], latency: 1us"), StartsWith("c.yaml:8: links[0].latency"));
}

TEST(ClusterRefuses, UnreachableDevices) {
  EXPECT_THAT(
      ClusterError("devices: [{name: a, kind: gpu-a}, {name: b, kind: gpu-a}, {name: c, kind: gpu-a}]\n"
                   "links: [{name: l, ends: [a, b], bandwidth: 1GB/s}]\n"),
      StartsWith("c.yaml: device 'c' cannot be reached from 'a'"));
}

TEST(ClusterRefuses, BadRoutes) {
  for (const auto& [routes, says] : {
           std::pair{"{from: a, to: b, via: [k]}", "[0].via[0] is \"k\""},
           {"{from: s, to: b, via: [l]}", "[0].from is \"s\""},
           {"{from: a, to: b}", "[0] has no \"via\""},
           {"{from: a, to: b, via: []}", "[0]: the route from 'a' to 'b' ends at 'a'"},
           {"{from: a, to: b, via: [l, l]}", "[0]: the route from 'a' to 'b' ends at 'a'"},
           {"{from: a, to: b, via: [l, l, l]}", "[0]: the route from 'a' to 'b' takes link 'l' twice"},
           {"{from: a, to: a, via: [l]}", "[0]: "},
           {"{from: a, to: b, via: [l]}, {from: b, to: a, via: [l]}, {from: a, to: b, via: [l]}", "[2] "},
       })
    EXPECT_THAT(ClusterError("devices: [{name: a, kind: gpu-a}, {name: b, kind: gpu-a}]\nswitches: [s]\n"
                             "links: [{name: l, ends: [a, b], bandwidth: 1GB/s}]\nroutes: [" +
                             std::string(routes) + "]\n"),
                StartsWith(std::string("c.yaml:7: routes") + says));
}

// Cutting a block of YAML often leaves YAML; it must be read or refused, and never be taken for the whole.
TEST(ClusterRefuses, TruncationsOfTheDocument) {
  const std::string whole = ReadText(SamplePath("cluster.yaml"));
  const sim::Cluster expected = ParseCluster(whole, "c.yaml", SampleCatalogue());
  const std::size_t end = whole.rfind('}');
  int refused = 0;
  for (std::size_t size = 0; size <= end; ++size) {
    try {
      EXPECT_NE(Difference(ParseCluster(whole.substr(0, size), "c.yaml", SampleCatalogue()), expected), "")
          << size;
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace stowplan::formats
