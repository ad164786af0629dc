#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands/listing.h"

namespace stowplan::cli {
namespace {

using Kind = SettingValues::Kind;
using Json = nlohmann::ordered_json;

// In the order of the enum.
constexpr const char* kTypes[] = {"whole number", "number", "yes or no", "choice", "text"};

Json ValueJson(const Settings& settings, const Setting& row) {
  if (!settings.Has(row.name) || settings.Text(row.name).empty()) return nullptr;
  if (row.values.kind == Kind::kWhole) return settings.Int(row.name);
  if (row.values.kind == Kind::kNumber) return settings.Double(row.name);
  return settings.Text(row.name);
}

// Each preset with each size: "preset=paper,size=full".
std::vector<std::string> Conditions(const SettingTable& table) {
  std::vector<std::string> conditions = {""};
  for (const char* name : {"preset", "size"}) {
    const Setting* row = table.Find(name);
    if (row == nullptr) continue;
    std::vector<std::string> longer;
    for (const std::string& before : conditions) {
      for (const std::string& choice : row->values.choices)
        longer.push_back(fmt::format("{}{}{}={}", before, before.empty() ? "" : ",", name, choice));
    }
    conditions = longer;
  }
  return conditions;
}

// "preset=paper: 128; size=full: 512; no more than lr".
std::string OtherwiseText(const SettingTable& table, const Setting& row) {
  std::vector<std::string> parts;
  if (!row.only.empty()) parts.push_back("with " + row.only + " alone");
  for (const auto& [when, defaults] : table.defaults) {
    if (when.empty()) continue;
    for (const auto& [key, value] : Spec::Parse("defaults(" + defaults + ")").named) {
      if (key == row.name) parts.push_back(when + ": " + value);
    }
  }
  if (!row.relation.words.empty()) parts.push_back(row.relation.words);
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

Listing ListSettings(const SettingTable& table) {
  Listing listing{{"setting", "default", "values", "what", "otherwise"}, {}};
  const Settings plain({"x", {}, {}}, table);
  for (const Setting& row : table.rows) {
    const std::string value = plain.Has(row.name) ? plain.Text(row.name) : "";
    listing.rows.push_back({row.name, value.empty() ? ListingCell::kNothing : value, ValuesText(row.values),
                            row.what, OtherwiseText(table, row)});
  }
  if (!table.defaults.empty()) listing.legend = "Of several conditions that hold the last counts.";
  return listing;
}

Json SettingsJson(const SettingTable& table) {
  Json settings = Json::array();
  std::vector<std::pair<std::string, Settings>> in_force;
  for (const std::string& condition : Conditions(table))
    in_force.emplace_back(condition, Settings(Spec::Parse("x(" + condition + ")"), table));
  const Settings plain({"x", {}, {}}, table);
  for (const Setting& row : table.rows) {
    const bool whole = row.values.kind == Kind::kWhole;
    // null where there is no end
    const auto end = [&](double at) {
      return whole && std::isfinite(at) ? Json(std::int64_t(at)) : Json(at);
    };
    Json each = {
        {"name", row.name}, {"what", row.what}, {"type", kTypes[static_cast<std::size_t>(row.values.kind)]}};
    if (whole || row.values.kind == Kind::kNumber)
      each.update({{"low", end(row.values.low)}, {"high", end(row.values.high)}});
    if (row.values.kind == Kind::kChoice) each["choices"] = row.values.choices;
    each["default"] = ValueJson(plain, row);  // null where it has none
    for (const auto& [condition, values] : in_force) {
      if (!condition.empty() && values.Has(row.name)) each["defaults"][condition] = ValueJson(values, row);
    }
    if (const std::string otherwise = OtherwiseText(table, row); !otherwise.empty())
      each["otherwise"] = otherwise;
    settings.push_back(std::move(each));
  }
  return settings;
}

}  // namespace stowplan::cli
