// stowplan.cluster: YAML. What the file leaves out comes from the catalogue's kinds, then from the defaults of
// docs/formats.md#cluster.
#include "sim/cluster.h"

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/spec.h"
#include "sim/formats/cluster_words.h"
#include "sim/formats/document/json_text.h"
#include "sim/formats/document/source.h"
#include "sim/formats/document/units_text.h"
#include "sim/formats/document/yaml_reader.h"
#include "sim/formats/formats.h"
#include "sim/interconnect.h"

namespace stowplan::formats {
namespace {

using sim::Cluster;
using sim::Device;
using sim::DeviceClass;
using sim::Dispatch;
using sim::Duplex;
using sim::HardwareCatalogue;
using sim::Link;
using sim::Rules;

// `kinds` describes kinds that the catalogue lacks, for whoever makes the catalogue (cost_models::CatalogueWith).
constexpr std::string_view kTopKeys[] = {"format",       "version",  "name",  "rules",  "kinds",   "devices",
                                         "interconnect", "switches", "links", "routes", "dispatch"};
constexpr std::string_view kDeviceKeys[] = {
    "name",         "kind",        "memory",      "reserve",      "streams",
    "copy_engines", "granularity", "concurrency", "overlap_copy", "overlap_collective"};
constexpr std::string_view kLinkKeys[] = {"name",    "ends",   "kind",  "bandwidth",
                                          "latency", "duplex", "curve", "both"};
constexpr std::string_view kRouteKeys[] = {"from", "to", "via"};
constexpr std::string_view kDispatchKeys[] = {"per", "order", "mode", "cost"};

constexpr sim::Bytes kGranularityOfGpu = 256;
constexpr sim::Bytes kGranularityOfCpu = 64;
constexpr int kMaxStreams = 1024;
constexpr sim::Picos kMaxLatency = 1'000'000'000'000'000;  // 1000 s
constexpr sim::Picos kMaxDispatch = 1'000'000'000'000;     // 1 s an op

// A rate between 0 and 1 as parts per million.
std::int64_t ReadShare(const Value& value) {
  const auto ppm = std::llround(value.Number(0, 1) * static_cast<double>(sim::kPpm));
  if (ppm < 1) value.Fail("must be above 0 (at least 1e-6) and at most 1");
  return ppm;
}

template <typename Enum, std::size_t N>
Enum ReadEnum(const Fields& fields, std::string_view key, const std::string_view (&words)[N], Enum fallback) {
  const auto value = fields.Find(key);
  return value ? static_cast<Enum>(value->Choice(words)) : fallback;
}

std::string ReadInterconnect(const Value& value) {
  std::vector<std::string_view> known;
  for (const auto& row : sim::Interconnects()) known.emplace_back(row.name);
  return std::string(known[value.Choice(known)]);
}

// A length of time up to `most`.
sim::Picos ReadTime(const Value& value, sim::Picos most) {
  const sim::Picos time = value.Time();
  if (time > most) value.Fail(fmt::format("is {}, but must be at most {}", PrintTime(time), PrintTime(most)));
  return time;
}

// "k40, k80 and p100"; long lists are cut.
std::string NameList(std::vector<std::string> names) {
  constexpr std::size_t kShown = 40;
  if (names.empty()) return "there are none";
  if (names.size() > kShown) {
    names.resize(kShown);
    names.emplace_back("others");
  }
  return JoinNames(names);
}

// Where the names of devices and switches, or of links, stand in their lists.
class NameIndex {
 public:
  // `what` they are, for messages: "a device or switch".
  explicit NameIndex(std::string what) : what_(std::move(what)) {}

  std::string Add(const Value& value) {
    std::string name = value.Name();
    const bool fresh = index_.emplace(name, static_cast<std::int32_t>(names_.size())).second;
    if (!fresh)
      value.Fail(fmt::format("is {}, which names {} already; names must be unique", Quoted(name), what_));
    names_.push_back(name);
    return name;
  }
  std::int32_t Find(const Value& value) const { return FindAmong(value, names_.size(), what_); }
  // Only the first `count` will do, which are `what`.
  std::int32_t FindAmong(const Value& value, std::size_t count, std::string_view what) const {
    const auto found = index_.find(value.Text());
    if (found != index_.end() && static_cast<std::size_t>(found->second) < count) return found->second;
    const auto end = names_.begin() + static_cast<std::ptrdiff_t>(count);
    value.Fail(fmt::format("is {}, but must be {}: {}", Quoted(value.Text()), what,
                           NameList({names_.begin(), end})));
  }

