#include "profiler/traces/recording.h"

#include <algorithm>
#include <utility>

#include "profiler/traces/activity_text.h"
#include "sim/formats/document/document.h"
#include "sim/formats/document/json_reader.h"
#include "sim/formats/document/json_text.h"
#include "sim/formats/formats.h"

namespace stowplan::profiler {
namespace {

using formats::Fields;
using formats::Value;

sim::Attributes ReadFacts(const Fields& fields, std::string_view key) {
  const auto value = fields.Find(key);
  if (!value) return {};
  if (!value->IsObject()) value->Fail("must be an object of facts");
  return std::get<sim::Attributes>(value->Free().value);
}

Part ReadPart(Value value, bool activity) {
  static constexpr std::string_view kKeys[] = {"outcome",  "reason", "incomplete", "date",  "command",
                                               "revision", "clocks", "wall_s",     "result"};
  const Fields fields(value, kKeys);
  Part part;
  part.outcome = static_cast<Part::Outcome>(fields.Require("outcome").Choice(kOutcomeNames));
  part.date = fields.Require("date").Name();
  part.command = fields.String("command", "");
  part.revision = fields.String("revision", "");
  if (const auto clocks = fields.Find("clocks")) part.clocks = clocks->Free();
  part.wall_s = fields.Number("wall_s", 0, 0, 1e9);
  if (part.outcome != Part::Outcome::kMeasured) {
    part.reason = fields.Require("reason").Name();
    for (const char* const key : {"result", "incomplete"})
      if (fields.Has(key)) fields.Require(key).Fail("belongs to parts that were measured alone");
    return part;
  }
  if (fields.Has("reason")) fields.Require("reason").Fail("belongs to parts that were not measured alone");
  if (const auto incomplete = fields.Find("incomplete")) part.incomplete = incomplete->Name();
  if (activity) {
    part.activity = ReadActivity(fields.Require("result"));
  } else {
    part.result = fields.Require("result").Free();
  }
  return part;
}

class Printer {
 public:
  std::string Print(const Recording& recording) {
    out_ = "{\"format\": \"stowplan.trace\", \"version\": 1";
    Text("kind", recording.kind);
    if (!recording.device.empty()) Text("device", recording.device);
    if (recording.quick) Key("quick") += "true";
    if (!recording.model.empty()) Text("model", recording.model);
    Line("machine", recording.machine);
    if (!recording.software.empty()) Line("software", recording.software);
    if (!recording.timing.empty()) Line("timing", recording.timing);
    if (!recording.meaning.empty()) Line("meaning", recording.meaning);
    out_ += ",\n \"parts\": {";
    const char* separator = "\n  ";
    for (const auto& [name, part] : recording.parts) {
      out_ += std::exchange(separator, ",\n  ");
      formats::AppendJsonString(out_, name);
      out_ += ": ";
      PrintPart(part);
    }
    return std::move(out_) + "}}\n";
  }

 private:
  std::string& Key(std::string_view key, const char* separator = ", ") {
    out_.append(separator).append("\"").append(key).append("\": ");
    return out_;
  }
  void Text(std::string_view key, std::string_view value) { formats::AppendJsonString(Key(key), value); }
  void Line(std::string_view key, const sim::Attributes& facts) {
    formats::AppendJsonAttributes(Key(key, ",\n "), facts);
  }

  void PrintPart(const Part& part) {
    out_ += "{\"outcome\": \"";
    out_.append(kOutcomeNames[static_cast<std::size_t>(part.outcome)]) += '"';
    if (!part.reason.empty()) Text("reason", part.reason);
    if (!part.incomplete.empty()) Text("incomplete", part.incomplete);
    Text("date", part.date);
    if (!part.command.empty()) Text("command", part.command);
    if (!part.revision.empty()) Text("revision", part.revision);
    if (part.clocks != sim::Attribute{}) formats::AppendJsonAttribute(Key("clocks"), part.clocks);
    if (part.wall_s != 0) formats::AppendJsonNumber(Key("wall_s"), part.wall_s);
    if (part.activity) {
      AppendActivity(Key("result", ",\n   "), *part.activity);
    } else if (part.outcome == Part::Outcome::kMeasured) {
      formats::AppendJsonAttribute(Key("result", ",\n   "), part.result);
    }
    out_ += '}';
  }

  std::string out_;
};

}  // namespace

const Part* Recording::Find(std::string_view part) const {
  const auto found =
      std::find_if(parts.begin(), parts.end(), [&](const auto& entry) { return entry.first == part; });
  return found == parts.end() ? nullptr : &found->second;
}

bool Recording::Done(std::string_view part) const {
  const Part* const found = Find(part);
  return found != nullptr && found->outcome != Part::Outcome::kFailed && found->incomplete.empty();
}

Part* Recording::Find(std::string_view part) {
  return const_cast<Part*>(std::as_const(*this).Find(part));
}

void Recording::Put(std::string_view part, Part record) {
  if (Part* const old = Find(part)) {
    *old = std::move(record);
  } else {
    parts.emplace_back(part, std::move(record));
  }
}

Recording ParseRecording(std::string_view json, const std::string& source) {
  static constexpr std::string_view kKeys[] = {"format",  "version",  "kind",   "device",  "quick", "model",
                                               "machine", "software", "timing", "meaning", "parts"};
  const formats::Document document = formats::ParseJson(json, source);
  formats::CheckFormat(document, "stowplan.trace", 1);
  const Fields top(document.root(), kKeys);
  Recording recording;
  recording.kind = top.Require("kind").Name();
  recording.device = top.String("device", "");
  recording.quick = top.Bool("quick", false);
  recording.model = top.String("model", "");
  top.Require("machine");
  recording.machine = ReadFacts(top, "machine");
  recording.software = ReadFacts(top, "software");
  recording.timing = ReadFacts(top, "timing");
  recording.meaning = ReadFacts(top, "meaning");
  for (const auto [name, part] : top.Require("parts").members()) {
    recording.parts.emplace_back(name, ReadPart(part, recording.kind == kActivityKind));
  }
  return recording;
}

std::string PrintRecording(const Recording& recording) {
  return Printer().Print(recording);
}

void WriteRecording(const std::string& path, const Recording& recording) {
  formats::WriteFile(path, PrintRecording(recording));
}

}  // namespace stowplan::profiler
