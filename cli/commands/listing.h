// What `stowplan list` prints, as text and as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "output/console.h"
#include "sim/base/settings.h"

namespace stowplan::cli {

struct ListingColumn {
  ListingColumn(const char* name) : key(name), title(name) {}
  // A column of numbers.
  ListingColumn(const char* in_json, const char* in_text)
      : key(in_json), title(in_text), align(output::TextTable::Align::kRight) {}

  // A column of numbers that stand below their row in text: "known: 24,713 ops, 23.82 M weights".
  static ListingColumn Below(const char* what, const char* in_json, const char* unit) {
    ListingColumn column(in_json, unit);
    column.below = what;
    return column;
  }

  std::string key;    // in JSON
  std::string title;  // in text
  output::TextTable::Align align = output::TextTable::Align::kLeft;
  std::string below = {};
};

struct ListingCell {
  using Value = std::variant<std::nullptr_t, std::int64_t, double, std::string>;

  bool operator==(const ListingCell&) const = default;

  static constexpr const char* kNothing = "-";
  static ListingCell Nothing() { return {kNothing, nullptr}; }

  ListingCell(std::string both) : text(both), value(std::move(both)) {}
  ListingCell(const char* both) : ListingCell(std::string(both)) {}
  ListingCell(std::string in_text, Value in_json, std::string its_mark = {})
      : text(std::move(in_text)), value(std::move(in_json)), mark(std::move(its_mark)) {}

  std::string text;  // for people: rounded, with a unit
  Value value;       // in JSON: exact, in the unit of the key; null if it is not known
  std::string mark;  // one of Listing::marks, if any
};

struct Listing {
  std::vector<ListingColumn> columns;  // "name" first
  std::vector<std::vector<ListingCell>> rows;
  std::vector<std::string> marks = {};  // each is a key in JSON: the keys of the row's figures that have it
  std::string legend = {};              // what stands under the text
};

// The kinds that `stowplan list` knows, and the names of one of them, without parameters.
std::vector<std::string> ListedKinds();
std::vector<std::string> NamesOfKind(const std::string& kind);

// Workloads with their sizes, ours beside what tables/papers/workloads.csv has. Builds the graphs that it
// counts: fused, and with `unfused` the unfused ones too, which take longer. `name`: of one alone; empty = of all.
Listing ListWorkloads(bool unfused, const std::string& name = {});

// What a table says of the settings, defaults by preset and size among it.
Listing ListSettings(const SettingTable& table);
nlohmann::ordered_json SettingsJson(const SettingTable& table);

}  // namespace stowplan::cli
