// Networks of searched cells: NASNet, AmoebaNet and ENAS' children. A cell reads the two cells before it, the
// last one `x` and the one before `previous`; each of its five nodes is a sum of two operations, a branch.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "scenarios/builder/vision.h"

namespace stowplan::scenarios {

// ReLU, 1 x 1, batch-norm.
Tensor Pointwise(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t filters);
// Two of (ReLU, depthwise, 1 x 1, batch-norm); the stride is the first one's.
Tensor Separable(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t kernel,
                 std::int64_t filters, std::int64_t stride = 1);
// Half the size: half of the channels from every second pixel, half from those one further. 9 ops.
Tensor FactorizedReduction(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t filters);
// 1 x 1 and batch-norm if `x` is not that wide, else x: what follows a pool in a cell.
Tensor Widen(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t filters);
// Brings the cell before last to x's size and to `filters`. None (op = -1): x itself, of whatever width.
Tensor Adjust(GraphBuilder& b, Tensor previous, Tensor x, std::int64_t filters);

// What NASNet and AmoebaNet share: a convolution, two reductions for large images, then three groups of normal
// cells with a reduction between two, which doubles the filters.
struct CellSkeleton {
  std::int64_t stem;     // filters of the first convolution
  bool stem_cells;       // stride 2 and two reductions of filters / 4 and filters / 2
  std::int64_t filters;  // of the first group
  int cells_per_group;
  bool skip_reduction = false;  // the cell after a reduction reads the reduction's previous input, not its x
};
using Cell = std::function<Tensor(Tensor x, Tensor previous, std::int64_t filters)>;
// The last cell's output. Each cell is a stage and a scope.
Tensor StackCells(GraphBuilder& b, Stages& stages, const CellSkeleton& skeleton, Tensor images,
                  const Cell& normal, const Cell& reduction);

// ReLU, mean, dropout, logits, loss: 6 ops.
void ClassifyCells(GraphBuilder& b, Stages& stages, Tensor x, std::int64_t classes, Tensor labels);

}  // namespace stowplan::scenarios
