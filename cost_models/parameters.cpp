#include "cost_models/parameters.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cost_models/roofline.h"
#include "sim/error.h"
#include "sim/formats/formats.h"
#include "sim/formats/json_reader.h"

namespace berth::cost_models {
namespace {

using formats::Fields;
using formats::Value;
using Json = nlohmann::ordered_json;

constexpr double kLeastEfficiency = 1e-6;
constexpr double kMostEfficiency = 2;  // above 1: data sheets give base clocks, machines boost
constexpr std::int64_t kMostSamples = std::int64_t{1} << 40;

// ---- reading ----------------------------------------------------------------------------------------------

bool IsDate(std::string_view text) {
  if (text.size() != 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 4 || i == 7;
    if (dash ? text[i] != '-' : (text[i] < '0' || text[i] > '9')) return false;
  }
  return true;
}

Provenance ReadProvenance(Value value) {
  static constexpr std::string_view kKeys[] = {"machine", "driver", "library", "date", "commit", "command"};
  const Fields fields(value, kKeys);
  Provenance provenance;
  provenance.machine = fields.Require("machine").Name();
  provenance.driver = fields.Require("driver").Name();
  provenance.library = fields.Require("library").Name();
  provenance.date = fields.Require("date").Name();
  provenance.commit = fields.Require("commit").Name();
  provenance.command = fields.String("command", "");
  if (!IsDate(provenance.date)) {
    fields.Require("date").Fail(fmt::format("is '{}', but must be a day like 2026-11-20", provenance.date));
  }
  return provenance;
}

Evidence ReadEvidence(const Fields& fields) {
  Evidence evidence;
  evidence.samples = fields.Require("samples").Int(1, kMostSamples);
  evidence.spread = fields.Require("spread").Number(0, 1e6);
  evidence.fit_error = fields.Require("fit_error").Number(0, 1e6);
  if (const auto range = fields.Find("range")) {
    std::vector<double> ends;
    for (const Value end : range->items()) ends.push_back(end.Number(0, 1e30));
    if (ends.size() != 2 || ends[0] > ends[1]) range->Fail("must be [least, largest] work of the samples");
    evidence.range = {ends[0], ends[1]};
  }
  return evidence;
}

FittedNumber ReadNumber(Value value, std::string_view key, double low, double high) {
  const std::string_view keys[] = {key, "samples", "spread", "fit_error", "range"};
  const Fields fields(value, keys);
  return {fields.Require(key).Number(low, high), ReadEvidence(fields)};
}

OpClass ReadClass(Value place, std::string_view name) {
  const auto op_class = OpClassNamed(name);
  if (!op_class) {
    std::vector<std::string> known;
    for (int i = 0; i < kOpClasses; ++i) known.emplace_back(ToString(static_cast<OpClass>(i)));
    place.Fail(fmt::format("is about the op class '{}', which is none of {}", name, JoinNames(known)));
  }
  return *op_class;
}

RatioCurve ReadCurve(Value value) {
  static constexpr std::string_view kKeys[] = {"class",   "low_ratio", "high_ratio", "knots",
                                               "samples", "spread",    "fit_error",  "range"};
  static constexpr std::string_view kKnot[] = {"structural_us", "measured_us"};
  const Fields fields(value, kKeys);
  RatioCurve curve;
  curve.op_class = ReadClass(value, fields.Require("class").Text());
  curve.low_ratio = fields.Require("low_ratio").Number(1e-6, 1);
  curve.high_ratio = fields.Require("high_ratio").Number(1, 1e6);
  curve.evidence = ReadEvidence(fields);
  for (const Value entry : fields.Require("knots").items()) {
    const Fields knot(entry, kKnot);
    const RatioCurve::Knot next = {knot.Require("structural_us").Number(1e-6, sim::kMaxMicros),
                                   knot.Require("measured_us").Number(1e-6, sim::kMaxMicros)};
    const bool rises = curve.knots.empty() || (next.structural_us > curve.knots.back().structural_us &&
                                               next.measured_us >= curve.knots.back().measured_us);
    if (!rises) entry.Fail("does not lie to the right of and not below the knot before it");
    curve.knots.push_back(next);
  }
  if (curve.knots.size() < 2) fields.Require("knots").Fail("must have at least two knots");
  return curve;
}

KindParameters ReadKind(Value value, const Catalogue& catalogue) {
  static constexpr std::string_view kKeys[] = {"kind", "efficiency", "dispatch", "structural", "curves"};
  const Fields fields(value, kKeys);
  KindParameters kind;
  kind.kind = fields.Require("kind").Name();
  if (catalogue.FindSheet(kind.kind) == nullptr) {
    fields.Require("kind").Fail(fmt::format("is '{}', which is no device kind of the catalogue; it has {}",
                                            kind.kind, JoinNames(catalogue.DeviceNames())));
  }
  if (const auto efficiency = fields.Find("efficiency")) {
    for (const auto [name, number] : efficiency->members()) {
      kind.efficiency.emplace(ReadClass(number, name),
                              ReadNumber(number, "value", kLeastEfficiency, kMostEfficiency));
    }
  }
  if (const auto dispatch = fields.Find("dispatch"))
    kind.dispatch_us = ReadNumber(*dispatch, "value_us", 0, 1e9);
  kind.structural = fields.String("structural", "");
  std::set<OpClass> seen;
  if (const auto curves = fields.Find("curves")) {
    for (const Value entry : curves->items()) {
      kind.curves.push_back(ReadCurve(entry));
      if (!seen.insert(kind.curves.back().op_class).second) entry.Fail("is a second curve of its class");
    }
  }
  if (kind.structural.empty() == kind.curves.empty()) return kind;
  if (!kind.curves.empty()) value.Fail("has curves but no `structural` that says which model they correct");
  value.Fail("has `structural` but no curves");
}

TableEntry ReadEntry(Value value, const Catalogue& catalogue) {
  static constexpr std::string_view kKeys[] = {"kind", "signature", "us", "low_us", "high_us", "samples"};
  const Fields fields(value, kKeys);
  TableEntry entry;
  entry.kind = fields.Require("kind").Name();
  if (catalogue.FindSheet(entry.kind) == nullptr) {
    fields.Require("kind").Fail(fmt::format("is '{}', which is no device kind of the catalogue", entry.kind));
  }
  entry.signature = fields.Require("signature").Name();
  entry.us = fields.Require("us").Number(0, sim::kMaxMicros);
  entry.low_us = fields.Require("low_us").Number(0, entry.us);
  entry.high_us = fields.Require("high_us").Number(entry.us, sim::kMaxMicros);
  entry.samples = fields.Require("samples").Int(1, kMostSamples);
  return entry;
}

// ---- printing ---------------------------------------------------------------------------------------------

void AddEvidence(const Evidence& evidence, Json* json) {
  (*json)["samples"] = evidence.samples;
  (*json)["spread"] = evidence.spread;
  (*json)["fit_error"] = evidence.fit_error;
  if (evidence.range) (*json)["range"] = {evidence.range->first, evidence.range->second};
}

Json ToJson(const FittedNumber& number, const char* key) {
  Json json;
  json[key] = number.value;
  AddEvidence(number.evidence, &json);
  return json;
}

Json ToJson(const RatioCurve& curve) {
  Json json;
  json["class"] = ToString(curve.op_class);
  json["low_ratio"] = curve.low_ratio;
  json["high_ratio"] = curve.high_ratio;
  AddEvidence(curve.evidence, &json);
  json["knots"] = Json::array();
  for (const auto& knot : curve.knots) {
    json["knots"].push_back({{"structural_us", knot.structural_us}, {"measured_us", knot.measured_us}});
  }
  return json;
}

Json ToJson(const KindParameters& kind) {
  Json json;
  json["kind"] = kind.kind;
  for (const auto& [op_class, number] : kind.efficiency)
    json["efficiency"][ToString(op_class)] = ToJson(number, "value");
  if (kind.dispatch_us) json["dispatch"] = ToJson(*kind.dispatch_us, "value_us");
  if (!kind.structural.empty()) json["structural"] = kind.structural;
  for (const RatioCurve& curve : kind.curves) json["curves"].push_back(ToJson(curve));
  return json;
}

Json ToJson(const TableEntry& entry) {
  Json json;
  json["kind"] = entry.kind;
  json["signature"] = entry.signature;
  json["us"] = entry.us;
  json["low_us"] = entry.low_us;
  json["high_us"] = entry.high_us;
  json["samples"] = entry.samples;
  return json;
}

template <typename T>
std::string Lines(const std::vector<T>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) text += (i > 0 ? ",\n  " : "\n  ") + ToJson(items[i]).dump();
  return text;
}

}  // namespace

