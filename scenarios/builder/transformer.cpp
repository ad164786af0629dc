#include "scenarios/builder/transformer.h"

#include <fmt/format.h>

#include "sim/base/error.h"

namespace stowplan::scenarios {

void CheckMultiple(const std::string& workload, const std::string& what, std::int64_t value,
                   const std::string& of_what, std::int64_t divisor) {
  if (value % divisor == 0) return;
  throw InputError(fmt::format("{}: {}={} is no multiple of {}={}; choose one that is", workload, what, value,
                               of_what, divisor));
}

Tensor Gelu(GraphBuilder& b, const std::string& name, Tensor x, bool one_op) {
  if (one_op) return b.Append({.type = "Gelu", .name = name, .inputs = {x}, .outputs = {{b.shape(x)}}});
  const GraphBuilder::Scope scope(b, name);
  const Tensor erf = Erf(b, "erf", Scale(b, "scale", x));
  return Mul(b, "mul", x, Scale(b, "halve", Shift(b, "shift", erf)));
}

Tensor SplitHeads(GraphBuilder& b, const std::string& name, Tensor x, std::int64_t batch,
                  std::int64_t heads) {
  const Shape& rows = b.shape(x);
  const Shape split = {batch, rows[0] / batch, heads, rows[1] / heads};
  return Transpose(b, name + "/transpose", Reshape(b, name + "/heads", x, split), {0, 2, 1, 3});
}

Tensor MergeHeads(GraphBuilder& b, const std::string& name, Tensor x) {
  const Shape heads = b.shape(x);
  const Tensor turned = Transpose(b, name + "/transpose", x, {0, 2, 1, 3});
  return Reshape(b, name + "/merge", turned, {heads[0] * heads[2], heads[1] * heads[3]});
}

Tensor Probabilities(GraphBuilder& b, Tensor scores, Tensor mask, bool dropout) {
  scores = Scale(b, "scale", scores);
  if (mask.op >= 0) scores = AddMask(b, "mask", scores, mask);
  const Tensor probabilities = Softmax(b, "softmax", scores);
  return dropout ? Dropout(b, "dropout", probabilities) : probabilities;
}

}  // namespace stowplan::scenarios
