// The curve of a record, as its row has it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stowplan::tables {

// "1:30.5 8:20": sample and best us. Throws InputError naming `where`.
std::vector<std::pair<double, double>> ParseCurve(std::string_view curve, const std::string& where);
// Of each point: joined by blanks. Throws InputError naming `where`.
std::vector<double> ParseCurveSeconds(std::string_view seconds, const std::string& where);

}  // namespace stowplan::tables