const KindParameters* Parameters::Find(const std::string& kind) const {
  const auto found = std::ranges::find(kinds, kind, &KindParameters::kind);
  return found != kinds.end() ? &*found : nullptr;
}

Parameters ParseParameters(std::string_view json, const std::string& source, const Catalogue& catalogue) {
  const formats::Document document = formats::ParseJson(json, source);
  formats::CheckFormat(document, "berth.cost_model", 1);
  static constexpr std::string_view kKeys[] = {"format", "version", "name", "provenance", "kinds", "table"};
  const Fields top(document.root(), kKeys);
  Parameters parameters;
  parameters.name = top.Require("name").Name();
  parameters.source = source;
  parameters.provenance = ReadProvenance(top.Require("provenance"));
  if (const auto kinds = top.Find("kinds")) {
    for (const Value entry : kinds->items()) {
      KindParameters kind = ReadKind(entry, catalogue);
      if (parameters.Find(kind.kind) != nullptr) entry.Fail("is about '" + kind.kind + "' a second time");
      parameters.kinds.push_back(std::move(kind));
    }
  }
  std::set<std::pair<std::string, std::string>> seen;
  if (const auto table = top.Find("table")) {
    for (const Value value : table->items()) {
      TableEntry entry = ReadEntry(value, catalogue);
      if (!seen.emplace(entry.kind, entry.signature).second) {
        value.Fail(fmt::format("measures {} on '{}' a second time", entry.signature, entry.kind));
      }
      parameters.table.push_back(std::move(entry));
    }
  }
  return parameters;
}

