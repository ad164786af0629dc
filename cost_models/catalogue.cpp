// The hardware catalogue: stowplan.devices, stowplan.links and stowplan.efficiency files, each number with its source.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "cost_models/cost_models.h"
#include "cost_models/embedded_data.h"
#include "sim/base/error.h"
#include "sim/formats/document/yaml_reader.h"

namespace stowplan::cost_models {
namespace {

using formats::Fields;
using formats::Value;

constexpr std::string_view kSourceKinds[] = {"data sheet", "measured", "paper",
                                             "derived",    "recalled", "assumption"};

// {value: …, source: …}; notes the number and returns its value.
Value Sourced(Value entry, std::string_view key, std::vector<SourcedNumber>* numbers) {
  static constexpr std::string_view kKeys[] = {"value", "source"};
  const Fields fields(entry, kKeys);
  const Value value = fields.Require("value");
  const std::string source = fields.Require("source").Name();
  const bool known = std::ranges::any_of(
      kSourceKinds, [&](std::string_view kind) { return source.starts_with(std::string(kind) + ": "); });
  if (!known) {
    fields.Require("source").Fail(fmt::format(
        "opens with none of '{}: ', which say what kind of source it is", fmt::join(kSourceKinds, ": ', '")));
  }
  if (numbers != nullptr) numbers->push_back({std::string(key), std::string(value.Text()), source});
  return value;
}

// "4.29TFLOP/s" in FLOP/s.
double FlopRate(Value value) {
  static constexpr std::pair<std::string_view, double> kUnits[] = {{"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}};
  const std::string text(value.Text());
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  for (const auto& [unit, factor] : kUnits) {
    if (end != text.c_str() && unit == end && number > 0 && number < 1e9) return number * factor;
  }
  value.Fail(
      fmt::format("is '{}', but must be a positive rate in GFLOP/s or TFLOP/s, as in 4.29TFLOP/s", text));
}

DeviceSheet ReadDevice(Value entry) {
  static constexpr std::string_view kKeys[] = {"name",
                                               "class",
                                               "description",
                                               "memory",
                                               "copy_engines",
                                               "multiprocessors",
                                               "cores",
                                               "peak_f32",
                                               "peak_tf32",
                                               "peak_f16",
                                               "peak_bf16",
                                               "peak_f8",
                                               "peak_f4",
                                               "peak_i8",
                                               "last_cache",
                                               "prices_from",
                                               "memory_type",
                                               "peak_f64",
                                               "memory_bandwidth",
                                               "core_bandwidth",
                                               "kernel_time",
                                               "ramp",
                                               "launch_cost",
                                               "chip",
                                               "prices"};
  static constexpr std::string_view kClasses[] = {"cpu", "gpu"};
  static constexpr std::string_view kMemories[] = {"GDDR", "HBM"};
  static constexpr std::string_view kPrices[] = {"measured", "structural"};
  const Fields fields(entry, kKeys);
  DeviceSheet sheet;
  sheet.kind.name = fields.Require("name").Name();
  sheet.kind.device_class = static_cast<sim::DeviceClass>(fields.Require("class").Choice(kClasses));
  sheet.description = fields.Require("description").Name();
  if (const auto chip = fields.Find("chip")) sheet.chip = chip->Name();
  if (const auto kinds = fields.Find("prices_from"))
    for (const Value kind : kinds->items()) sheet.prices_from.push_back(kind.Name());
  if (const auto type = fields.Find("memory_type")) sheet.has_hbm = type->Choice(kMemories) == 1;
  if (const auto prices = fields.Find("prices")) sheet.structural = prices->Choice(kPrices) == 1;
  const auto read = [&](std::string_view key) -> std::optional<Value> {
    const auto found = fields.Find(key);
    return found ? std::optional(Sourced(*found, key, &sheet.numbers)) : std::nullopt;
  };
  if (const auto value = read("memory")) sheet.kind.memory = value->ByteCount();
  if (const auto value = read("copy_engines")) sheet.kind.copy_engines = static_cast<int>(value->Int(1, 64));
  if (const auto value = read("multiprocessors"))
    sheet.multiprocessors = static_cast<int>(value->Int(1, 10'000));
  if (const auto value = read("cores")) sheet.cores = static_cast<int>(value->Int(1, 10'000));
  if (const auto value = read("peak_f32")) sheet.peak_f32 = FlopRate(*value);
  if (const auto value = read("peak_tf32")) sheet.peak_tf32 = FlopRate(*value);
  if (const auto value = read("peak_f16")) sheet.peak_f16 = FlopRate(*value);
  if (const auto value = read("peak_bf16")) sheet.peak_bf16 = FlopRate(*value);
  if (const auto value = read("peak_f8")) sheet.peak_f8 = FlopRate(*value);
  if (const auto value = read("peak_f4")) sheet.peak_f4 = FlopRate(*value);
  if (const auto value = read("peak_i8")) sheet.peak_i8 = FlopRate(*value);
  if (const auto value = read("last_cache")) sheet.last_cache = static_cast<double>(value->ByteCount());
  if (const auto value = read("peak_f64")) sheet.peak_f64 = FlopRate(*value);
  if (const auto value = read("memory_bandwidth"))
    sheet.memory_bandwidth = static_cast<double>(value->Bandwidth());
  if (const auto value = read("core_bandwidth"))
    sheet.core_bandwidth = static_cast<double>(value->Bandwidth());
  if (const auto value = read("kernel_time")) sheet.kernel_us = sim::ToMicros(value->Time());
  if (const auto value = read("ramp")) sheet.ramp_us = sim::ToMicros(value->Time());
  if (const auto value = read("launch_cost")) sheet.kind.launch_cost = value->Time();
  if ((sheet.cores > 0) != (sheet.core_bandwidth > 0))
    entry.Fail("must give cores and core_bandwidth together");
  return sheet;
}

class CatalogueImpl : public Catalogue {
 public:
  CatalogueImpl(const CatalogueText& text, const std::string& source) {
    ReadDevices(formats::ParseYaml(text.devices, source + "/devices.yaml"));
    ReadLinks(formats::ParseYaml(text.links, source + "/links.yaml"));
    ReadEfficiency(formats::ParseYaml(text.efficiency, source + "/efficiency.yaml"));
  }

  const sim::DeviceKind* FindDevice(const std::string& kind) const override {
    const DeviceSheet* sheet = FindSheet(kind);
    return sheet != nullptr ? &sheet->kind : nullptr;
  }
  const sim::LinkKind* FindLink(const std::string& kind) const override {
    const LinkSheet* sheet = FindLinkSheet(kind);
    return sheet != nullptr ? &sheet->kind : nullptr;
  }
  std::vector<std::string> DeviceNames() const override { return device_names_; }
  std::vector<std::string> LinkNames() const override { return link_names_; }

  const DeviceSheet* FindSheet(const std::string& kind) const override {
    const auto found = devices_.find(kind);
    return found != devices_.end() ? &found->second : nullptr;
  }
  const LinkSheet* FindLinkSheet(const std::string& kind) const override {
    const auto found = links_.find(kind);
    return found != links_.end() ? &found->second : nullptr;
  }
  double Efficiency(OpClass op_class, sim::DeviceClass device_class) const override {
    if (op_class == OpClass::kNothing) return 1;
    return efficiency_[static_cast<std::size_t>(op_class)][static_cast<std::size_t>(device_class)];
  }
  const std::vector<Tile>& Tiles() const override { return tiles_; }

 private:
  void ReadDevices(const formats::Document& document) {
    formats::CheckFormat(document, "stowplan.devices", 1);
    static constexpr std::string_view kKeys[] = {"format", "version", "devices"};
    for (const Value entry : Fields(document.root(), kKeys).Require("devices").items()) {
      DeviceSheet sheet = ReadDevice(entry);
      const std::string name = sheet.kind.name;
      if (!devices_.emplace(name, std::move(sheet)).second) entry.Fail("names '" + name + "' a second time");
      device_names_.push_back(name);
    }
  }

  void ReadLinks(const formats::Document& document) {
    formats::CheckFormat(document, "stowplan.links", 1);
    static constexpr std::string_view kTop[] = {"format", "version", "links"};
    static constexpr std::string_view kKeys[] = {"name",    "description", "fabric", "bandwidth",
                                                 "latency", "curve",       "both",   "line_rate"};
    static constexpr std::string_view kFabrics[] = {"nvlink", "pcie", "socket", "network"};
    for (const Value entry : Fields(document.root(), kTop).Require("links").items()) {
      const Fields fields(entry, kKeys);
      LinkSheet sheet;
      sheet.kind.name = fields.Require("name").Name();
      sheet.description = fields.Require("description").Name();
      if (const auto fabric = fields.Find("fabric"))
        sheet.fabric = static_cast<Fabric>(fabric->Choice(kFabrics));
      if (const auto rate = fields.Find("line_rate"))
        sheet.line_rate = static_cast<double>(Sourced(*rate, "line_rate", &sheet.numbers).Bandwidth());
      sheet.kind.bandwidth = Sourced(fields.Require("bandwidth"), "bandwidth", &sheet.numbers).Bandwidth();
      sheet.kind.latency = Sourced(fields.Require("latency"), "latency", &sheet.numbers).Time();
      if (const auto curve = fields.Find("curve")) ReadCurve(*curve, &sheet);
      if (const auto both = fields.Find("both")) {
        const double share = Sourced(*both, "both", &sheet.numbers).Number(0.01, 1);
        sheet.kind.both_ppm = std::llround(share * static_cast<double>(sim::kPpm));
      }
      const std::string name = sheet.kind.name;
      if (!links_.emplace(name, std::move(sheet)).second) entry.Fail("names '" + name + "' a second time");
      link_names_.push_back(name);
    }
  }

  // Times of a lone transfer, as in a cluster: from 0 bytes on, where it is the latency.
  static void ReadCurve(Value entry, LinkSheet* sheet) {
    static constexpr std::string_view kCurveKeys[] = {"value", "source"};
    const Value value = Sourced(entry, "curve", nullptr);
    auto& curve = sheet->kind.curve;
    for (const Value knot : value.items()) {
      if (!knot.IsList() || knot.size() != 2) knot.Fail("must be a pair [bytes, time], such as [1MiB, 90us]");
      auto part = knot.items().begin();
      const sim::Bytes bytes = (*part).ByteCount();
      const sim::Picos time = (*++part).Time();
      const bool rises = curve.empty() ? bytes == 0 && time == sheet->kind.latency
                                       : bytes > curve.back().first && time >= curve.back().second;
      if (!rises)
        knot.Fail("must be [0, the latency], or have more bytes than the knot before it and no less time");
      curve.emplace_back(bytes, time);
    }
    if (curve.size() < 2 || curve.back().second == curve[curve.size() - 2].second)
      value.Fail("must have at least two knots, the last one later than the one before it");
    sheet->numbers.push_back(
        {"curve", fmt::format("{} knots", curve.size()), Fields(entry, kCurveKeys).Require("source").Name()});
  }

  void ReadEfficiency(const formats::Document& document) {
    formats::CheckFormat(document, "stowplan.efficiency", 1);
    static constexpr std::string_view kTop[] = {"format", "version", "classes", "tiles"};
    const Fields top(document.root(), kTop);
    std::array<bool, kOpClasses> seen{};
    for (const Value entry : top.Require("classes").items()) ReadClass(entry, &seen);
    for (int i = 0; i < kOpClasses; ++i) {
      if (seen[static_cast<std::size_t>(i)]) continue;
      top.Require("classes").Fail(
          fmt::format("says nothing of the class '{}'", ToString(static_cast<OpClass>(i))));
    }
    static constexpr std::string_view kTiles[] = {"source", "shapes"};
    static constexpr std::string_view kShape[] = {"rows", "columns", "share"};
    const Fields tiles(top.Require("tiles"), kTiles);
    tiles.Require("source").Name();
    for (const Value entry : tiles.Require("shapes").items()) {
      const Fields shape(entry, kShape);
      tiles_.push_back({static_cast<int>(shape.Require("rows").Int(1, 4096)),
                        static_cast<int>(shape.Require("columns").Int(1, 4096)),
                        shape.Require("share").Number(0.01, 1)});
    }
    if (tiles_.empty()) tiles.Require("shapes").Fail("is empty; at least one tile is needed");
  }

  void ReadClass(Value entry, std::array<bool, kOpClasses>* seen) {
    static constexpr std::string_view kKeys[] = {"name", "bound", "gpu", "cpu"};
    static constexpr std::string_view kBounds[] = {"arithmetic", "bandwidth"};
    const Fields fields(entry, kKeys);
    const auto op_class = OpClassNamed(fields.Require("name").Name());
    if (!op_class) fields.Require("name").Fail("is no op class");
    const auto at = static_cast<std::size_t>(*op_class);
    if (std::exchange((*seen)[at], true)) entry.Fail("names its class a second time");
    if ((fields.Require("bound").Choice(kBounds) == 0) != IsContraction(*op_class)) {
      fields.Require("bound").Fail("is not what bounds this class in the roofline");
    }
    for (const auto device_class : {sim::DeviceClass::kCpu, sim::DeviceClass::kGpu}) {
      const Value value =
          Sourced(fields.Require(sim::ToString(device_class)), sim::ToString(device_class), nullptr);
      efficiency_[at][static_cast<std::size_t>(device_class)] = value.Number(1e-6, 1);
    }
  }

  std::map<std::string, DeviceSheet> devices_;
  std::map<std::string, LinkSheet> links_;
  std::vector<std::string> device_names_;  // in file order
  std::vector<std::string> link_names_;
  std::array<std::array<double, 2>, kOpClasses> efficiency_{};  // [class][device class]
  std::vector<Tile> tiles_;
};

// `base` with more device kinds.
class ExtendedCatalogue : public Catalogue {
 public:
  ExtendedCatalogue(const Catalogue& base, const std::vector<SheetText>& more)
      : base_(base), names_(base.DeviceNames()) {
    for (const SheetText& text : more) Read(formats::ParseYaml(text.yaml, text.source), text.is_cluster);
  }

  const sim::DeviceKind* FindDevice(const std::string& kind) const override {
    const DeviceSheet* sheet = FindSheet(kind);
    return sheet != nullptr ? &sheet->kind : nullptr;
  }
  const sim::LinkKind* FindLink(const std::string& kind) const override { return base_.FindLink(kind); }
  std::vector<std::string> DeviceNames() const override { return names_; }
  std::vector<std::string> LinkNames() const override { return base_.LinkNames(); }
  const DeviceSheet* FindSheet(const std::string& kind) const override {
    const auto found = sheets_.find(kind);
    return found != sheets_.end() ? &found->second : base_.FindSheet(kind);
  }
  const LinkSheet* FindLinkSheet(const std::string& kind) const override { return base_.FindLinkSheet(kind); }
  double Efficiency(OpClass op_class, sim::DeviceClass device_class) const override {
    return base_.Efficiency(op_class, device_class);
  }
  const std::vector<Tile>& Tiles() const override { return base_.Tiles(); }

 private:
  void Read(const formats::Document& document, bool is_cluster) {
    if (is_cluster) formats::CheckFormat(document, "stowplan.cluster", 1);
    const auto kinds = KindsOf(document);
    if (!kinds) return;
    for (const Value entry : kinds->items()) {
      DeviceSheet sheet = ReadDevice(entry);
      const std::string name = sheet.kind.name;
      if (FindSheet(name) != nullptr) {
        entry.Fail("describes '" + name +
                   "', which the catalogue or another sheet has; give it another name");
      }
      sheets_.emplace(name, std::move(sheet));
      names_.push_back(name);
    }
  }

  // What is wrong with a cluster elsewhere is for its own reader to say.
  static std::optional<Value> KindsOf(const formats::Document& document) {
    static constexpr std::string_view kKeys[] = {"format", "version", "devices"};
    std::optional<Value> kinds;
    bool cluster = false;
    if (document.root().IsObject()) {
      for (const auto [key, value] : document.root().members()) {
        const bool text =
            value.kind() == formats::ValueKind::kPlain || value.kind() == formats::ValueKind::kString;
        cluster = cluster || (key == "format" && text && value.Text() == "stowplan.cluster");
        if (key == "kinds") kinds = value;
      }
    }
    if (cluster) return kinds;
    formats::CheckFormat(document, "stowplan.devices", 1);
    return Fields(document.root(), kKeys).Require("devices");
  }

  const Catalogue& base_;
  std::map<std::string, DeviceSheet> sheets_;
  std::vector<std::string> names_;
};

}  // namespace

Tf32Classes AllContractions() {
  Tf32Classes classes;
  for (int i = 0; i < kOpClasses; ++i)
    classes.set(static_cast<std::size_t>(i), IsContraction(static_cast<OpClass>(i)));
  return classes;
}

Tf32Classes Convolutions() {
  Tf32Classes classes;
  for (const OpClass one : {OpClass::kConvolution, OpClass::kDilatedConvolution, OpClass::kDepthwise})
    classes.set(static_cast<std::size_t>(one));
  return classes;
}

bool IsContraction(OpClass op_class) {
  return op_class <= OpClass::kRecurrentGemm;
}

std::unique_ptr<Catalogue> ParseCatalogue(const CatalogueText& text, const std::string& source) {
  return std::make_unique<CatalogueImpl>(text, source);
}

std::unique_ptr<Catalogue> CatalogueWith(const Catalogue& base, const std::vector<SheetText>& more) {
  return std::make_unique<ExtendedCatalogue>(base, more);
}

const Catalogue& BuiltinCatalogue() {
  static const std::unique_ptr<const Catalogue> catalogue =
      ParseCatalogue({EmbeddedDevices(), EmbeddedLinks(), EmbeddedEfficiency()}, "cost_models/data");
  return *catalogue;
}

}  // namespace stowplan::cost_models
