#include "tests/formats/testing.h"

#include "tests/testing.h"

namespace stowplan::formats {
namespace {

// RapidCheck draws from this seed (and prints it) unless the environment says otherwise.
[[maybe_unused]] const int kSeeded = ::setenv("RC_PARAMS", "seed=20261120 max_success=150", 0);

bool Same(const sim::Output& a, const sim::Output& b) {
  return a.bytes == b.bytes && a.dtype == b.dtype && a.shape == b.shape && a.storage == b.storage &&
         a.alias == b.alias;
}

std::string Difference(const sim::Op& a, const sim::Op& b) {
  if (a.name != b.name) return "name";
  if (a.type != b.type) return "type";
  if (a.inputs != b.inputs) return "inputs";
  if (a.control != b.control) return "control";
  if (!std::equal(a.outputs.begin(), a.outputs.end(), b.outputs.begin(), b.outputs.end(), Same))
    return "outputs";
  if (a.persistent_bytes != b.persistent_bytes) return "persistent_bytes";
  if (a.workspace_bytes != b.workspace_bytes) return "workspace_bytes";
  if (a.flops != b.flops) return "flops";
  if (a.framework_ops != b.framework_ops) return "framework_ops";
  if (a.colocate != b.colocate) return "colocate";
  if (a.group != b.group) return "group";
  if (a.phase != b.phase) return "phase";
  if (a.cost_us != b.cost_us) return "cost_us";
  if (a.cost_us_by_kind != b.cost_us_by_kind) return "cost_us by kind";
  return a.attributes == b.attributes ? "" : "attributes";
}

std::string Difference(const sim::Device& a, const sim::Device& b) {
  if (a.name != b.name) return "name";
  if (a.kind != b.kind || a.device_class != b.device_class) return "kind";
  if (a.memory != b.memory) return "memory";
  if (a.reserve != b.reserve || a.automatic_reserve != b.automatic_reserve) return "reserve";
  if (a.granularity != b.granularity) return "granularity";
  if (a.streams != b.streams) return "streams";
  if (a.copy_engines != b.copy_engines) return "copy_engines";
  if (a.concurrency_ppm != b.concurrency_ppm) return "concurrency";
  if (a.overlap_copy_ppm != b.overlap_copy_ppm) return "overlap_copy";
  return a.launch_cost == b.launch_cost ? "" : "launch_cost";
}

std::string Difference(const sim::Link& a, const sim::Link& b) {
  if (a.name != b.name || a.kind != b.kind) return "name or kind";
  if (a.ends != b.ends) return "ends";
  if (a.bandwidth != b.bandwidth) return "bandwidth";
  if (a.latency != b.latency) return "latency";
  if (a.duplex != b.duplex) return "duplex";
  if (a.curve != b.curve) return "curve";
  return a.both_ppm == b.both_ppm ? "" : "both";
}

template <typename T>
std::string ListDifference(const std::string& what, const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return "number of " + what;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string difference = Difference(a[i], b[i]);
    if (!difference.empty()) return what + "[" + std::to_string(i) + "]." + difference;
  }
  return "";
}

// ---- random values ------------------------------------------------------------------------------

namespace gen = rc::gen;

template <typename T>
T Draw(const rc::Gen<T>& generator) {
  return *generator;
}
int Between(int low, int high) {
  return *gen::inRange(low, high + 1);
}
bool Sometimes() {
  return Between(0, 3) == 0;
}

std::string RandomText() {
  static const std::vector<std::string> kPieces = {
      "conv", "/", "weights", " ", ":", "é", "\"", "\\", "漢", "'", "{", "#", "-", "null", "[0]", "1", ","};
  std::string text;
  for (int i = Between(0, 4); i > 0; --i) text += *gen::elementOf(kPieces);
  return text;
}

// No two with different numbers are equal, and none ends in ':' and digits.
std::string RandomName(int number) {
  return RandomText() + std::to_string(number) + "n";
}

sim::Attribute RandomAttribute(int depth) {
  switch (Between(0, depth > 0 ? 6 : 4)) {
    case 0:
      return {nullptr};
    case 1:
      return {Between(0, 1) == 1};
    case 2:
      return {*gen::arbitrary<std::int64_t>()};
    case 3:
      return {std::ldexp(static_cast<double>(*gen::arbitrary<std::int32_t>()), Between(-300, 300))};
    case 4:
      return {RandomText()};
    case 5: {
      sim::Attribute::List list;
      for (int i = Between(0, 3); i > 0; --i) list.push_back(RandomAttribute(depth - 1));
      return {list};
    }
    default: {
      sim::Attribute::Object object;
      for (int i = Between(0, 3); i > 0; --i) object.emplace_back(RandomName(i), RandomAttribute(depth - 1));
      return {object};
    }
  }
}

sim::Attributes RandomAttributes() {
  sim::Attributes attributes;
  for (int i = Between(0, 2); i > 0; --i) attributes.emplace_back(RandomName(i), RandomAttribute(2));
  return attributes;
}

sim::Bytes RandomBytes() {
  return Sometimes() ? 0 : *gen::inRange<sim::Bytes>(0, sim::kMaxBytes + 1);
}
double RandomMicros() {
  return static_cast<double>(*gen::inRange<std::int64_t>(0, std::int64_t{1} << 40)) / 1024.0;
}

sim::Output RandomOutput(const sim::Op& op) {
  sim::Output output;
  output.bytes = RandomBytes();
  if (Sometimes()) output.dtype = "f32";
  for (int i = Between(0, 3); i > 0; --i) output.shape.push_back(Between(0, 5000));
  if (op.type == "Variable") output.storage = sim::Output::Storage::kPersistent;
  if (Sometimes()) output.storage = sim::Output::Storage::kPersistent;
  if (Sometimes()) output.storage = sim::Output::Storage::kOwn;
  if (!op.inputs.empty() && Sometimes()) {
    output.storage = sim::Output::Storage::kInput;
    output.alias = *gen::elementOf(op.inputs);
  }
  if (output.dtype.empty()) return output;
  sim::Bytes least = 4;  // fewer are refused
  for (const std::int64_t length : output.shape) least *= length;
  output.bytes = std::max(output.bytes, least);
  return output;
}

// Op `i` of a file whose ops stand in the order of `rank`: it may only read those of lower rank.
sim::Op RandomOp(int i, const std::vector<sim::Op>& before, const std::vector<int>& index_of) {
  sim::Op op;
  op.name = RandomName(i);
  op.type = *gen::element<std::string>("Conv2D", "Variable", "é \"odd\"", "Const");
  for (int k = before.empty() ? 0 : Between(0, 3); k > 0; --k) {
    const int producer = Between(0, static_cast<int>(before.size()) - 1);
    const auto outputs = static_cast<int>(before[static_cast<std::size_t>(producer)].outputs.size());
    const int index = index_of[static_cast<std::size_t>(producer)];
    if (outputs > 0) {
      op.inputs.push_back({index, Between(0, outputs - 1)});
    } else {
      op.control.push_back(index);
    }
  }
  for (int k = Between(0, 3); k > 0; --k) op.outputs.push_back(RandomOutput(op));
  op.persistent_bytes = RandomBytes();
  op.workspace_bytes = RandomBytes();
  op.flops = std::ldexp(Between(0, 1 << 20), Between(0, 50));
  op.framework_ops = Between(0, 3);
  if (Sometimes()) op.colocate = "set " + std::to_string(Between(0, 2));
  if (Sometimes()) op.group = RandomText();
  op.phase = *gen::element<std::string>("", "forward", "backward", "update");
  if (Sometimes()) {
    op.cost_us = RandomMicros();
  } else if (Sometimes()) {
    op.cost_us_by_kind = {{"gpu", RandomMicros()}, {"cpu-a", RandomMicros()}};
  }
  op.attributes = RandomAttributes();
  return op;
}

sim::Picos RandomTime() {
  return *gen::inRange<sim::Picos>(0, 1'000'000'000'000);
}
std::int64_t RandomShare() {
  return *gen::inRange<std::int64_t>(1, sim::kPpm + 1);
}

sim::Device RandomDevice(int i) {
  const sim::DeviceKind& kind =
      *SampleCatalogue().FindDevice(*gen::elementOf(SampleCatalogue().DeviceNames()));
  sim::Device device;
  device.name = RandomName(i);
  device.kind = kind.name;
  device.device_class = kind.device_class;
  device.launch_cost = kind.launch_cost;
  device.memory = RandomBytes();
  device.automatic_reserve = device.device_class == sim::DeviceClass::kGpu && Sometimes();
  if (!device.automatic_reserve) device.reserve = *gen::inRange<sim::Bytes>(0, device.memory + 1);
  device.granularity = Between(1, 5000);
  device.streams = Between(1, 9);
  device.copy_engines = Between(1, 9);
  for (int k = Between(0, std::min(3, device.streams)); k > 0; --k)
    device.concurrency_ppm.push_back(RandomShare());
  device.overlap_copy_ppm = RandomShare();
  return device;
}

// Every device hangs on the switch (node `hub`), so that all reach one another.
sim::Link RandomLink(int device, int hub) {
  sim::Link link;
  link.name = RandomName(device);
  link.ends = {device, hub};
  if (Sometimes()) std::swap(link.ends[0], link.ends[1]);
  if (Sometimes()) link.kind = *gen::elementOf(SampleCatalogue().LinkNames());
  link.bandwidth = *gen::inRange<std::int64_t>(1, sim::kMaxBytes + 1);
  link.latency = RandomTime();
  link.duplex = Sometimes() ? sim::Duplex::kHalf : sim::Duplex::kFull;
  link.both_ppm = RandomShare();
  if (Sometimes()) {
    link.curve = {{0, link.latency}, {Between(1, 1000), link.latency}, {1001, link.latency + RandomTime()}};
  }
  return link;
}

}  // namespace