 private:
  std::string what_;
  std::map<std::string, std::int32_t, std::less<>> index_;
  std::vector<std::string> names_;
};

class ClusterReader {
 public:
  ClusterReader(const Fields& top, const HardwareCatalogue& catalogue) : top_(top), catalogue_(catalogue) {}

  Cluster Read(const std::string& source) {
    cluster_.name = top_.Name("name", NameFromSource(source));
    cluster_.rules = ReadEnum(top_, "rules", kRules, Rules::kNative);
    if (const auto interconnect = top_.Find("interconnect"))
      cluster_.interconnect = ReadInterconnect(*interconnect);
    for (const Value device : top_.Require("devices").items()) cluster_.devices.push_back(ReadDevice(device));
    if (const auto switches = top_.Find("switches")) {
      for (const Value name : switches->items()) cluster_.switches.push_back(nodes_.Add(name));
    }
    if (const auto links = top_.Find("links")) {
      for (const Value link : links->items()) cluster_.links.push_back(ReadLink(link));
    }
    if (const auto routes = top_.Find("routes")) {
      for (const Value route : routes->items()) cluster_.routes.push_back(ReadRoute(route));
    }
    cluster_.dispatch.automatic_per = cluster_.dispatch.automatic_order = cluster_.dispatch.automatic_mode =
        true;
    if (const auto dispatch = top_.Find("dispatch")) cluster_.dispatch = ReadDispatch(*dispatch);
    return std::move(cluster_);
  }

 private:
  template <typename Kind>
  static const Kind& Known(const Value& value, const Kind* kind, const std::vector<std::string>& names,
                           const std::string& remedy = "") {
    if (kind == nullptr) {
      value.Fail(fmt::format("is {}, which the catalogue does not have{}; it has {}{}", Quoted(value.Text()),
                             DidYouMean(value.Text(), names), NameList(names), remedy));
    }
    return *kind;
  }

  // The least that a kind of one's own says.
  static std::string OwnKind(const std::string& name) {
    constexpr const char* kNumber = "{{value: {}, source: \"data sheet: mine\"}}";
    return fmt::format(
        "; one of your own goes into the file as kinds: [{{name: {}, class: {}, description: mine, memory: "
        "{}, peak_f32: {}, memory_bandwidth: {}}}]",
        JsonString(name), name.starts_with("cpu") ? "cpu" : "gpu", fmt::format(kNumber, "16GiB"),
        fmt::format(kNumber, "8TFLOP/s"), fmt::format(kNumber, "320GB/s"));
  }

  Device ReadDevice(const Value& value) {
    const Fields fields(value, kDeviceKeys);
    Device device;
    device.name = nodes_.Add(fields.Require("name"));
    const Value kind_value = fields.Require("kind");
    device.kind = kind_value.Text();
    const sim::DeviceKind* known = catalogue_.FindDevice(device.kind);
    const sim::DeviceKind& kind =
        Known(kind_value, known, catalogue_.DeviceNames(), known == nullptr ? OwnKind(device.kind) : "");
    device.device_class = kind.device_class;
    device.launch_cost = kind.launch_cost;
    ReadMemory(fields, kind, device);
    device.streams = static_cast<int>(fields.Int("streams", 1, 1, kMaxStreams));
    device.copy_engines = static_cast<int>(fields.Int("copy_engines", kind.copy_engines, 1, kMaxStreams));
    ReadRates(fields, kind, device);
    return device;
  }

  static void ReadRates(const Fields& fields, const sim::DeviceKind& kind, Device& device) {
    const auto rates = fields.Find("concurrency"), overlap = fields.Find("overlap_copy");
    if (rates && IsAutomatic(*rates)) {
      if (kind.concurrency_ppm.empty()) FailUnmeasured(*rates, kind);
      device.concurrency_ppm = kind.concurrency_ppm;
      if (device.concurrency_ppm.size() > static_cast<std::size_t>(device.streams))
        device.concurrency_ppm.resize(static_cast<std::size_t>(device.streams));
    } else if (rates) {
      for (const Value rate : rates->items()) device.concurrency_ppm.push_back(ReadShare(rate));
      if (rates->size() > static_cast<std::size_t>(device.streams)) {
        rates->Fail(
            fmt::format("has {} rates, but the device has {} stream{}; give one for each number of ops "
                        "that may run",
                        rates->size(), device.streams, device.streams == 1 ? "" : "s"));
      }
    }
    if (overlap && IsAutomatic(*overlap)) {
      if (!kind.overlap_copy_ppm) FailUnmeasured(*overlap, kind);
      device.overlap_copy_ppm = *kind.overlap_copy_ppm;
    } else if (overlap) {
      device.overlap_copy_ppm = ReadShare(*overlap);
    }
    if (const auto beside = fields.Find("overlap_collective"))
      device.overlap_collective_ppm = ReadShare(*beside);
  }

