#include "scenarios/importers/onnx/node_rules.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace stowplan::scenarios::onnx_import {
namespace {

// Ops whose `axis` or `axes` count the axes of input 0.
struct AxisRow {
  const char* type;
  std::int64_t fallback;  // of `axis`, where the attribute is left out
};
constexpr AxisRow kAxisRows[] = {{"ArgMax", 0},          {"ArgMin", 0},
                                 {"Concat", 0},          {"Gather", 0},
                                 {"GatherElements", 0},  {"Hardmax", -1},
                                 {"LogSoftmax", -1},     {"LpNormalization", -1},
                                 {"ScatterElements", 0}, {"Scatter", 0},
                                 {"Softmax", -1},        {"Split", 0},
                                 {"TopK", -1},           {"LayerNormalization", -1}};

void CheckAxis(const NodeFacts& facts) {
  if (!facts.Has(0)) return;
  for (const AxisRow& row : kAxisRows) {
    const bool said = facts.HasAttribute("axis");
    if (facts.type() != row.type || (!said && facts.opset() < 13)) continue;
    CheckedAxis(facts.Int("axis", row.fallback), facts.rank(0), "its axis");
  }
  if (facts.type() != "Squeeze" && facts.type() != "MeanVarianceNormalization" &&
      !facts.type().starts_with("Reduce")) {
    return;
  }
  std::vector<std::int64_t> axes = facts.Ints("axes");
  if (facts.type() != "MeanVarianceNormalization" && facts.Has(1) && facts.ints(1) != nullptr) {
    axes = *facts.ints(1);
  }
  std::vector<bool> named(facts.shape(0).size());
  for (const std::int64_t axis : axes) {
    const std::size_t at = CheckedAxis(axis, facts.rank(0), "an entry of its axes");
    // Runtimes squeeze an axis that is named twice once.
    if (named[at] && facts.type() != "Squeeze") {
      Refuse("its axes " + ShapeText(axes) + " name axis " + std::to_string(at) +
             " twice, but may do so once");
    }
    named[at] = true;
  }
}

constexpr const char* kBinary[] = {"Add", "And",   "Div", "Equal", "Greater", "Less",
                                   "Mul", "PRelu", "Or",  "Pow",   "Sub",     "Xor"};
constexpr const char* kVariadic[] = {"Max", "Mean", "Min", "Sum"};

bool IsAmong(const std::string& type, const auto& types) {
  return std::ranges::any_of(types, [&](const char* known) { return type == known; });
}

// Before operator set 7 (8 for those of any number of inputs) a second operand had the shape of the first, or
// was laid over it at `axis` with `broadcast`. The library takes the shape of the first.
void CheckOldBroadcast(const NodeFacts& facts) {
  if (IsAmong(facts.type(), kVariadic) && facts.opset() < 8) {
    for (std::size_t i = 1; i < facts.inputs(); ++i) {
      if (facts.Has(0) && facts.Has(i))
        RequireShape(facts, i, facts.shape(0), "an operand", "the shape of the first");
    }
  }
  if (!IsAmong(facts.type(), kBinary) || !facts.HasAll(2)) return;
  if (facts.type() == "PRelu") {
    const Shape& x = facts.shape(0);
    const Shape& slope = facts.shape(1);
    // One for each channel too, in files of operator sets before 7.
    const bool by_channel = facts.opset() < 7 && x.size() > 1 && slope == Shape{x[1]};
    if (!by_channel && !Fits(slope, x)) {
      Refuse("its slope " + ShapeText(slope) + " cannot be broadcast to its input " + ShapeText(x));
    }
    return;
  }
  if (facts.opset() >= 7) return;
  const Shape& a = facts.shape(0);
  const Shape& b = facts.shape(1);
  if (facts.Int("broadcast", 0) == 0) {
    return RequireShape(facts, 1, a, "its second operand", "the shape of the first, as broadcast is not set");
  }
  const auto most = static_cast<std::int64_t>(a.size()) - static_cast<std::int64_t>(b.size());
  const std::int64_t said = facts.Int("axis", -1);
  const std::int64_t axis = said < 0 ? most : said;  // left out, or -1: the last axes
  // One number, or a run of the axes of the first: other axes of 1 were not stretched yet.
  const bool is_number = most >= 0 && Elements(b) == 1;
  if (!is_number && (axis < 0 || axis > most || !std::equal(b.begin(), b.end(), a.begin() + axis))) {
    Refuse("its second operand " + ShapeText(b) + " cannot be laid over " + ShapeText(a) + " at axis " +
           std::to_string(axis));
  }
}

}  // namespace