std::string MessageOf(const std::function<void()>& refused) {
  try {
    refused();
  } catch (const InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

std::string SamplePath(const std::string& name) {
  return STOWPLAN_SOURCE_DIR "/tests/formats/samples/" + name;
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Difference(const sim::OpGraph& a, const sim::OpGraph& b) {
  if (a.name != b.name) return "name";
  if (a.attributes != b.attributes) return "attributes";
  return ListDifference("ops", a.ops, b.ops);
}

std::string Difference(const sim::Cluster& a, const sim::Cluster& b) {
  if (a.name != b.name) return "name";
  if (a.rules != b.rules) return "rules";
  if (a.interconnect != b.interconnect) return "interconnect";
  if (a.switches != b.switches) return "switches";
  const bool same_routes = std::equal(a.routes.begin(), a.routes.end(), b.routes.begin(), b.routes.end(),
                                      [](const sim::Route& x, const sim::Route& y) {
                                        return x.from == y.from && x.to == y.to && x.via == y.via;
                                      });
  if (!same_routes) return "routes";
  const auto &x = a.dispatch, &y = b.dispatch;
  if (x.automatic_per != y.automatic_per || x.automatic_order != y.automatic_order) return "dispatch";
  if (x.per != y.per || x.order != y.order || x.automatic != y.automatic || x.cost != y.cost)
    return "dispatch";
  const std::string devices = ListDifference("devices", a.devices, b.devices);
  return devices.empty() ? ListDifference("links", a.links, b.links) : devices;
}

rc::Gen<sim::OpGraph> RandomGraph() {
  return gen::exec([] {
    const int count = Between(1, 12);
    std::vector<int> index_of(static_cast<std::size_t>(count));  // place in the file, by topological rank
    for (int i = 0; i < count; ++i) index_of[static_cast<std::size_t>(i)] = i;
    for (int i = count - 1; i > 0; --i) {
      std::swap(index_of[static_cast<std::size_t>(i)], index_of[static_cast<std::size_t>(Between(0, i))]);
    }
    std::vector<sim::Op> by_rank;
    for (int i = 0; i < count; ++i) by_rank.push_back(RandomOp(i, by_rank, index_of));
    sim::OpGraph graph;
    graph.name = RandomName(0);
    graph.attributes = RandomAttributes();
    graph.ops.resize(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < by_rank.size(); ++i)
      graph.ops[static_cast<std::size_t>(index_of[i])] = by_rank[i];
    graph.Finish();
    return graph;
  });
}

rc::Gen<sim::Cluster> RandomCluster() {
  return gen::exec([] {
    sim::Cluster cluster;
    cluster.name = RandomName(0);
    cluster.rules = Sometimes() ? sim::Rules::kPublished : sim::Rules::kNative;
    cluster.interconnect = *gen::element<std::string>("ideal", "fifo", "fair");
    const int count = Between(1, 5);
    for (int i = 0; i < count; ++i) cluster.devices.push_back(RandomDevice(i));
    if (!Sometimes()) {
      cluster.switches = {RandomName(100), RandomName(101)};
      for (int i = 0; i < count; ++i) cluster.links.push_back(RandomLink(i, count));
      if (count > 1 && Sometimes()) cluster.routes.push_back({0, 1, {0, 1}});
    }
    cluster.dispatch.automatic_per = Sometimes();
    cluster.dispatch.automatic_order = Sometimes();
    if (!cluster.dispatch.automatic_per && Sometimes()) cluster.dispatch.per = sim::Dispatch::Per::kProcess;
    if (!cluster.dispatch.automatic_order && Sometimes())
      cluster.dispatch.order = sim::Dispatch::Order::kProgram;
    cluster.dispatch.automatic = Sometimes();
    if (!cluster.dispatch.automatic) cluster.dispatch.cost = RandomTime();
    cluster.Finish();
    return cluster;
  });
}

rc::Gen<sim::Placement> RandomPlacement(const sim::OpGraph& graph, const sim::Cluster& cluster) {
  return gen::exec([&graph, &cluster] {
    std::vector<sim::DeviceIndex> device_of_set;
    for (int i = 0; i < graph.colocation_sets(); ++i) device_of_set.push_back(Between(0, cluster.size() - 1));
    sim::Placement placement;
    for (const auto set : graph.colocation_set()) {
      placement.device.push_back(device_of_set[static_cast<std::size_t>(set)]);
    }
    const int extra = Between(0, 2);
    if (extra == 1) {
      for (std::size_t i = 0; i < graph.ops.size(); ++i) placement.priority.push_back(RandomMicros() - 1e6);
    }
    if (extra == 2) placement.order = graph.topological_order();
    return placement;
  });
}

}  // namespace stowplan::formats
