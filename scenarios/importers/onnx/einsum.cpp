#include "scenarios/importers/onnx/einsum.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace stowplan::scenarios::onnx_import {
namespace {

struct Equation {
  std::vector<std::string> operands;  // a letter for each axis; axes of an ellipsis are digits
  std::string result;
};

std::string WithoutBlanks(std::string text) {
  std::erase(text, ' ');
  return text;
}

// "..." becomes as many digits as the operand has axes without a letter, counted from the last.
std::string SpellOut(std::string labels, std::size_t rank) {
  const auto dots = labels.find("...");
  if (dots == std::string::npos) return labels;
  const std::size_t hidden = rank + 3 - std::min(rank + 3, labels.size());
  std::string digits;
  for (std::size_t i = std::min<std::size_t>(hidden, 10); i-- > 0;)
    digits.push_back(static_cast<char>('0' + i));
  return labels.replace(dots, 3, digits);
}

Equation ReadEquation(const std::string& text, const std::vector<std::size_t>& ranks) {
  const std::string plain = WithoutBlanks(text);
  const auto arrow = plain.find("->");
  std::string_view left = std::string_view(plain).substr(0, arrow);
  Equation equation;
  std::size_t most_hidden = 0;
  for (const std::size_t rank : ranks) {
    const auto comma = left.find(',');
    equation.operands.push_back(SpellOut(std::string(left.substr(0, comma)), rank));
    const auto digits = std::count_if(equation.operands.back().begin(), equation.operands.back().end(),
                                      [](char c) { return c >= '0' && c <= '9'; });
    most_hidden = std::max(most_hidden, static_cast<std::size_t>(digits));
    left = comma == std::string_view::npos ? std::string_view() : left.substr(comma + 1);
  }
  if (arrow != std::string::npos) {
    const std::string right = plain.substr(arrow + 2);
    equation.result = SpellOut(
        right, right.find("...") == std::string::npos ? right.size() : right.size() - 3 + most_hidden);
  } else {
    // Those that stand once, in alphabetical order; digits sort first.
    std::multiset<char> all;
    for (const auto& operand : equation.operands) all.insert(operand.begin(), operand.end());
    for (const char label : std::set<char>(all.begin(), all.end())) {
      if (all.count(label) == 1 || (label >= '0' && label <= '9')) equation.result.push_back(label);
    }
  }
  return equation;
}

// Operands are contracted from left to right; a label goes when nobody behind it needs it.
double EinsumFlops(const Equation& equation, const std::map<char, double>& sizes, bool* contracts) {
  const auto size_of = [&](const std::set<char>& labels) {
    double product = 1;
    for (const char label : labels) product *= sizes.at(label);
    return product;
  };
  std::map<char, std::size_t> last_reader;  // of a label; none comes behind the result
  for (std::size_t i = 0; i < equation.operands.size(); ++i)
    for (const char label : equation.operands[i]) last_reader[label] = i;
  for (const char label : equation.result) last_reader[label] = equation.operands.size();
  double flops = 0;
  std::set<char> held(equation.operands.front().begin(), equation.operands.front().end());
  for (std::size_t i = 1; i < equation.operands.size(); ++i) {
    std::set<char> joined = held;
    joined.insert(equation.operands[i].begin(), equation.operands[i].end());
    std::set<char> kept = joined;
    std::erase_if(kept, [&](char label) { return last_reader.at(label) <= i; });
    if (kept.size() < joined.size()) {
      *contracts = true;
      flops += 2 * size_of(joined);
    }
    held = std::move(kept);
  }
  return flops;
}

}  // namespace

Einsum ReadEinsum(const std::string& text, const std::vector<Shape>& operands) {
  if (operands.empty()) throw std::invalid_argument("it has no operands");
  std::vector<std::size_t> ranks;
  for (const Shape& operand : operands) ranks.push_back(operand.size());
  const Equation equation = ReadEquation(text, ranks);
  std::map<char, double> sizes;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::string& labels = equation.operands[i];
    if (labels.size() != operands[i].size()) {
      throw std::invalid_argument("operand " + std::to_string(i) + " of '" + text + "' has " +
                                  std::to_string(operands[i].size()) + " axes");
    }
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
      const auto size = static_cast<double>(operands[i][axis]);
      double& known = sizes.emplace(labels[axis], size).first->second;
      if (known != size && known != 1 && size != 1) {
        throw std::invalid_argument(std::string("axis '") + labels[axis] + "' of '" + text +
                                    "' has two sizes");
      }
      known = known == 1 ? size : known;  // axes of one broadcast
    }
  }
  Einsum einsum;
  for (const char label : equation.result) {
    if (!sizes.contains(label))
      throw std::invalid_argument("the result of '" + text + "' has a letter of no operand");
    einsum.shape.push_back(static_cast<std::int64_t>(sizes.at(label)));
  }
  einsum.flops = EinsumFlops(equation, sizes, &einsum.contracts);
  return einsum;
}

}  // namespace stowplan::scenarios::onnx_import
