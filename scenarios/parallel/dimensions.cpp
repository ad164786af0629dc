#include "scenarios/parallel/dimensions.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "scenarios/parallel/graph_edit.h"

namespace stowplan::scenarios {
namespace {

constexpr const char* kProducts[] = {"MatMul", "BatchMatMul", "BatchMatMulV2", "GroupedMatMul", "Linear"};

bool IsProduct(const sim::Op& op) {
  return std::ranges::find(kProducts, op.type) != std::end(kProducts) && op.inputs.size() >= 2 &&
         !op.outputs.empty();
}

// The sizes of one letter are the same wherever it stands.
bool Fits(const Contraction& product, const Dimensions& a, const Dimensions& b, const Dimensions& result) {
  std::int64_t size[128] = {};
  const auto fits = [&](const std::string& letters, const Dimensions& shape) {
    if (letters.size() != shape.size()) return false;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      std::int64_t& known = size[static_cast<std::size_t>(letters[i])];
      if (known == 0) known = shape[i];
      if (known != shape[i]) return false;
    }
    return true;
  };
  return fits(product.of_a, a) && fits(product.of_b, b) && fits(product.of_result, result);
}

// "abc" before the last two, which are letters of their own.
std::string Leading(std::size_t rank) {
  std::string letters;
  for (std::size_t i = 2; i < rank; ++i) letters += static_cast<char>('a' + i - 2);
  return letters;
}

// What it may be without an equation, likeliest first. Rows m, depth k, columns n.
std::vector<Contraction> Candidates(std::size_t a, std::size_t b, std::size_t result) {
  const std::string rows = Leading(a);
  std::vector<Contraction> found;
  const std::string of_b = b == 2 ? "" : Leading(b);
  if (result == a) {
    found.push_back({0, 1, rows + "mk", of_b + "kn", rows + "mn"});
    found.push_back({0, 1, rows + "mk", of_b + "nk", rows + "mn"});
    if (a == b) found.push_back({0, 1, rows + "km", of_b + "kn", rows + "mn"});
  }
  if (a == b && result == 2) found.push_back({0, 1, rows + "km", rows + "kn", "mn"});
  if (a == 2 && b == 3 && result == 2) found.push_back({0, 1, "mk", "ekn", "mn"});
  if (a == 2 && b == 2 && result == 3) found.push_back({0, 1, "km", "mn", "ekn"});
  return found;
}

std::optional<Contraction> OfEquation(const std::string& equation) {
  const auto comma = equation.find(','), arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma) return std::nullopt;
  return Contraction{0, 1, equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1),
                     equation.substr(arrow + 2)};
}

// Builders give the gradient of an input the equation of the product itself. The gradient that arrives stands where the operand
// stood whose gradient this is.
Contraction GradientOf(const Contraction& product, bool of_first) {
  if (of_first) return {0, 1, product.of_result, product.of_b, product.of_a};
  return {0, 1, product.of_a, product.of_result, product.of_b};
}

}  // namespace

std::optional<Contraction> ContractionOf(const sim::OpGraph& graph, sim::OpIndex index) {
  const sim::Op& op = graph.ops[At(index)];
  if (!IsProduct(op)) return std::nullopt;
  const Dimensions &a = OutputOf(graph, op.inputs[0]).shape, &b = OutputOf(graph, op.inputs[1]).shape,
                   &result = op.outputs.front().shape;
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  std::vector<Contraction> candidates;
  const bool built = IsBackward(op) && sim::FindAttribute(op.attributes, "torch_op") == nullptr;
  const bool of_first = !IsBackward(graph.ops[At(op.inputs[1].op)]);
  if (const auto equation = sim::FindString(op.attributes, "equation")) {
    if (const auto read = OfEquation(*equation))
      candidates.push_back(built ? GradientOf(*read, of_first) : *read);
  } else if (built) {
    const std::size_t rank = of_first ? result.size() : a.size();
    const std::size_t weights = of_first ? b.size() : result.size();
    for (const Contraction& product : Candidates(rank, weights, rank))
      candidates.push_back(GradientOf(product, of_first));
  }
  for (const Contraction& product : Candidates(a.size(), b.size(), result.size()))
    candidates.push_back(product);
  const auto found =
      std::ranges::find_if(candidates, [&](const Contraction& one) { return Fits(one, a, b, result); });
  return found != candidates.end() ? std::optional(*found) : std::nullopt;
}

