// Layers with weights: products, normalisations, recurrent cells, losses, quantisation.
#include <algorithm>
#include <numeric>

#include "scenarios/importers/onnx/node_rules.h"

namespace stowplan::scenarios::onnx_import {
namespace {

// x [N, C, ...] or [N]; inputs 1 to `vectors` hold a number for each channel.
void CheckByChannel(const NodeFacts& facts, std::size_t vectors) {
  if (!facts.Has(0)) return;
  if (facts.rank(0) == 0) Refuse("its input has no axis");
  // A vector is N numbers of one channel.
  const std::int64_t channels = facts.rank(0) == 1 ? 1 : facts.shape(0)[1];
  for (std::size_t i = 1; i <= vectors; ++i) {
    RequireShape(facts, i, {channels}, "its input " + std::to_string(i), "a number for each channel");
  }
}

void CheckBatchNormalization(const NodeFacts& facts) {
  // Operator sets before 9 could normalise every place on its own.
  if (facts.opset() < 9 && facts.Int("spatial", 1) == 0) return;
  CheckByChannel(facts, 4);
}

void CheckInstanceNormalization(const NodeFacts& facts) {
  CheckByChannel(facts, 2);
}

// Scale and shift may have the shape of all of x; most hold the axes that are normalised.
void CheckLayerNormalization(const NodeFacts& facts) {
  if (!facts.Has(0)) return;
  for (std::size_t i = 1; i <= 2; ++i) {
    if (!facts.Has(i) || Fits(facts.shape(i), facts.shape(0))) continue;
    Refuse("its " + std::string(i == 1 ? "scale " : "shift ") + ShapeText(facts.shape(i)) +
           " must be broadcast to its input " + ShapeText(facts.shape(0)));
  }
}

void CheckGemm(const NodeFacts& facts) {
  if (!facts.HasAll(2)) return;
  const Shape& a = facts.shape(0);
  const Shape& b = facts.shape(1);
  if (a.size() != 2 || b.size() != 2) {
    Refuse("its factors " + ShapeText(a) + " and " + ShapeText(b) + " must be matrices, of 2 axes");
  }
  const bool turn_a = facts.Int("transA", 0) != 0;
  const bool turn_b = facts.Int("transB", 0) != 0;
  const std::int64_t columns = a[turn_a ? 0 : 1];
  const std::int64_t rows = b[turn_b ? 1 : 0];
  if (columns != rows) {
    Refuse("its factors " + ShapeText(a) + (turn_a ? " (transposed)" : "") + " and " + ShapeText(b) +
           (turn_b ? " (transposed)" : "") + " do not meet: " + std::to_string(columns) + " columns and " +
           std::to_string(rows) + " rows must be equal");
  }
  if (!facts.Has(2)) return;
  const Shape result = {a[turn_a ? 1 : 0], b[turn_b ? 0 : 1]};
  if (facts.opset() < 7 && facts.Int("broadcast", 0) == 0) {
    return RequireShape(facts, 2, result, "its bias", "as its result, as broadcast is not set");
  }
  const Shape& c = facts.shape(2);
  if (!Fits(c, result)) {
    Refuse("its bias " + ShapeText(c) + " must be broadcast to its result " + ShapeText(result));
  }
}

// x [steps, batch, inputs]; W [directions, gates x units, inputs], R [directions, gates x units, units], B
// [directions, 2 x gates x units], lengths [batch], states [directions, batch, units]; with `layout` 1 batch
// comes first.
void CheckRecurrent(const NodeFacts& facts, std::int64_t gates) {
  if (!facts.HasAll(3)) return;
  const std::string direction = TextAttribute(facts.node(), "direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    Refuse("its direction must be forward, reverse or bidirectional");
  }
  const Shape& x = facts.shape(0);
  const Shape& recurrent = facts.shape(2);
  if (x.size() != 3) Refuse("its input has " + std::to_string(x.size()) + " axes, but must have 3");
  if (recurrent.size() != 3) {
    Refuse("its recurrent weights have " + std::to_string(recurrent.size()) + " axes, but must have 3");
  }
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  const std::int64_t units = facts.Int("hidden_size", std::min(recurrent[2], kLongestAxis));
  const bool batch_first = facts.Int("layout", 0) != 0;
  const std::int64_t batch = x[batch_first ? 0 : 1];
  constexpr std::string_view kWeights = "[directions, gates x hidden_size, what it reads]";
  RequireShape(facts, 1, {directions, gates * units, x[2]}, "its weights", kWeights);
  RequireShape(facts, 2, {directions, gates * units, units}, "its recurrent weights", kWeights);
  RequireShape(facts, 3, {directions, 2 * gates * units}, "its bias",
               "[directions, 2 x gates x hidden_size]");
  RequireShape(facts, 4, {batch}, "its sequence_lens", "a number for each sequence");
  const Shape state = batch_first ? Shape{batch, directions, units} : Shape{directions, batch, units};
  RequireShape(facts, 5, state, "its initial_h", "a number for each unit of each sequence and direction");
  if (facts.type() != "LSTM") return;
  RequireShape(facts, 6, state, "its initial_c", "a number for each unit of each sequence and direction");
  RequireShape(facts, 7, {directions, 3 * units}, "its peepholes", "[directions, 3 x hidden_size]");
}

void CheckRnn(const NodeFacts& facts) {
  CheckRecurrent(facts, 1);
}
void CheckGru(const NodeFacts& facts) {
  CheckRecurrent(facts, 3);
}
void CheckLstm(const NodeFacts& facts) {
  CheckRecurrent(facts, 4);
}

// Scores [N, C, D1, ...], labels [N, D1, ...], weights [C].
void CheckCrossEntropy(const NodeFacts& facts) {
  if (!facts.HasAll(2)) return;
  Shape labels = facts.shape(0);
  if (labels.size() < 2) Refuse("its scores " + ShapeText(labels) + " must have an axis of classes, axis 1");
  const std::int64_t classes = labels[1];
  labels.erase(labels.begin() + 1);
  RequireShape(facts, 1, labels, "what it takes for labels", "that of the scores without the classes");
  RequireShape(facts, 2, {classes}, "what it takes for weights", "a number for each class");
}

// One scale for all, or one for each place along `axis`.
void CheckScales(const NodeFacts& facts) {
  if (!facts.HasAll(2)) return;
  const Shape& scale = facts.shape(1);
  if (scale.size() > 1) Refuse("its scale " + ShapeText(scale) + " must be one number or a vector");
  if (scale.size() == 1 && scale[0] != 1) {
    const std::size_t axis = CheckedAxis(facts.Int("axis", 1), facts.rank(0), "its axis");
    RequireShape(facts, 1, {facts.shape(0)[axis]}, "its scale", "a number for each place along its axis");
  }
  const bool one_of_each = Elements(scale) == 1 && facts.Has(2) && Elements(facts.shape(2)) == 1;
  if (!one_of_each) RequireShape(facts, 2, scale, "its zero point", "as its scale");
}

}  // namespace

const std::vector<NodeRuleRow> kLayerRules = {
    {"BatchNormalization", CheckBatchNormalization},
    {"InstanceNormalization", CheckInstanceNormalization},
    {"LayerNormalization", CheckLayerNormalization},
    {"Gemm", CheckGemm},
    {"RNN", CheckRnn},
    {"GRU", CheckGru},
    {"LSTM", CheckLstm},
    {"SoftmaxCrossEntropyLoss", CheckCrossEntropy},
    {"NegativeLogLikelihoodLoss", CheckCrossEntropy},
    {"QuantizeLinear", CheckScales},
    {"DequantizeLinear", CheckScales},
};

}  // namespace stowplan::scenarios::onnx_import
