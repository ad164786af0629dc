#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "sim/formats/formats.h"
#include "tests/formats/testing.h"

namespace stowplan::formats {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

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

TEST(ClusterRefuses, OtherFormatsVersionsAndKeys) {
  EXPECT_EQ(
      MessageOf([] { ParseCluster("format: stowplan.scenario\nversion: 1\n", "c.yaml", SampleCatalogue()); }),
      "c.yaml:1: format is \"stowplan.scenario\", but must be \"stowplan.cluster\" here");
  EXPECT_EQ(
      MessageOf([] { ParseCluster("format: stowplan.cluster\nversion: 9\n", "c.yaml", SampleCatalogue()); }),
      "c.yaml:2: version is 9, but this program knows stowplan.cluster only up to version 1");
  EXPECT_EQ(
      ClusterError("device: []\n"),
      "c.yaml:4: device is not known here; the known keys are format, version, name, rules, kinds, devices, "
      "interconnect, "
      "switches, links, routes and dispatch");
  EXPECT_THAT(
      ClusterError("devices:\n  - {name: g, kind: gpu-a,\n     ram: 1GiB}\n"),
      StartsWith("c.yaml:6: devices[0].ram is not known here; the known keys are name, kind, memory"));
}

TEST(ClusterRefuses, UnknownKinds) {
  EXPECT_EQ(
      ClusterError("devices:\n  - {name: g, kind: k99}\n"),
      "c.yaml:5: devices[0].kind is \"k99\", which the catalogue does not have; it has cpu-a, "
      "cpu-bare, gpu-a and gpu-one; one of your own goes into the file as kinds: [{name: \"k99\", class: "
      "gpu, "
      "description: mine, memory: {value: 16GiB, source: \"data sheet: mine\"}, peak_f32: {value: 8TFLOP/s, "
      "source: \"data sheet: mine\"}, memory_bandwidth: {value: 320GB/s, source: \"data sheet: mine\"}}]");
  EXPECT_THAT(ClusterError("devices:\n  - {name: g, kind: gpu-on}\n"), HasSubstr("(did you mean gpu-one?)"));
  EXPECT_EQ(LinkError("{name: l, ends: [a, b], kind: pcie9}"),
            "c.yaml:8: links[0].kind is \"pcie9\", which the catalogue does not have (did you mean pcie?); "
            "it has pcie and wire");
}

TEST(ClusterRefuses, WhatIsMissing) {
  EXPECT_EQ(ClusterError("switches: []\n"), "c.yaml:1: the file has no \"devices\", which is required");
  EXPECT_EQ(ClusterError("devices: []\n"), "c.yaml: a cluster needs at least one device");
  EXPECT_EQ(ClusterError("devices:\n  - {name: c}\n"),
            "c.yaml:5: devices[0] has no \"kind\", which is required");
  EXPECT_EQ(ClusterError("devices:\n  - {name: c, kind: cpu-bare}\n"),
            "c.yaml:5: devices[0] has no \"memory\", which is required: the catalogue does not say how much "
            "a cpu-bare has");
  EXPECT_EQ(LinkError("{name: l, ends: [a, b]}"),
            "c.yaml:8: links[0] has no \"bandwidth\", which is required where no \"kind\" of the catalogue "
            "is given");
}

TEST(ClusterRefuses, NumbersWithoutUnitsOrOutOfRange) {
  EXPECT_EQ(ClusterError("devices:\n  - {name: g, kind: gpu-a, memory: 12}\n"),
            "c.yaml:5: devices[0].memory is \"12\", but must be a number of bytes such as \"12GiB\" (B, kB, "
            "MB, GB, TB, KiB, "
            "MiB, GiB, TiB); a bare number has no unit");
  EXPECT_EQ(ClusterError("devices:\n  - {name: g, kind: gpu-a, memory: 1GiB, reserve: 2GiB}\n"),
            "c.yaml:5: devices[0].reserve is 2GiB, but must be at most the memory, 1GiB");
  EXPECT_EQ(ClusterError("devices:\n  - {name: g, kind: gpu-a, streams: 0}\n"),
            "c.yaml:5: devices[0].streams must be a whole number between 1 and 1024, but is 0");
  EXPECT_EQ(ClusterError("devices:\n  - {name: g, kind: gpu-a, concurrency: [1, 1.5]}\n"),
            "c.yaml:5: devices[0].concurrency[1] must be a number between 0 and 1, but is 1.5");
  EXPECT_EQ(ClusterError("devices:\n  - {name: g, kind: gpu-a, streams: 2, concurrency: [1, 0.5, 0.4]}\n"),
            "c.yaml:5: devices[0].concurrency has 3 rates, but the device has 2 streams; give one for each "
            "number of ops that may run");
  EXPECT_EQ(ClusterError("devices:\n  - {name: g, kind: gpu-a, overlap_copy: 0}\n"),
            "c.yaml:5: devices[0].overlap_copy must be above 0 (at least 1e-6) and at most 1");
  EXPECT_EQ(ClusterError("devices:\n  - {name: g, kind: gpu-a, granularity: 0}\n"),
            "c.yaml:5: devices[0].granularity must be at least 1 B");
  EXPECT_EQ(LinkError("{name: l, ends: [a, b], bandwidth: 0}"),
            "c.yaml:8: links[0].bandwidth must be at least 1 B/s");
  EXPECT_THAT(LinkError("{name: l, ends: [a, b], bandwidth: -1GB/s}"), HasSubstr("not negative"));
  EXPECT_THAT(LinkError("{name: l, ends: [a, b], bandwidth: .nan}"), HasSubstr("links[0].bandwidth is"));
  EXPECT_EQ(LinkError("{name: l, ends: [a, b], bandwidth: 1GB/s, latency: 2000s}"),
            "c.yaml:8: links[0].latency is 2000s, but must be at most 1000s");
  EXPECT_EQ(ClusterError("devices: [{name: g, kind: gpu-a}]\ndispatch: {cost: 5}\n"),
            "c.yaml:5: dispatch.cost is \"5\", but must be a time such as \"25us\" (ps, ns, us, ms, s); a "
            "bare number has no unit");
}

TEST(ClusterRefuses, WrongWords) {
  EXPECT_EQ(ClusterError("rules: fancy\n"),
            "c.yaml:4: rules must be one of native and published, but is \"fancy\"");
  EXPECT_EQ(ClusterError("devices: [{name: g, kind: gpu-a}]\ninterconnect: telepathy\n"),
            "c.yaml:5: interconnect must be one of ideal, fifo and fair, but is \"telepathy\"");
  EXPECT_EQ(ClusterError("devices: [{name: g, kind: gpu-a}]\ndispatch: {per: core}\n"),
            "c.yaml:5: dispatch.per must be one of device, process and auto, but is \"core\"");
  EXPECT_THAT(LinkError("{name: l, ends: [a, b], bandwidth: 1GB/s, duplex: simplex}"),
              HasSubstr("must be one of full and half"));
}

TEST(ClusterRefuses, WrongNames) {
  EXPECT_EQ(
      ClusterError("devices:\n  - {name: g, kind: gpu-a}\n  - {name: g, kind: gpu-a}\n"),
      "c.yaml:6: devices[1].name is \"g\", which names a device or switch already; names must be unique");
  EXPECT_EQ(ClusterError("devices: [{name: g, kind: gpu-a}]\nswitches: [s, g]\n"),
            "c.yaml:5: switches[1] is \"g\", which names a device or switch already; names must be unique");
  EXPECT_EQ(LinkError("{name: l, ends: [a, x], bandwidth: 1GB/s}"),
            "c.yaml:8: links[0].ends[1] is \"x\", but must be a device or switch: a and b");
  EXPECT_EQ(LinkError("{name: l, ends: [a, a], bandwidth: 1GB/s}"),
            "c.yaml:8: links[0].ends must be two different devices or switches");
  EXPECT_EQ(LinkError("{name: l, ends: [a], bandwidth: 1GB/s}"),
            "c.yaml:8: links[0].ends must be a list of two devices or switches");
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
  EXPECT_EQ(error("[[1kB, 1us], [2kB, 2us]]"),
            "c.yaml:8: links[0].curve[0] must be at 0 bytes, where a curve begins");
  EXPECT_EQ(error("[[0, 3us], [2kB, 2us]]"),
            "c.yaml:8: links[0].curve[1] must have more bytes than the knot before it, and no less time");
  EXPECT_THAT(error("[[0, 1us], [1kB, 2us], [2kB, 2us]]"),
              StartsWith("c.yaml: link 'l': its curve ends flat"));
  EXPECT_EQ(error("[[0, 3us, 1], [2kB, 4us]]"),
            "c.yaml:8: links[0].curve[0] must be a pair [bytes, time], such as [1MiB, 90us]");
  EXPECT_EQ(error("[[0, 3us], [2kB, 4us]], latency: 1us"),
            "c.yaml:8: links[0].latency must be the time of the curve's first knot, or be left out");
}

TEST(ClusterRefuses, UnreachableDevices) {
  EXPECT_THAT(
      ClusterError("devices: [{name: a, kind: gpu-a}, {name: b, kind: gpu-a}, {name: c, kind: gpu-a}]\n"
                   "links: [{name: l, ends: [a, b], bandwidth: 1GB/s}]\n"),
      StartsWith("c.yaml: device 'c' cannot be reached from 'a'"));
}

TEST(ClusterRefuses, BadRoutes) {
  const auto error = [](const std::string& route) {
    return ClusterError(
        "devices: [{name: a, kind: gpu-a}, {name: b, kind: gpu-a}]\nswitches: [s]\n"
        "links: [{name: l, ends: [a, b], bandwidth: 1GB/s}]\nroutes: [" +
        route + "]\n");
  };
  EXPECT_EQ(error("{from: a, to: b, via: [k]}"),
            "c.yaml:7: routes[0].via[0] is \"k\", but must be a link: l");
  EXPECT_EQ(error("{from: s, to: b, via: [l]}"),
            "c.yaml:7: routes[0].from is \"s\", but must be a device: a and b");
  EXPECT_EQ(error("{from: a, to: b}"), "c.yaml:7: routes[0] has no \"via\", which is required");
  EXPECT_EQ(error("{from: a, to: b, via: []}"), "c.yaml:7: routes[0]: the route from 'a' to 'b' ends at 'a'");
  EXPECT_EQ(error("{from: a, to: b, via: [l, l]}"),
            "c.yaml:7: routes[0]: the route from 'a' to 'b' ends at 'a'");
  EXPECT_THAT(
      error("{from: a, to: b, via: [l, l, l]}"),
      StartsWith("c.yaml:7: routes[0]: the route from 'a' to 'b' takes link 'l' twice in one direction; "));
  EXPECT_EQ(error("{from: a, to: a, via: [l]}"),
            "c.yaml:7: routes[0]: a route must lead from one device to another");
  EXPECT_EQ(error("{from: a, to: b, via: [l]}, {from: b, to: a, via: [l]}, {from: a, to: b, via: [l]}"),
            "c.yaml:7: routes[2] leads from \"a\" to \"b\", as does a route before it; give one");
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
