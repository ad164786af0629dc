// stowplan.cost_model: reading.
#include <algorithm>
#include <set>
#include <span>

#include <fmt/format.h>

#include "cost_models/parameters/parameters.h"
#include "sim/formats/document/json_reader.h"
#include "sim/formats/formats.h"

namespace stowplan::cost_models {
namespace {

using formats::Fields;
using formats::Value;

constexpr double kLeastEfficiency = 1e-6;
constexpr double kMostEfficiency = 2;  // above 1: data sheets give base clocks, machines boost
constexpr double kLeastShare = 1e-6;   // of rates and bandwidths, as in stowplan.cluster
constexpr double kMostLinkMicros = 1e9;
constexpr std::int64_t kMostSamples = std::int64_t{1} << 40;

bool IsDate(std::string_view text) {
  if (text.size() != 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 4 || i == 7;
    if (dash ? text[i] != '-' : (text[i] < '0' || text[i] > '9')) return false;
  }
  return true;
}

Provenance ReadProvenance(Value value) {
  static constexpr std::string_view kKeys[] = {"machine", "driver",  "library", "date",
                                               "commit",  "command", "source",  "licence"};
  const Fields fields(value, kKeys);
  Provenance provenance;
  provenance.machine = fields.Require("machine").Name();
  provenance.driver = fields.Require("driver").Name();
  provenance.library = fields.Require("library").Name();
  provenance.date = fields.Require("date").Name();
  provenance.commit = fields.Require("commit").Name();
  provenance.command = fields.String("command", "");
  provenance.source = fields.String("source", "");
  provenance.licence = fields.String("licence", "");
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

Tf32Classes ReadTf32(Value value) {
  Tf32Classes classes;
  for (const Value name : value.items()) {
    const OpClass op_class = ReadClass(name, name.Text());
    if (!IsContraction(op_class)) name.Fail("must be an op class of contractions; no other class has TF32");
    classes.set(static_cast<std::size_t>(op_class));
  }
  return classes;
}

RatioCurve ReadCurve(Value value) {
  static constexpr std::string_view kKeys[] = {"class",   "dtype",  "low_ratio", "high_ratio", "knots",
                                               "samples", "spread", "fit_error", "range"};
  static constexpr std::string_view kKnot[] = {"structural_us", "measured_us"};
  const Fields fields(value, kKeys);
  RatioCurve curve;
  curve.op_class = ReadClass(value, fields.Require("class").Text());
  if (const auto dtype = fields.Find("dtype")) curve.dtype = dtype->Name();
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

CpuLine ReadCpuLine(Value value) {
  static constexpr std::string_view kKeys[] = {
      "family",    "dtype",         "call_us",   "us_per_mflop", "us_per_mega_elements",
      "us_per_mb", "far_us_per_mb", "low_ratio", "high_ratio",   "samples",
      "spread",    "fit_error",     "range"};
  constexpr double kMost = 1e12;
  const Fields fields(value, kKeys);
  CpuLine line{.family = fields.Require("family").Name()};
  if (const auto dtype = fields.Find("dtype")) line.dtype = dtype->Name();
  line.call_us = fields.Require("call_us").Number(0, sim::kMaxMicros);
  line.us_per_mflop = fields.Require("us_per_mflop").Number(0, kMost);
  line.us_per_mega_elements = fields.Require("us_per_mega_elements").Number(0, kMost);
  line.us_per_mb = fields.Require("us_per_mb").Number(0, kMost);
  line.far_us_per_mb = fields.Require("far_us_per_mb").Number(0, kMost);
  line.low_ratio = fields.Require("low_ratio").Number(1e-6, 1);
  line.high_ratio = fields.Require("high_ratio").Number(1, 1e6);
  line.evidence = ReadEvidence(fields);
  return line;
}

CpuLines ReadCpuLines(Value value) {
  static constexpr std::string_view kKeys[] = {"cache_bytes", "lines"};
  const Fields fields(value, kKeys);
  CpuLines made{.cache_bytes = fields.Require("cache_bytes").Int(1, sim::kMaxBytes), .lines = {}};
  for (const Value entry : fields.Require("lines").items()) {
    made.lines.push_back(ReadCpuLine(entry));
    const CpuLine& last = made.lines.back();
    const auto same = std::ranges::count_if(
        made.lines, [&](const CpuLine& one) { return one.family == last.family && one.dtype == last.dtype; });
    if (same > 1) entry.Fail("is a second line of its family and number format");
  }
  return made;
}

// `features`: of the numbers that a file's steps ask by.
RatioStep ReadStep(Value value, const std::vector<int>& features) {
  std::vector<Value> parts;
  for (const Value part : value.items()) parts.push_back(part);
  RatioStep step;
  if (parts.size() != 2 || parts[0].size() != 2 * step.questions.size() ||
      parts[1].size() != step.add.size()) {
    value.Fail(
        fmt::format("must be [[place in features, above, …], [add, …]] with {} questions and {} answers",
                    step.questions.size(), step.add.size()));
  }
  std::size_t at = 0;
  for (const Value item : parts[0].items()) {
    RatioStep::Question& question = step.questions[at / 2];
    if (at++ % 2 == 0) {
      const std::int64_t place = item.Int(0, static_cast<std::int64_t>(features.size()) - 1);
      question.feature = features[static_cast<std::size_t>(place)];
    } else {
      question.above = item.Number(-1e30, 1e30);
    }
  }
  constexpr std::int64_t kMost = 100'000;  // a factor of e^10 in one step
  at = 0;
  for (const Value item : parts[1].items())
    step.add[at++] = static_cast<std::int32_t>(item.Int(-kMost, kMost));
  return step;
}

std::vector<int> ReadFeatures(Value value, std::span<const std::string_view> known) {
  std::vector<int> features;
  for (const Value item : value.items()) features.push_back(static_cast<int>(item.Choice(known)));
  return features;
}

RatioTables ReadTables(Value value) {
  static constexpr std::string_view kKeys[] = {
      "family",  "dtype",  "kernel_us", "log_ratio", "low_ratio", "high_ratio", "held_out_error",
      "samples", "spread", "fit_error", "range",     "features",  "steps"};
  const Fields fields(value, kKeys);
  RatioTables tables;
  std::vector<std::string_view> families;
  for (const FamilyOfShapes& one : FamiliesOfShapes()) families.push_back(one.name);
  tables.family = families[fields.Require("family").Choice(families)];
  tables.dtype = fields.Require("dtype").Name();
  if (const auto kernel = fields.Find("kernel_us")) tables.kernel_us = kernel->Number(1e-6, sim::kMaxMicros);
  tables.log_ratio = fields.Require("log_ratio").Number(-20, 20);
  tables.low_ratio = fields.Require("low_ratio").Number(1e-6, 1);
  tables.high_ratio = fields.Require("high_ratio").Number(1, 1e6);
  tables.held_out_error = fields.Require("held_out_error").Number(0, 1e6);
  tables.evidence = ReadEvidence(fields);
  if (!fields.Find("features")) value.Fail("has no \"features\": an older stowplan made it; calibrate again");
  const std::vector<int> features =
      ReadFeatures(fields.Require("features"), FamilyNamed(tables.family)->features);
  for (const Value step : fields.Require("steps").items()) tables.steps.push_back(ReadStep(step, features));
  if (tables.steps.size() > 1000) fields.Require("steps").Fail("has more than 1000 steps");
  return tables;
}

std::vector<RatioTables> ReadAllTables(Value value) {
  std::vector<RatioTables> all;
  std::set<std::pair<std::string, std::string>> seen;
  for (const Value entry : value.items()) {
    all.push_back(ReadTables(entry));
    if (!seen.emplace(all.back().family, all.back().dtype).second)
      entry.Fail("is a second one of its family and dtype");
  }
  return all;
}

void ReadLaunch(Value value, KindParameters* kind) {
  static constexpr std::string_view kKeys[] = {"to_start", "kernel_gap", "graph_node"};
  const Fields fields(value, kKeys);
  const auto read = [&](std::string_view key, std::optional<FittedNumber>* number) {
    if (const auto found = fields.Find(key)) *number = ReadNumber(*found, "value_us", 0, 1e9);
  };
  read("to_start", &kind->launch_to_start_us);
  read("kernel_gap", &kind->kernel_gap_us);
  read("graph_node", &kind->graph_node_us);
}

Concurrency ReadConcurrency(Value value) {
  static constexpr std::string_view kKeys[] = {"rates", "samples", "spread", "fit_error", "range"};
  const Fields fields(value, kKeys);
  Concurrency concurrency;
  for (const Value rate : fields.Require("rates").items()) {
    concurrency.rates.push_back(rate.Number(kLeastShare, 1));
  }
  if (concurrency.rates.empty() || concurrency.rates.front() != 1) {
    fields.Require("rates").Fail("must begin with 1, the rate of an op that runs alone");
  }
  concurrency.evidence = ReadEvidence(fields);
  return concurrency;
}

void ReadCurves(const Fields& fields, KindParameters* kind) {
  kind->structural = fields.String("structural", "");
  std::set<std::pair<OpClass, std::string>> seen;
  if (const auto curves = fields.Find("curves")) {
    for (const Value entry : curves->items()) {
      kind->curves.push_back(ReadCurve(entry));
      const RatioCurve& curve = kind->curves.back();
      if (!seen.emplace(curve.op_class, curve.dtype).second) {
        entry.Fail("is a second curve of its class and dtype");
      }
    }
  }
  if (kind->structural.empty() == kind->curves.empty()) return;
  fields.object().Fail(kind->curves.empty()
                           ? "has `structural` but no curves"
                           : "has curves but no `structural` that says which model they correct");
}

KindParameters ReadKind(Value value, const Catalogue& catalogue) {
  static constexpr std::string_view kKeys[] = {"kind",   "tf32",        "efficiency",   "dispatch",
                                               "launch", "concurrency", "overlap_copy", "structural",
                                               "curves", "cpu_lines",   "sheet",        "tables"};
  const Fields fields(value, kKeys);
  KindParameters kind;
  kind.kind = fields.Require("kind").Name();
  if (catalogue.FindSheet(kind.kind) == nullptr) {
    fields.Require("kind").Fail(fmt::format("is '{}', which is no device kind of the catalogue; it has {}",
                                            kind.kind, JoinNames(catalogue.DeviceNames())));
  }
  if (const auto tf32 = fields.Find("tf32")) kind.tf32 = ReadTf32(*tf32);
  if (const auto efficiency = fields.Find("efficiency")) {
    for (const auto [name, number] : efficiency->members()) {
      kind.efficiency.emplace(ReadClass(number, name),
                              ReadNumber(number, "value", kLeastEfficiency, kMostEfficiency));
    }
  }
  if (const auto dispatch = fields.Find("dispatch"))
    kind.dispatch_us = ReadNumber(*dispatch, "value_us", 0, 1e9);
  if (const auto launch = fields.Find("launch")) ReadLaunch(*launch, &kind);
  if (const auto concurrency = fields.Find("concurrency")) kind.concurrency = ReadConcurrency(*concurrency);
  if (const auto overlap = fields.Find("overlap_copy"))
    kind.overlap_copy = ReadNumber(*overlap, "value", kLeastShare, 1);
  ReadCurves(fields, &kind);
  kind.sheet = fields.String("sheet", "");
  if (const auto tables = fields.Find("tables")) kind.tables = ReadAllTables(*tables);
  if (kind.sheet.empty() != kind.tables.empty()) {
    value.Fail(kind.tables.empty() ? "has `sheet` but no tables"
                                   : "has tables but no `sheet` that says which rates they belong to");
  }
  if (const auto lines = fields.Find("cpu_lines")) kind.cpu_lines = ReadCpuLines(*lines);
  return kind;
}

LinkParameters ReadLink(Value value, const Catalogue& catalogue) {
  static constexpr std::string_view kKeys[] = {
      "kind", "bandwidth_bytes_per_s", "knots", "both", "samples", "spread", "fit_error", "range"};
  static constexpr std::string_view kKnot[] = {"bytes", "us"};
  const Fields fields(value, kKeys);
  LinkParameters link;
  link.kind = fields.Require("kind").Name();
  if (catalogue.FindLink(link.kind) != nullptr) {
    fields.Require("kind").Fail(
        fmt::format("is '{}', a link kind of the catalogue; measured ones need names "
                    "of their own",
                    link.kind));
  }
  link.bandwidth = fields.Require("bandwidth_bytes_per_s").Int(1, std::int64_t{1} << 50);
  for (const Value entry : fields.Require("knots").items()) {
    const Fields knot(entry, kKnot);
    const LinkParameters::Knot next = {knot.Require("bytes").Int(0, sim::kMaxBytes),
                                       knot.Require("us").Number(0, kMostLinkMicros)};
    const bool rises = link.knots.empty()
                           ? next.bytes == 0
                           : next.bytes > link.knots.back().bytes && next.us >= link.knots.back().us;
    if (!rises) entry.Fail("must be at 0 bytes, or have more bytes than the knot before it and no less time");
    link.knots.push_back(next);
  }
  if (link.knots.size() < 2) fields.Require("knots").Fail("must have at least two knots");
  link.evidence = ReadEvidence(fields);
  if (const auto both = fields.Find("both")) link.both = ReadNumber(*both, "value", kLeastShare, 1);
  return link;
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

}  // namespace

Parameters ParseParameters(std::string_view json, const std::string& source, const Catalogue& catalogue) {
  const formats::Document document = formats::ParseJson(json, source);
  formats::CheckFormat(document, "stowplan.cost_model", 1);
  static constexpr std::string_view kKeys[] = {"format", "version", "name",    "provenance",
                                               "kinds",  "links",   "any_gpu", "table"};
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
  if (const auto links = top.Find("links")) {
    std::set<std::string> names;
    for (const Value entry : links->items()) {
      parameters.links.push_back(ReadLink(entry, catalogue));
      if (!names.insert(parameters.links.back().kind).second) {
        entry.Fail("is about '" + parameters.links.back().kind + "' a second time");
      }
    }
  }
  if (const auto any = top.Find("any_gpu")) parameters.any_gpu = ReadAllTables(*any);
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

}  // namespace stowplan::cost_models