Parameters ReadParameters(const std::string& path, const Catalogue& catalogue) {
  return ParseParameters(formats::ReadFile(path), path, catalogue);
}

std::string PrintParameters(const Parameters& parameters) {
  const Provenance& from = parameters.provenance;
  Json provenance;
  provenance["machine"] = from.machine;
  provenance["driver"] = from.driver;
  provenance["library"] = from.library;
  provenance["date"] = from.date;
  provenance["commit"] = from.commit;
  if (!from.command.empty()) provenance["command"] = from.command;
  return fmt::format(
      "{{\"format\": \"berth.cost_model\", \"version\": 1, \"name\": {},\n \"provenance\": {},\n \"kinds\": "
      "[{}],\n"
      " \"table\": [{}]}}\n",
      Json(parameters.name).dump(), provenance.dump(), Lines(parameters.kinds), Lines(parameters.table));
}

void WriteParameters(const std::string& path, const Parameters& parameters) {
  formats::WriteFile(path, PrintParameters(parameters));
}

void CheckSameMachine(const Parameters& a, const Parameters& b) {
  const auto speaks_of = [](const Parameters& parameters, const std::string& kind) {
    return parameters.Find(kind) != nullptr ||
           std::ranges::any_of(parameters.table, [&](const TableEntry& entry) { return entry.kind == kind; });
  };
  std::set<std::string> kinds;
  for (const KindParameters& kind : a.kinds) kinds.insert(kind.kind);
  for (const TableEntry& entry : a.table) kinds.insert(entry.kind);
  const auto both = std::ranges::find_if(kinds, [&](const std::string& kind) { return speaks_of(b, kind); });
  if (both == kinds.end()) return;
  const auto compare = [&](const char* what, const std::string& left, const std::string& right) {
    if (left == right) return;
    throw InputError(
        fmt::format("{} and {} both have numbers for '{}', but were measured with different {} ('{}' and "
                    "'{}'); numbers of two "
                    "machines are not mixed: use one of the files, or calibrate again",
                    a.source, b.source, *both, what, left, right));
  };
  compare("machines", a.provenance.machine, b.provenance.machine);
  compare("drivers", a.provenance.driver, b.provenance.driver);
  compare("libraries", a.provenance.library, b.provenance.library);
}

void SetLaunchCosts(const Parameters& parameters, sim::Cluster* cluster) {
  for (sim::Device& device : cluster->devices) {
    const KindParameters* kind = parameters.Find(device.kind);
    if (kind != nullptr && kind->dispatch_us) device.launch_cost = sim::FromMicros(kind->dispatch_us->value);
  }
}

std::string StructuralFingerprint(const Catalogue& catalogue, const std::string& kind) {
  const DeviceSheet* sheet = catalogue.FindSheet(kind);
  BERTH_CHECK(sheet != nullptr);
  std::string text =
      fmt::format("{} {} {} {} {} {} {} {} {} {}", sheet->peak_f32, sheet->peak_tf32, sheet->peak_f16,
                  sheet->peak_f64, sheet->memory_bandwidth, sheet->core_bandwidth, sheet->multiprocessors,
                  sheet->cores, sheet->kernel_us, sheet->ramp_us);
  for (const double share : DefaultEfficiency(catalogue, sheet->kind.device_class))
    text += fmt::format(" {}", share);
  for (const Tile& tile : catalogue.Tiles())
    text += fmt::format(" {} {} {}", tile.rows, tile.columns, tile.share);
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return fmt::format("{:016x}", hash);
}

}  // namespace berth::cost_models
