// cifar10: a family of 32 networks for 32 x 32 images, drawn as ENAS draws children of its micro space (Pham
// et al., Efficient Neural Architecture Search via Parameter Sharing, 2018; rules as read in
// melodyguan/enas).
//
//   index=0 to 31   batch=160   layers=6: normal cells   filters=20   optimizer=momentum
//
// Five nodes a cell. A node adds two operations; each is drawn evenly from separable 3 x 3 and 5 x 5, average
// and maximum 3 x 3 and identity, and reads one of the states before, drawn evenly: 0 the cell before last, 1
// the last cell, 2 to 6 the nodes. States that no node reads are joined by a 1 x 1. One arc of 20 numbers for
// the normal cells and one for the two reductions; in a reduction what reads states 0 and 1 has stride 2. The
// sizes are those with which ENAS searches. Which of its spaces Placeto's set was drawn from is not published.
//
// A stage is a cell, a branch a node. Attributes: `half` (families.h), `normal_cell` and `reduction_cell`:
// the arcs.
#include <array>
#include <utility>
#include <vector>

#include "scenarios/builder/cells.h"
#include "scenarios/builder/workload_options.h"
#include "scenarios/workloads/families.h"
#include "scenarios/workloads/workloads.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

constexpr int kNodes = 5;

enum class Candidate : std::uint8_t { kSeparable3, kSeparable5, kAverage, kMaximum, kIdentity };
constexpr int kOps = 5;

struct ArcOp {
  int state;
  Candidate op;
};
using Arc = std::array<ArcOp, 2 * kNodes>;

Arc DrawArc(Dice& dice) {
  Arc arc;
  for (int i = 0; i < 2 * kNodes; ++i) {
    const auto state = static_cast<int>(dice.Roll(2 + i / 2));
    arc[static_cast<std::size_t>(i)] = {state, static_cast<Candidate>(dice.Roll(kOps))};
  }
  return arc;
}

std::string ToString(const Arc& arc) {
  std::string text;
  for (const ArcOp& step : arc) {
    if (!text.empty()) text += ' ';
    text += std::to_string(step.state) + ' ' + std::to_string(static_cast<int>(step.op));
  }
  return text;
}

Tensor ApplyCandidate(GraphBuilder& b, const std::string& name, Candidate op, Tensor x, std::int64_t filters,
                      std::int64_t stride) {
  switch (op) {
    case Candidate::kSeparable3:
      return Separable(b, name, x, 3, filters, stride);
    case Candidate::kSeparable5:
      return Separable(b, name, x, 5, filters, stride);
    case Candidate::kAverage:
      return AvgPool(b, name, x, {3, 3, stride});
    case Candidate::kMaximum:
      return MaxPool(b, name, x, {3, 3, stride});
    case Candidate::kIdentity:
      return stride == 1 ? x : FactorizedReduction(b, name, x, filters);
  }
  return x;
}

Tensor BuildCell(GraphBuilder& b, const Arc& arc, std::int64_t stride, Tensor x, Tensor previous,
                 std::int64_t filters) {
  if (b.shape(x)[3] != filters) x = Pointwise(b, "begin", x, filters);
  std::vector<Tensor> states = {Adjust(b, previous, x, filters), x};
  std::vector<bool> read(kNodes + 2, false);
  for (int node = 0; node < kNodes; ++node) {
    b.SetBranch(node);
    const auto side = [&](const char* name, const ArcOp& step) {
      read[static_cast<std::size_t>(step.state)] = true;
      return ApplyCandidate(b, name + std::to_string(node), step.op,
                            states[static_cast<std::size_t>(step.state)], filters,
                            step.state < 2 ? stride : 1);
    };
    const Tensor left = side("left", arc[static_cast<std::size_t>(2 * node)]);
    const Tensor right = side("right", arc[static_cast<std::size_t>(2 * node + 1)]);
    states.push_back(Add(b, "add" + std::to_string(node), left, right));
  }
  b.SetBranch(0);
  std::vector<Tensor> loose;
  for (std::size_t state = 0; state < states.size(); ++state) {
    if (read[state]) continue;
    const bool halve = stride == 2 && state < 2;
    loose.push_back(halve ? FactorizedReduction(b, "halve" + std::to_string(state), states[state], filters)
                          : states[state]);
  }
  const Tensor joined = loose.size() == 1 ? loose.front() : Concat(b, "concat", loose, 3);
  return Pointwise(b, "join", joined, filters);
}

}  // namespace

sim::OpGraph BuildCifar10(const Settings& read) {
  const ModelOptions options = ReadModelOptions(read);
  const auto index = static_cast<int>(read.Int("index"));
  const std::int64_t layers = read.Int("layers");
  const std::int64_t filters = read.Int("filters");
  if (layers % 3 != 0) throw InputError(read.name() + ": layers must be a multiple of 3, for three groups");

  Dice dice = DiceOf(read.name(), index);
  const Arc normal = DrawArc(dice);
  const Arc reduction = DrawArc(dice);
  GraphBuilder b(read.name(), options.builder);
  Stages stages(b);
  b.SetLocation({0, 0, "stem"});
  const Batch batch = ImageBatch(b, options.batch, 32);
  const auto cell = [&b](const Arc& arc, std::int64_t stride) {
    return [&b, &arc, stride](Tensor x, Tensor previous, std::int64_t width) {
      return BuildCell(b, arc, stride, x, previous, width);
    };
  };
  const CellSkeleton skeleton = {.stem = 3 * filters,
                                 .stem_cells = false,
                                 .filters = filters,
                                 .cells_per_group = static_cast<int>(layers / 3)};
  const Tensor x = StackCells(b, stages, skeleton, batch.images, cell(normal, 1), cell(reduction, 2));
  ClassifyCells(b, stages, x, 10, batch.labels);

  sim::Attributes attributes = Describe(read, stages.count(), "branch");
  AddAttribute(attributes, "half", std::string(ToString(HalfOf(read.name(), index))));
  AddAttribute(attributes, "normal_cell", ToString(normal));
  AddAttribute(attributes, "reduction_cell", ToString(reduction));
  return b.Finish(std::move(attributes));
}

}  // namespace stowplan::scenarios