bool NodeFacts::HasAll(std::size_t count) const {
  for (std::size_t i = 0; i < count; ++i) {
    if (!Has(i)) return false;
  }
  return true;
}

const std::vector<std::int64_t>* NodeFacts::ints(std::size_t i) const {
  return Has(i) && inputs_[i]->value != nullptr ? inputs_[i]->value->ints() : nullptr;
}

const std::vector<double>* NodeFacts::reals(std::size_t i) const {
  return Has(i) && inputs_[i]->value != nullptr ? inputs_[i]->value->reals() : nullptr;
}

std::string ShapeText(const Shape& shape) {
  std::string text;
  for (const std::int64_t dim : shape) text += (text.empty() ? "" : ",") + std::to_string(dim);
  return "[" + text + "]";
}

void Refuse(const std::string& what) {
  throw std::invalid_argument(what);
}

std::size_t CheckedAxis(std::int64_t axis, std::int64_t rank, const std::string& what) {
  if (axis < -rank || axis >= rank) {
    Refuse(what + " is " + std::to_string(axis) + ", but its input has " + std::to_string(rank) + " axes: " +
           (rank == 0 ? "there is none to name" : std::to_string(-rank) + " to " + std::to_string(rank - 1)));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

bool Fits(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  const std::size_t skipped = to.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] != 1 && from[axis] != to[skipped + axis]) return false;
  }
  return true;
}

void RequireShape(const NodeFacts& facts, std::size_t i, const Shape& wanted, std::string_view what,
                  std::string_view why) {
  if (!facts.Has(i) || facts.shape(i) == wanted) return;
  Refuse(std::string(what) + " has the shape " + ShapeText(facts.shape(i)) + ", but must have " +
         ShapeText(wanted) + ", " + std::string(why));
}

void CheckCommonAttributes(const NodeFacts& facts) {
  const auto usable = [](std::int64_t v) { return v >= 1 && v <= kMostStride; };
  for (const char* name : {"strides", "dilations", "kernel_shape"}) {
    if (!std::ranges::all_of(facts.Ints(name), usable)) {
      Refuse(std::string("its ") + name + " must be 1 to 2^20");
    }
  }
  for (const char* name : {"pads", "paddings", "output_padding"}) {
    if (std::ranges::any_of(facts.Ints(name),
                            [](std::int64_t v) { return v < -kMostStride || v > kMostStride; })) {
      Refuse(std::string("its ") + name + " must be -2^20 to 2^20");
    }
  }
  for (const char* name : {"group", "blocksize", "num_groups", "hidden_size", "num_outputs"}) {
    if (facts.HasAttribute(name) && !usable(facts.Int(name, 0))) {
      Refuse(std::string("its ") + name + " must be 1 to 2^20");
    }
  }
  if (std::ranges::any_of(facts.Ints("split"), [](std::int64_t v) { return v < 0; })) {
    Refuse("its split must not be negative");
  }
  // The library cuts them to 32 bits.
  const auto is_cut = [](std::int64_t v) {
    return v < std::numeric_limits<std::int32_t>::min() || v > std::numeric_limits<std::int32_t>::max();
  };
  for (const char* name : {"axis", "batch_dims", "batch_axis", "time_axis"}) {
    if (is_cut(facts.Int(name, 0))) {
      Refuse(std::string("its ") + name + " is " + std::to_string(facts.Int(name, 0)) +
             ", but must be an axis of its input");
    }
  }
}

void CheckNode(const onnx::NodeProto& node, int opset, const std::vector<const TensorInfo*>& inputs) {
  const NodeFacts facts(node, opset, inputs);
  CheckCommonAttributes(facts);
  CheckAxis(facts);
  CheckOldBroadcast(facts);
  for (const auto* rows : {&kWindowRules, &kLayerRules, &kMovementRules}) {
    for (const NodeRuleRow& row : *rows) {
      if (facts.type() == row.type) row.rule(facts);
    }
  }
}

}  // namespace stowplan::scenarios::onnx_import
