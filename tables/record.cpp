#include "tables/record.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "output/csv.h"
#include "sim/base/error.h"
#include "tables/curve.h"

namespace stowplan::tables {
namespace {

struct Field {
  const char* name;
  std::variant<std::string CellRecord::*, std::int64_t CellRecord::*,
               std::optional<std::int64_t> CellRecord::*, std::optional<double> CellRecord::*>
      member;
};

const std::vector<Field>& AllFields() {
  static const std::vector<Field> fields = {
      {"block", &CellRecord::block},
      {"row", &CellRecord::row},
      {"column", &CellRecord::column},
      {"agent", &CellRecord::agent},
      {"seed", &CellRecord::seed},
      {"budget", &CellRecord::budget},
      {"scenario", &CellRecord::scenario},
      {"units", &CellRecord::units},
      {"kind", &CellRecord::kind},
      {"status", &CellRecord::status},
      {"runtime_us", &CellRecord::runtime_us},
      {"unlimited_runtime_us", &CellRecord::unlimited_runtime_us},
      {"fullest_device", &CellRecord::fullest_device},
      {"fullest_peak_bytes", &CellRecord::fullest_peak_bytes},
      {"fullest_capacity_bytes", &CellRecord::fullest_capacity_bytes},
      {"oom_device", &CellRecord::oom_device},
      {"oom_op", &CellRecord::oom_op},
      {"samples", &CellRecord::samples},
      {"samples_to_best", &CellRecord::samples_to_best},
      {"samples_to_1pct", &CellRecord::samples_to_1pct},
      {"distinct", &CellRecord::distinct},
      {"proposals", &CellRecord::proposals},
      {"lower_bound_us", &CellRecord::lower_bound_us},
      {"machine_seconds", &CellRecord::machine_seconds},
      {"curve", &CellRecord::curve},
      {"curve_machine_seconds", &CellRecord::curve_machine_seconds},
      {"placement", &CellRecord::placement},
      {"timeline", &CellRecord::timeline},
      {"cost_model", &CellRecord::cost_model},
      {"note", &CellRecord::note},
      {"command", &CellRecord::command},
      {"revision", &CellRecord::revision},
      {"dirty", &CellRecord::dirty},
      {"machine", &CellRecord::machine},
      {"date", &CellRecord::date},
      {"curve_agent_seconds", &CellRecord::curve_agent_seconds},
      {"simulator_seconds", &CellRecord::simulator_seconds},
      {"wall_seconds", &CellRecord::wall_seconds},
      {"screens", &CellRecord::screens},  // the last: rows without any have no such column
  };
  return fields;
}

template <typename Number>
Number ParseNumber(const std::string& text, const std::string& where, const char* name) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw InputError(fmt::format("{}: {} is \"{}\", a number is wanted.", where, name, text));
  }
  if (!(value >= 0 && value <= std::numeric_limits<Number>::max()))
    throw InputError(
        fmt::format("{}: {} is \"{}\", a finite number of at least 0 is wanted.", where, name, text));
  return value;
}

void CheckWord(const std::string& text, const std::string& where, const char* name,
               std::initializer_list<const char*> words) {
  if (std::ranges::find(words, text) == words.end())
    throw InputError(
        fmt::format("{}: {} is \"{}\", one of {} is wanted.", where, name, text, fmt::join(words, ", ")));
}

struct Print {
  const CellRecord& record;
  std::string operator()(std::string CellRecord::*m) const { return record.*m; }
  std::string operator()(std::int64_t CellRecord::*m) const { return std::to_string(record.*m); }
  template <typename Number>
  std::string operator()(std::optional<Number> CellRecord::*m) const {
    return record.*m ? fmt::format("{}", *(record.*m)) : "";
  }
};

struct Parse {
  CellRecord& record;
  const std::string& text;
  const std::string& where;
  const char* name;
  void operator()(std::string CellRecord::*m) const { record.*m = text; }
  void operator()(std::int64_t CellRecord::*m) const {
    record.*m = ParseNumber<std::int64_t>(text, where, name);
  }
  template <typename Number>
  void operator()(std::optional<Number> CellRecord::*m) const {
    if (!text.empty()) record.*m = ParseNumber<Number>(text, where, name);
  }
};

// Order of the key: numbers by value, so that seed 10 stands behind seed 9.
auto SortKey(const CellRecord& r) {
  return std::tie(r.block, r.row, r.column, r.agent, r.seed, r.budget, r.scenario);
}

}  // namespace

const std::vector<std::string>& RecordFields() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Field& field : AllFields()) all.emplace_back(field.name);
    return all;
  }();
  return names;
}

std::vector<std::string> ToFields(const CellRecord& record) {
  std::vector<std::string> fields;
  for (const Field& field : AllFields()) fields.push_back(std::visit(Print{record}, field.member));
  return fields;
}

CellRecord FromFields(const std::vector<std::string>& fields, const std::string& where) {
  STOWPLAN_CHECK_EQ(fields.size(), AllFields().size());
  CellRecord record;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::visit(Parse{record, fields[i], where, AllFields()[i].name}, AllFields()[i].member);
  }
  if (record.agent.empty()) throw InputError(where + ": agent is empty, the name of one is wanted.");
  CheckWord(record.kind, where, "kind", {"fitted", "predicted", "searched"});
  CheckWord(record.status, where, "status", {"ok", "oom", "not_run"});
  CheckWord(record.dirty, where, "dirty", {"yes", "no"});
  ParseCurve(record.curve, where);
  ParseCurveSeconds(record.curve_machine_seconds, where);
  ParseCurveSeconds(record.curve_agent_seconds, where);
  return record;
}

std::string RevisionText(const CellRecord& record) {
  return record.revision + (record.dirty == "yes" ? " (with changes)" : "");
}

std::string PrintRows(std::vector<CellRecord> records) {
  std::sort(records.begin(), records.end(),
            [](const CellRecord& a, const CellRecord& b) { return SortKey(a) < SortKey(b); });
  const bool screens =
      std::ranges::any_of(records, [](const CellRecord& r) { return r.screens.has_value(); });
  const auto print = [&](std::vector<std::string> fields) {
    if (!screens) fields.pop_back();
    return output::PrintCsvLine(fields);
  };
  std::string text = print(RecordFields());
  for (const CellRecord& record : records) text += print(ToFields(record));
  return text;
}

std::vector<CellRecord> ParseRows(std::string_view text, const std::string& source) {
  const std::vector<output::CsvLine> lines = output::ParseCsv(text, source);
  std::vector<std::string> header = RecordFields();
  if (!lines.empty() && lines.front().size() < header.size()) header.pop_back();
  if (lines.empty() || lines.front() != header) {
    throw InputError(
        fmt::format("{}:1: the header is not that of this version's rows; `stowplan table run NAME --export` "
                    "writes them anew.",
                    source));
  }
  std::vector<CellRecord> records;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string where = fmt::format("{}: row {}", source, i);
    std::vector<std::string> fields = lines[i];
    if (fields.size() != header.size())
      throw InputError(fmt::format("{} has {} fields, {} are wanted.", where, fields.size(), header.size()));
    fields.resize(RecordFields().size());
    records.push_back(FromFields(fields, where));
  }
  return records;
}

}  // namespace stowplan::tables
