// NASNet-A (Zoph et al., Learning Transferable Architectures, 2018; cells as read in
// tensorflow/models). Without drop-path and without the auxiliary head.
//
//   size=mobile (224 x 224, 12 cells of 44 filters), large (331 x 331, 18 cells of 168) or cifar (32 x 32, 18
//     cells of 32)
//   batch=64   classes=1000 (cifar: 10)   optimizer=rmsprop
//
// Checked: 5,289,978 weights and 0.56 G multiply-adds (mobile), 88,753,150 and 23.78 G (large), 3,346,538 and
// 0.54 G (cifar). Placeto's size is not published; mobile is assumed:
// batch=64,gradients=colocated. A stage is a cell, a branch one of its five pairs.
#include <algorithm>
#include <array>

#include "scenarios/builder/cells.h"
#include "scenarios/builder/workload_options.h"
#include "scenarios/workloads/workloads.h"

namespace stowplan::scenarios {
namespace {

struct Size {
  std::int64_t image;
  CellSkeleton cells;
};
// In the order of the setting: mobile, large, cifar.
constexpr std::array kSizes = {Size{224, {32, true, 44, 4}}, Size{331, {96, true, 168, 6, true}},
                               Size{32, {96, false, 32, 6}}};

Tensor Sum(GraphBuilder& b, int branch, Tensor x, Tensor y) {
  return Add(b, "add" + std::to_string(branch), x, y);
}

// Only the first cell of cifar gets a `previous` of another width: the stem itself. What does not bring it
// to `filters` by a convolution of its own is widened.
Tensor Normal(GraphBuilder& b, Tensor x, Tensor previous, std::int64_t filters) {
  const Tensor p = Adjust(b, previous, x, filters);
  const Tensor h = Pointwise(b, "begin", x, filters);
  const Window around{3, 3};
  const auto average = [&](const std::string& name, Tensor from) {
    return Widen(b, name + "_widen", AvgPool(b, name, from, around), filters);
  };
  const Tensor a0 = Separable(b, "sep5x5_0", h, 5, filters);
  const Tensor s0 = Sum(b, 0, a0, Separable(b, "sep3x3_0", p, 3, filters));
  b.SetBranch(1);
  const Tensor a1 = Separable(b, "sep5x5_1", p, 5, filters);
  const Tensor s1 = Sum(b, 1, a1, Separable(b, "sep3x3_1", p, 3, filters));
  b.SetBranch(2);
  const Tensor a2 = average("avg_2", h);
  const Tensor s2 = Sum(b, 2, a2, b.shape(p)[3] == filters ? p : Pointwise(b, "identity_2", p, filters));
  b.SetBranch(3);
  const Tensor a3 = average("avg_3a", p);
  const Tensor s3 = Sum(b, 3, a3, average("avg_3b", p));
  b.SetBranch(4);
  const Tensor s4 = Sum(b, 4, Separable(b, "sep3x3_4", h, 3, filters), h);
  b.SetBranch(0);
  return Concat(b, "concat", {Widen(b, "widen", p, filters), s0, s1, s2, s3, s4}, 3);
}

Tensor Reduction(GraphBuilder& b, Tensor x, Tensor previous, std::int64_t filters) {
  const Tensor p = Adjust(b, previous, x, filters);
  const Tensor h = Pointwise(b, "begin", x, filters);
  const Window halving{3, 3, 2};
  const Tensor a0 = Separable(b, "sep5x5_0", h, 5, filters, 2);
  const Tensor s0 = Sum(b, 0, a0, Separable(b, "sep7x7_0", p, 7, filters, 2));
  b.SetBranch(1);
  const Tensor a1 = MaxPool(b, "max_1", h, halving);
  const Tensor s1 = Sum(b, 1, a1, Separable(b, "sep7x7_1", p, 7, filters, 2));
  b.SetBranch(2);
  const Tensor a2 = AvgPool(b, "avg_2", h, halving);
  const Tensor s2 = Sum(b, 2, a2, Separable(b, "sep5x5_2", p, 5, filters, 2));
  b.SetBranch(3);
  const Tensor s3 = Sum(b, 3, s1, AvgPool(b, "avg_3", s0, {3, 3}));
  b.SetBranch(4);
  const Tensor a4 = Separable(b, "sep3x3_4", s0, 3, filters);
  const Tensor s4 = Sum(b, 4, a4, MaxPool(b, "max_4", h, halving));
  b.SetBranch(0);
  return Concat(b, "concat", {s1, s2, s3, s4}, 3);
}

}  // namespace

sim::OpGraph BuildNasNetA(const Settings& read) {
  const ModelOptions options = ReadModelOptions(read);
  const Size& size = kSizes[read.Choice<std::size_t>("size")];
  const std::int64_t classes = read.Int("classes");

  GraphBuilder b(read.name(), options.builder);
  Stages stages(b);
  b.SetLocation({0, 0, "stem"});
  const Batch batch = ImageBatch(b, options.batch, size.image);
  const auto cell = [&b](auto make) {
    return
        [&b, make](Tensor x, Tensor previous, std::int64_t filters) { return make(b, x, previous, filters); };
  };
  const Tensor x = StackCells(b, stages, size.cells, batch.images, cell(Normal), cell(Reduction));
  ClassifyCells(b, stages, x, classes, batch.labels);
  return b.Finish(Describe(read, stages.count(), "branch"));
}

}  // namespace stowplan::scenarios