  static bool IsAutomatic(const Value& value) {
    const bool text = value.kind() == ValueKind::kPlain || value.kind() == ValueKind::kString;
    return text && value.Text() == kAutomatic;
  }

  [[noreturn]] static void FailUnmeasured(const Value& value, const sim::DeviceKind& kind) {
    value.Fail(
        fmt::format("is auto, but it was not measured for {}; give it as a number, or a parameter file "
                    "that has it as the cost model",
                    Quoted(kind.name)));
  }

  static void ReadMemory(const Fields& fields, const sim::DeviceKind& kind, Device& device) {
    if (const auto memory = fields.Find("memory")) {
      device.memory = memory->ByteCount();
    } else if (kind.memory) {
      device.memory = *kind.memory;
    } else {
      fields.object().Fail(fmt::format(
          "has no \"memory\", which is required: the catalogue does not say how much a {} has", device.kind));
    }
    const auto reserve = fields.Find("reserve");
    device.automatic_reserve =
        device.device_class != DeviceClass::kCpu && (!reserve || IsAutomatic(*reserve));
    if (reserve && !IsAutomatic(*reserve)) {
      device.reserve = reserve->ByteCount();
      if (device.reserve > device.memory) {
        reserve->Fail(fmt::format("is {}, but must be at most the memory, {}", PrintBytes(device.reserve),
                                  PrintBytes(device.memory)));
      }
    }
    device.granularity = device.device_class == DeviceClass::kCpu ? kGranularityOfCpu : kGranularityOfGpu;
    if (const auto granularity = fields.Find("granularity")) {
      device.granularity = granularity->ByteCount();
      if (device.granularity < 1) granularity->Fail("must be at least 1 B");
    }
  }

  Link ReadLink(const Value& value) {
    const Fields fields(value, kLinkKeys);
    Link link;
    link.name = links_.Add(fields.Require("name"));
    const Value ends = fields.Require("ends");
    if (!ends.IsList() || ends.size() != 2) ends.Fail("must be a list of two devices or switches");
    std::size_t end = 0;
    for (const Value name : ends.items()) link.ends[end++] = nodes_.Find(name);
    if (link.ends[0] == link.ends[1]) ends.Fail("must be two different devices or switches");
    link.duplex = ReadEnum(fields, "duplex", kDuplexes, Duplex::kFull);
    if (const auto kind = fields.Find("kind")) TakeKind(*kind, link);
    ReadSpeed(fields, link);
    if (const auto both = fields.Find("both")) link.both_ppm = ReadShare(*both);
    return link;
  }

  void TakeKind(const Value& value, Link& link) const {
    link.kind = value.Text();
    const sim::LinkKind& kind = Known(value, catalogue_.FindLink(link.kind), catalogue_.LinkNames());
    link.bandwidth = kind.bandwidth;
    link.latency = kind.latency;
    link.curve = kind.curve;
    link.both_ppm = kind.both_ppm;
  }

  static void ReadSpeed(const Fields& fields, Link& link) {
    const auto bandwidth = fields.Find("bandwidth"), latency = fields.Find("latency"),
               curve = fields.Find("curve");
    if (!bandwidth && link.kind.empty()) {
      fields.object().Fail(
          "has no \"bandwidth\", which is required where no \"kind\" of the catalogue is given");
    }
    // A number of the file's own contradicts the curve that the catalogue measured.
    if (bandwidth || latency) link.curve.clear();
    if (bandwidth) {
      link.bandwidth = bandwidth->Bandwidth();
      if (link.bandwidth < 1) bandwidth->Fail("must be at least 1 B/s");
    }
    if (latency) link.latency = ReadTime(*latency, kMaxLatency);
    if (!curve) return;
    link.curve.clear();
    for (const Value knot : curve->items()) link.curve.push_back(ReadKnot(knot, link));
    if (link.curve.size() < 2) curve->Fail("must have at least two knots");
    if (latency && link.latency != link.curve.front().second) {
      latency->Fail("must be the time of the curve's first knot, or be left out");
    }
    link.latency = link.curve.front().second;
  }

