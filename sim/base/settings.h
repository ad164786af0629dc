// What things that are chosen by name can be told, as data: `placeto(lr=1e-3,rounds=8)` gives two of placeto's settings.
//
// A table of settings is all that anybody knows of them. Parsers, canonical names, `stowplan list`, completion and tests are
// made from it, so a new setting is one row.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/spec.h"

namespace stowplan {

// What may be written behind the `=`.
struct SettingValues {
  enum class Kind : std::uint8_t { kWhole, kNumber, kYesNo, kChoice, kText };
  Kind kind = Kind::kText;
  double low = -std::numeric_limits<double>::infinity();  // of numbers, itself included
  double high = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};
};
SettingValues Whole(double low, double high = std::numeric_limits<double>::infinity());
SettingValues Number(double low, double high);
SettingValues YesNo();  // also true/false, 1/0
SettingValues OneOf(std::vector<std::string> choices);
SettingValues Text();

// A default that follows from a number that stands above it in the table.
struct DefaultRelation {
  std::string of = {};     // the setting of that number
  std::string words = {};  // "no more than lr"
  // `fallback`: the default without the relation; `default_of`: what the other would be if it were not given.
  double (*apply)(double fallback, double of, double default_of) = nullptr;
};

struct Setting {
  std::string name;
  std::string what;  // in plain words
  SettingValues values;
  std::string fallback;  // the default, as one writes it; empty = none, and then it is in no canonical name
  DefaultRelation relation = {};
  std::string only = {};  // a condition as below; where it does not hold there is no such setting
};

// Other defaults where a condition holds: {"preset=paper|code", "lr=1e-3,batch=10"}. The setting of the condition stands above
// those that it changes. An empty condition always holds.
struct OtherDefaults {
  std::string when;
  std::string defaults;
};

struct SettingTable {
  std::vector<Setting> rows = {};            // in the order of the canonical name
  std::vector<OtherDefaults> defaults = {};  // of several that hold for a setting the last counts

  const Setting* Find(std::string_view name) const;  // nullptr = there is none
};

// "a number from 0 to 10", "mean or sum", "yes or no"; empty for a text.
std::string ValuesText(const SettingValues& values);

// The values in force: those that a spec gives, else the defaults.
class Settings {
 public:
  // Throws InputError for values of the wrong type or out of range, naming the thing and the setting, for settings that are not
  // in the table, listing those that are, and for what is not of the form key=value.
  Settings(const Spec& spec, const SettingTable& table);

  const std::string& name() const { return name_; }  // before the parenthesis
  bool Has(std::string_view setting) const;          // false where its condition does not hold

  // These abort the program for settings that the table lacks.
  std::int64_t Int(std::string_view setting) const;
  double Double(std::string_view setting) const;
  bool Bool(std::string_view setting) const;
  std::string Text(std::string_view setting) const;  // without the quotes around the whole of it
  bool Is(std::string_view setting, std::string_view value) const;
  // Which of the choices; their order is that of the enum.
  template <typename Enum>
  Enum Choice(std::string_view setting) const {
    return static_cast<Enum>(Find(setting).choice);
  }

  // name(every setting with its value), in the order of the table: the canonical name.
  std::string Canonical() const;

 private:
  struct InForce {
    std::string setting;
    std::string value = {};     // canonical
    std::string fallback = {};  // what it would be if it were not given
    std::size_t choice = 0;
  };

  const InForce& Find(std::string_view setting) const;
  bool Holds(const std::string& condition) const;
  std::string DefaultOf(const Setting& row, const std::vector<std::pair<std::string, Spec>>& others) const;
  InForce Read(const Setting& row, const std::string& text) const;

  std::string name_;
  std::vector<InForce> in_force_;
};

}  // namespace stowplan
