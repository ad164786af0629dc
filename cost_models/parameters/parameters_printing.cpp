// stowplan.cost_model: printing.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cost_models/parameters/parameters.h"
#include "sim/formats/formats.h"

namespace stowplan::cost_models {
namespace {

using Json = nlohmann::ordered_json;

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
  if (!curve.dtype.empty()) json["dtype"] = curve.dtype;
  json["low_ratio"] = curve.low_ratio;
  json["high_ratio"] = curve.high_ratio;
  AddEvidence(curve.evidence, &json);
  json["knots"] = Json::array();
  for (const auto& knot : curve.knots) {
    json["knots"].push_back({{"structural_us", knot.structural_us}, {"measured_us", knot.measured_us}});
  }
  return json;
}

Json ToJson(const CpuLines& lines) {
  Json json;
  json["cache_bytes"] = lines.cache_bytes;
  for (const CpuLine& line : lines.lines) {
    Json one;
    one["family"] = line.family;
    if (!line.dtype.empty()) one["dtype"] = line.dtype;
    one["call_us"] = line.call_us;
    one["us_per_mflop"] = line.us_per_mflop;
    one["us_per_mega_elements"] = line.us_per_mega_elements;
    one["us_per_mb"] = line.us_per_mb;
    one["far_us_per_mb"] = line.far_us_per_mb;
    one["low_ratio"] = line.low_ratio;
    one["high_ratio"] = line.high_ratio;
    AddEvidence(line.evidence, &one);
    json["lines"].push_back(std::move(one));
  }
  return json;
}

// A step is [place in features, above, …] and what its answers add.
Json ToJson(const RatioTables& tables) {
  Json json;
  json["family"] = tables.family;
  json["dtype"] = tables.dtype;
  if (tables.kernel_us > 0) json["kernel_us"] = tables.kernel_us;
  json["log_ratio"] = tables.log_ratio;
  json["low_ratio"] = tables.low_ratio;
  json["high_ratio"] = tables.high_ratio;
  json["held_out_error"] = tables.held_out_error;
  AddEvidence(tables.evidence, &json);
  for (const std::string_view name : FamilyNamed(tables.family)->features) json["features"].push_back(name);
  json["steps"] = Json::array();
  for (const RatioStep& step : tables.steps) {
    Json questions = Json::array();
    for (const auto& [feature, above] : step.questions) {
      questions.push_back(feature);
      questions.push_back(above);
    }
    json["steps"].push_back({std::move(questions), step.add});
  }
  return json;
}

Json ToJson(const KindParameters& kind) {
  Json json;
  json["kind"] = kind.kind;
  for (int i = 0; i < kOpClasses; ++i)
    if (kind.tf32[static_cast<std::size_t>(i)]) json["tf32"].push_back(ToString(static_cast<OpClass>(i)));
  for (const auto& [op_class, number] : kind.efficiency)
    json["efficiency"][ToString(op_class)] = ToJson(number, "value");
  if (kind.dispatch_us) json["dispatch"] = ToJson(*kind.dispatch_us, "value_us");
  const auto launch = [&](const char* key, const std::optional<FittedNumber>& number) {
    if (number) json["launch"][key] = ToJson(*number, "value_us");
  };
  launch("to_start", kind.launch_to_start_us);
  launch("kernel_gap", kind.kernel_gap_us);
  launch("graph_node", kind.graph_node_us);
  if (kind.concurrency) {
    json["concurrency"]["rates"] = kind.concurrency->rates;
    AddEvidence(kind.concurrency->evidence, &json["concurrency"]);
  }
  if (kind.overlap_copy) json["overlap_copy"] = ToJson(*kind.overlap_copy, "value");
  if (!kind.structural.empty()) json["structural"] = kind.structural;
  for (const RatioCurve& curve : kind.curves) json["curves"].push_back(ToJson(curve));
  if (!kind.sheet.empty()) json["sheet"] = kind.sheet;
  for (const RatioTables& tables : kind.tables) json["tables"].push_back(ToJson(tables));
  if (!kind.cpu_lines.lines.empty()) json["cpu_lines"] = ToJson(kind.cpu_lines);
  return json;
}

Json ToJson(const LinkParameters& link) {
  Json json;
  json["kind"] = link.kind;
  json["bandwidth_bytes_per_s"] = link.bandwidth;
  AddEvidence(link.evidence, &json);
  if (link.both) json["both"] = ToJson(*link.both, "value");
  json["knots"] = Json::array();
  for (const auto& knot : link.knots) json["knots"].push_back({{"bytes", knot.bytes}, {"us", knot.us}});
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

std::string PrintParameters(const Parameters& parameters) {
  const Provenance& from = parameters.provenance;
  Json provenance;
  provenance["machine"] = from.machine;
  provenance["driver"] = from.driver;
  provenance["library"] = from.library;
  provenance["date"] = from.date;
  provenance["commit"] = from.commit;
  if (!from.command.empty()) provenance["command"] = from.command;
  if (!from.source.empty()) provenance["source"] = from.source;
  if (!from.licence.empty()) provenance["licence"] = from.licence;
  return fmt::format(
      "{{\"format\": \"stowplan.cost_model\", \"version\": 1, \"name\": {},\n \"provenance\": {},\n "
      "\"kinds\": "
      "[{}],\n{}{}"
      " \"table\": [{}]}}\n",
      Json(parameters.name).dump(), provenance.dump(), Lines(parameters.kinds),
      parameters.links.empty() ? "" : " \"links\": [" + Lines(parameters.links) + "],\n",
      parameters.any_gpu.empty() ? "" : " \"any_gpu\": [" + Lines(parameters.any_gpu) + "],\n",
      Lines(parameters.table));
}

void WriteParameters(const std::string& path, const Parameters& parameters) {
  formats::WriteFile(path, PrintParameters(parameters));
}

}  // namespace stowplan::cost_models