  static std::pair<sim::Bytes, sim::Picos> ReadKnot(const Value& value, const Link& link) {
    if (!value.IsList() || value.size() != 2)
      value.Fail("must be a pair [bytes, time], such as [1MiB, 90us]");
    auto part = value.items().begin();
    const sim::Bytes bytes = (*part).ByteCount();
    const sim::Picos time = ReadTime(*++part, kMaxLatency);
    if (link.curve.empty() && bytes != 0) value.Fail("must be at 0 bytes, where a curve begins");
    if (!link.curve.empty() && (bytes <= link.curve.back().first || time < link.curve.back().second)) {
      value.Fail("must have more bytes than the knot before it, and no less time");
    }
    return {bytes, time};
  }

  sim::Route ReadRoute(const Value& value) {
    const Fields fields(value, kRouteKeys);
    sim::Route route;
    route.from = nodes_.FindAmong(fields.Require("from"), cluster_.devices.size(), "a device");
    route.to = nodes_.FindAmong(fields.Require("to"), cluster_.devices.size(), "a device");
    for (const Value link : fields.Require("via").items()) route.via.push_back(links_.Find(link));
    try {
      cluster_.Follow(route);
    } catch (const InputError& error) {
      throw InputError(value.Place() + ": " + error.what());
    }
    if (!pairs_.emplace(route.from, route.to).second) {
      value.Fail(fmt::format("leads from {} to {}, as does a route before it; give one",
                             Quoted(fields.Require("from").Text()), Quoted(fields.Require("to").Text())));
    }
    return route;
  }

  static Dispatch ReadDispatch(const Value& value) {
    const Fields fields(value, kDispatchKeys);
    Dispatch dispatch;
    const auto per = fields.Find("per"), order = fields.Find("order");
    dispatch.automatic_per = !per || kPers[per->Choice(kPers)] == kAutomatic;
    if (!dispatch.automatic_per) dispatch.per = static_cast<Dispatch::Per>(per->Choice(kPers));
    dispatch.automatic_order = !order;
    if (order) dispatch.order = static_cast<Dispatch::Order>(order->Choice(kOrders));
    const auto cost = fields.Find("cost"), mode = fields.Find("mode");
    if (mode) dispatch.mode = static_cast<Dispatch::Mode>(mode->Choice(kModes));
    const bool is_flat = dispatch.mode == Dispatch::Mode::kFlat;
    dispatch.automatic = cost ? cost->Text() == kAutomatic : !is_flat;
    dispatch.automatic_mode = !mode && (!cost || dispatch.automatic);
    if (!cost || dispatch.automatic) return dispatch;
    if (!is_flat) cost->Fail("is a time, which is charged where the mode is flat; leave one of the two out");
    dispatch.cost = ReadTime(*cost, kMaxDispatch);
    return dispatch;
  }

  const Fields& top_;
  const HardwareCatalogue& catalogue_;
  NameIndex nodes_{"a device or switch"};
  NameIndex links_{"a link"};
  std::set<std::pair<sim::DeviceIndex, sim::DeviceIndex>> pairs_;  // that have a route
  Cluster cluster_;
};

Cluster ClusterOf(const Document& document, const std::string& source, const HardwareCatalogue& catalogue) {
  CheckFormat(document, "stowplan.cluster", 1);
  const Fields top(document.root(), kTopKeys);
  Cluster cluster = ClusterReader(top, catalogue).Read(source);
  CheckedAt(source, [&] { cluster.Finish(); });
  return cluster;
}

}  // namespace

Cluster ParseCluster(std::string_view yaml, const std::string& source, const HardwareCatalogue& catalogue) {
  return ClusterOf(ParseYaml(yaml, source), source, catalogue);
}

Cluster ParseOwnCluster(std::string_view yaml, const std::string& source,
                        const HardwareCatalogue& catalogue) {
  return ClusterOf(ParseYaml(yaml, source, yaml.size()), source, catalogue);
}

Cluster ReadCluster(const std::string& path, const HardwareCatalogue& catalogue) {
  return ParseCluster(ReadFile(path), SourceOf(path), catalogue);
}

}  // namespace stowplan::formats
