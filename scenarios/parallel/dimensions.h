// Where a dimension of an op's input is in its outputs: what a cut of a tensor needs to know of an op.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/op_graph.h"

namespace stowplan::scenarios {

using Dimensions = std::vector<std::int64_t>;

// A product as in "bhsd,bhtd->bhst": one letter a dimension.
struct Contraction {
  std::size_t a = 0, b = 1;  // inputs
  std::string of_a, of_b, of_result;

  bool IsSummed(char letter) const { return of_result.find(letter) == std::string::npos; }
};

// Null = the op is no product of two of its inputs, or its shapes do not tell.
std::optional<Contraction> ContractionOf(const sim::OpGraph& graph, sim::OpIndex op);

struct MovedCut {
  int dimension = 0;
  std::int64_t outer = 1;  // of the dimension: Shard::outer
};

// Where a cut of a dimension, in each of `outer` equal parts of it, is in another shape of the same elements. `parts`: into how many it
// is cut; of the dimensions that it becomes the first is cut, of tokens the last that divides. Null = it is cut through in the
// middle.
std::optional<MovedCut> ReshapedCut(const Dimensions& from, const Dimensions& to, int dimension,
                                    std::int64_t outer, bool tokens, std::int64_t parts);
// to[i] = from[result[i]]; null = the op is no transposition, or its shapes do not tell.
std::optional<std::vector<int>> PermutationOf(const sim::OpGraph& graph, const sim::Op& op);

// Of a sum over some dimensions: where one of `from` is in `to`; -1 = it is summed over.
int KeptDimension(const Dimensions& from, const Dimensions& to, int dimension, bool keeps_last);

}  // namespace stowplan::scenarios
