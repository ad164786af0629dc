// AmoebaNet-D (Real et al., Regularized Evolution for Image Classifier Architecture Search, 2019; cells as
// read in tensorflow/tpu). Without the auxiliary head.
//
//   batch=32   image=224   cells=18   filters=208   classes=1001   optimizer=rmsprop
//
// The sizes that SGDP placed are not published; 18 cells of 208 filters are assumed
// (docs/protocol_rules.md#sizes). A stage is a cell, a branch one of its five pairs.
#include <array>
#include <vector>

#include "scenarios/builder/cells.h"
#include "scenarios/builder/workload_options.h"
#include "scenarios/workloads/workloads.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

enum class Op : std::uint8_t { kNone, kConv1, kConv3, kConv7, kMax2, kMax3, kAvg3 };

struct CellOp {
  Op op;
  int state;  // 0: x, 1: previous, both brought to the cell's width; 2 to 6: the sums so far
};
struct Branch {
  CellOp left;
  CellOp right;
};
struct CellRule {
  std::array<Branch, 5> branches;
  std::vector<int> joined;  // states in the cell's output
};

const CellRule& NormalRule() {
  static const CellRule rule = {{{{{Op::kConv1, 1}, {Op::kMax3, 1}},
                                  {{Op::kNone, 1}, {Op::kConv7, 0}},
                                  {{Op::kConv1, 0}, {Op::kConv7, 0}},
                                  {{Op::kMax3, 2}, {Op::kNone, 2}},
                                  {{Op::kAvg3, 1}, {Op::kConv1, 5}}}},
                                {0, 3, 4, 6}};
  return rule;
}

// States 0 and 1 are halved by what reads them.
const CellRule& ReductionRule() {
  static const CellRule rule = {{{{{Op::kMax2, 0}, {Op::kMax3, 0}},
                                  {{Op::kNone, 2}, {Op::kConv3, 1}},
                                  {{Op::kConv7, 2}, {Op::kMax3, 2}},
                                  {{Op::kNone, 3}, {Op::kMax2, 1}},
                                  {{Op::kAvg3, 2}, {Op::kConv1, 3}}}},
                                {4, 5, 6}};
  return rule;
}

// ReLU, then 1 x 1 to a quarter of the width, the kernels, 1 x 1 back; the stride is the first kernel's.
Tensor Bottleneck(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t filters,
                  const std::vector<Window>& kernels) {
  const GraphBuilder::Scope scope(b, name);
  x = Relu(b, "relu", x);
  x = ConvUnit(b, "reduce", x, {.channels = filters / 4, .window = {}});
  for (std::size_t i = 0; i < kernels.size(); ++i)
    x = ConvUnit(b, "kernel" + std::to_string(i), x, {.channels = filters / 4, .window = kernels[i]});
  return ConvUnit(b, "expand", x, {.channels = filters, .window = {}, .relu = false});
}

Tensor Apply(GraphBuilder& b, const std::string& name, Op op, Tensor x, std::int64_t filters,
             std::int64_t stride) {
  const auto pool = [&](auto make, std::int64_t kernel) {
    return Widen(b, name + "_widen", make(b, name, x, Window{kernel, kernel, stride}), filters);
  };
  switch (op) {
    case Op::kNone:
      STOWPLAN_CHECK_EQ(stride, 1);
      return x;
    case Op::kConv1:
      return Pointwise(b, name, x, filters);
    case Op::kConv3:
      return Bottleneck(b, name, x, filters, {{3, 3, stride}});
    case Op::kConv7:
      return Bottleneck(b, name, x, filters, {{1, 7, stride}, {7, 1}});
    case Op::kMax2:
      return pool(MaxPool, 2);
    case Op::kMax3:
      return pool(MaxPool, 3);
    case Op::kAvg3:
      return pool(AvgPool, 3);
  }
  return x;
}

Tensor BuildCell(GraphBuilder& b, const CellRule& rule, std::int64_t stride, Tensor x, Tensor previous,
                 std::int64_t filters) {
  const Tensor p = Adjust(b, previous, x, filters);
  std::vector<Tensor> states = {Pointwise(b, "begin", x, filters), p};
  for (int branch = 0; branch < 5; ++branch) {
    b.SetBranch(branch);
    const auto side = [&](const char* name, const CellOp& step) {
      return Apply(b, name + std::to_string(branch), step.op, states[static_cast<std::size_t>(step.state)],
                   filters, step.state < 2 ? stride : 1);
    };
    const Branch& pair = rule.branches[static_cast<std::size_t>(branch)];
    const Tensor left = side("left", pair.left);
    const Tensor right = side("right", pair.right);
    states.push_back(Add(b, "add" + std::to_string(branch), left, right));
  }
  b.SetBranch(0);
  std::vector<Tensor> joined;
  for (const int state : rule.joined) joined.push_back(states[static_cast<std::size_t>(state)]);
  return Concat(b, "concat", joined, 3);
}

}  // namespace

sim::OpGraph BuildAmoebaNetD(const Settings& read) {
  const ModelOptions options = ReadModelOptions(read);
  const std::int64_t image = read.Int("image");
  const std::int64_t cells = read.Int("cells");
  const std::int64_t filters = read.Int("filters");
  const std::int64_t classes = read.Int("classes");
  if (cells % 3 != 0 || filters % 16 != 0) {
    throw InputError(read.name() + ": cells must be a multiple of 3, for three groups, and filters one of " +
                     "16, for a quarter of a quarter");
  }

  GraphBuilder b(read.name(), options.builder);
  Stages stages(b);
  b.SetLocation({0, 0, "stem"});
  const Batch batch = ImageBatch(b, options.batch, image);
  const auto cell = [&b](const CellRule& rule, std::int64_t stride) {
    return [&b, &rule, stride](Tensor x, Tensor previous, std::int64_t width) {
      return BuildCell(b, rule, stride, x, previous, width);
    };
  };
  const CellSkeleton skeleton = {
      .stem = 32, .stem_cells = true, .filters = filters, .cells_per_group = static_cast<int>(cells / 3)};
  const Tensor x =
      StackCells(b, stages, skeleton, batch.images, cell(NormalRule(), 1), cell(ReductionRule(), 2));
  ClassifyCells(b, stages, x, classes, batch.labels);
  return b.Finish(Describe(read, stages.count(), "branch"));
}

}  // namespace stowplan::scenarios