std::optional<MovedCut> ReshapedCut(const Dimensions& from, const Dimensions& to, int dimension,
                                    std::int64_t outer, bool tokens, std::int64_t parts) {
  // The dimensions in a row that are the same elements: [i, i_end) of `from` and [j, j_end) of `to`.
  for (std::size_t i = 0, j = 0; i < from.size() && j < to.size();) {
    std::size_t i_end = i + 1, j_end = j + 1;
    std::int64_t of_from = from[i], of_to = to[j];
    while (of_from != of_to) {
      if (of_from < of_to ? i_end == from.size() : j_end == to.size()) return std::nullopt;
      if (of_from < of_to)
        of_from *= from[i_end++];
      else
        of_to *= to[j_end++];
    }
    if (static_cast<std::size_t>(dimension) >= i_end) {
      i = i_end;
      j = j_end;
      continue;
    }
    std::int64_t before = outer;  // of what is cut, in the row
    for (std::size_t d = i; d < static_cast<std::size_t>(dimension); ++d) before *= from[d];
    const std::int64_t size = from[static_cast<std::size_t>(dimension)] / outer;
    std::optional<MovedCut> first, last, exact;
    std::int64_t passed = 1;
    for (std::size_t d = j; d < j_end; passed *= to[d++]) {
      const bool same = to[d] == size;
      if (to[d] == 1 || (to[d] % parts != 0 && !same)) continue;
      const MovedCut here{.dimension = static_cast<int>(d)};
      if (passed == before && !exact && (same || !tokens)) exact = here;
      if (!first && passed <= before && passed * to[d] > before && before % passed == 0)
        first = MovedCut{here.dimension, before / passed};
      last = here;
    }
    return exact ? exact : tokens ? last : first;
  }
  return std::nullopt;
}

std::optional<std::vector<int>> PermutationOf(const sim::OpGraph& graph, const sim::Op& op) {
  const std::string torch = sim::FindString(op.attributes, "torch_op").value_or("");
  const bool turns = op.type == "Transpose" || torch == "aten.t" || torch == "aten.transpose" ||
                     torch == "aten.permute" || torch == "aten.numpy_T";
  if (!turns || op.inputs.empty() || op.outputs.empty()) return std::nullopt;
  const Dimensions &from = OutputOf(graph, op.inputs.front()).shape, &to = op.outputs.front().shape;
  const std::size_t rank = from.size();
  if (rank != to.size() || rank < 2) return std::nullopt;
  const auto fits = [&](const std::vector<int>& order) {
    for (std::size_t i = 0; i < rank; ++i)
      if (to[i] != from[static_cast<std::size_t>(order[i])]) return false;
    return true;
  };
  const sim::Attribute* told = sim::FindAttribute(op.attributes, "permutation");
  const auto* list = told != nullptr ? std::get_if<sim::Attribute::List>(&told->value) : nullptr;
  std::vector<std::vector<int>> candidates;
  if (list != nullptr && list->size() == rank) {
    std::vector<int> order(rank), back(rank);
    for (std::size_t i = 0; i < rank; ++i) {
      const auto* number = std::get_if<std::int64_t>(&(*list)[i].value);
      if (number == nullptr || *number < 0 || *number >= static_cast<std::int64_t>(rank)) return std::nullopt;
      order[i] = static_cast<int>(*number);
      back[static_cast<std::size_t>(*number)] = static_cast<int>(i);
    }
    // A builder's gradient has the permutation of what it turns back.
    candidates = IsBackward(op) ? std::vector{back, order} : std::vector{order, back};
  } else {
    // Two are exchanged: heads and positions where there are both, else the last two.
    std::vector<int> order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::vector<std::pair<std::size_t, std::size_t>> pairs = {
        {rank == 4 ? 1 : rank - 2, rank == 4 ? 2 : rank - 1}};
    for (std::size_t i = 0; i < rank; ++i)
      for (std::size_t j = i + 1; j < rank; ++j) pairs.emplace_back(i, j);
    for (const auto& [i, j] : pairs) {
      std::vector<int> swapped = order;
      std::swap(swapped[i], swapped[j]);
      candidates.push_back(std::move(swapped));
    }
    for (std::vector<int> any = order; rank < 6 && std::ranges::next_permutation(any).found;)
      candidates.push_back(any);
  }
  const auto found = std::ranges::find_if(candidates, fits);
  return found != candidates.end() ? std::optional(*found) : std::nullopt;
}

int KeptDimension(const Dimensions& from, const Dimensions& to, int dimension, bool keeps_last) {
  const auto size = from[static_cast<std::size_t>(dimension)];
  const auto here = [&](std::int64_t shifted) {
    return shifted >= 0 && shifted < std::ssize(to) && to[static_cast<std::size_t>(shifted)] == size
               ? static_cast<int>(shifted)
               : -1;
  };
  const std::int64_t dropped = std::ssize(from) - std::ssize(to);
  if (dropped == 0) return here(dimension);
  const auto aligned = [&](std::int64_t shift) {
    for (std::size_t d = 0; d < to.size(); ++d)
      if (to[d] != 1 && to[d] != from[d + static_cast<std::size_t>(shift)]) return false;
    return true;
  };
  const bool right = aligned(dropped) && (keeps_last || !aligned(0));
  return here(right ? dimension - dropped : dimension);
}

}  // namespace stowplan::scenarios
