#include "scenarios/importers/onnx/newer_sets.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "sim/base/units.h"

namespace stowplan::scenarios::onnx_import {
namespace {

void Drop(Translated& to, std::initializer_list<const char*> names) {
  auto& attributes = *to.node.mutable_attribute();
  for (int i = attributes.size(); i-- > 0;) {
    const bool dropped =
        std::ranges::any_of(names, [&](const char* name) { return attributes[i].name() == name; });
    if (dropped) attributes.DeleteSubrange(i, 1);
  }
}

void KeepInputs(Translated& to, std::size_t count) {
  if (to.inputs.size() <= count) return;
  to.inputs.resize(count);
  to.node.mutable_input()->DeleteSubrange(static_cast<int>(count),
                                          to.node.input_size() - static_cast<int>(count));
}

void SetInput(Translated& to, std::size_t i, TensorInfo info) {
  while (to.inputs.size() <= i) {
    to.inputs.push_back(nullptr);
    to.node.add_input("");
  }
  info.name = "made";
  to.node.set_input(static_cast<int>(i), info.name);
  to.inputs[i] = &to.made.emplace_back(std::move(info));
}

void SetInts(Translated& to, std::size_t i, std::vector<std::int64_t> numbers) {
  const Shape shape = {static_cast<std::int64_t>(numbers.size())};
  SetInput(to, i,
           {.kind = TensorInfo::Kind::kConstant,
            .elem_type = onnx::TensorProto::INT64,
            .shape = shape,
            .value = std::make_shared<const Value>(Value{shape, std::move(numbers)})});
}

void SetAttribute(Translated& to, const char* name, std::int64_t number) {
  auto* attribute = to.node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(number);
}

// Axes that are named once each, counted from the front.
std::vector<std::size_t> CheckedAxes(const std::vector<std::int64_t>& axes, std::int64_t rank) {
  std::vector<std::size_t> checked;
  for (const std::int64_t axis : axes) {
    checked.push_back(CheckedAxis(axis, rank, "an entry of its axes"));
    if (std::ranges::count(checked, checked.back()) > 1)
      Refuse("its axes " + ShapeText(axes) + " name axis " + std::to_string(checked.back()) + " twice");
  }
  return checked;
}

InferredOutput UnknownOf(const TensorInfo& like, std::size_t rank) {
  return {
      .is_tensor = true, .elem_type = like.elem_type, .dims = std::vector<std::optional<std::int64_t>>(rank)};
}

// Since 18 axes are input 1 (those of ReduceSum since 13, which set 17 knows).
void TranslateReduce(Translated& to, const NodeFacts& facts) {
  if (facts.type() == "ReduceSum" || !facts.Has(0)) return;
  const bool none_is_all = facts.Int("noop_with_empty_axes", 0) == 0;
  Drop(to, {"noop_with_empty_axes"});
  const auto* axes = facts.ints(1);
  if (facts.Has(1) && axes == nullptr) {
    const bool keeps = facts.Int("keepdims", 1) != 0;
    to.unknown = keeps ? UnknownOf(*to.inputs[0], facts.shape(0).size())
                       : InferredOutput{.elem_type = to.inputs[0]->elem_type, .dims = {}};
    return;
  }
  KeepInputs(to, 1);
  if (axes == nullptr || axes->empty()) {
    if (!none_is_all) {
      const Shape& shape = facts.shape(0);
      to.unknown = UnknownOf(*to.inputs[0], shape.size());
      to.unknown->dims->assign(shape.begin(), shape.end());
    }
    return;
  }
  CheckedAxes(*axes, facts.rank(0));
  auto* attribute = to.node.add_attribute();
  attribute->set_name("axes");
  attribute->set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t axis : *axes) attribute->add_ints(axis);
}

// num_outputs: equal parts, the last of which may be smaller.
void TranslateSplit(Translated& to, const NodeFacts& facts) {
  if (!facts.HasAttribute("num_outputs") || !facts.Has(0)) return Drop(to, {"num_outputs"});
  if (facts.Has(1)) Refuse("it has a split and num_outputs, but must have one of the two");
  const std::int64_t parts = facts.Int("num_outputs", 0);
  if (parts != to.node.output_size()) {
    Refuse("its num_outputs is " + std::to_string(parts) + ", but it has " +
           std::to_string(to.node.output_size()) + " outputs");
  }
  const std::size_t axis = CheckedAxis(facts.Int("axis", 0), facts.rank(0), "its axis");
  const std::int64_t places = facts.shape(0)[axis];
  const std::int64_t part = places / parts + (places % parts == 0 ? 0 : 1);
  const std::int64_t last = places - part * (parts - 1);
  if (last < 0) {
    Refuse("its " + std::to_string(places) + " places along axis " + std::to_string(axis) + " make no " +
           std::to_string(parts) + " parts of " + std::to_string(part));
  }
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(parts), part);
  sizes.back() = last;
  Drop(to, {"num_outputs"});
  SetInts(to, 1, std::move(sizes));
}

// Pads of the axes in input 3 only.
void TranslatePad(Translated& to, const NodeFacts& facts) {
  if (!facts.HasAll(2) || !facts.Has(3)) return KeepInputs(to, 3);
  const auto* axes = facts.ints(3);
  const auto* pads = facts.ints(1);
  KeepInputs(to, 3);
  if (axes == nullptr || pads == nullptr) {
    to.unknown = UnknownOf(*to.inputs[0], facts.shape(0).size());
    return;
  }
  const auto checked = CheckedAxes(*axes, facts.rank(0));
  if (pads->size() != 2 * checked.size()) {
    Refuse("its pads are " + std::to_string(pads->size()) + " numbers, but must be " +
           std::to_string(2 * checked.size()) + ", two for each of its axes");
  }
  const std::size_t rank = facts.shape(0).size();
  std::vector<std::int64_t> all(2 * rank, 0);
  for (std::size_t i = 0; i < checked.size(); ++i) {
    all[checked[i]] = (*pads)[i];
    all[rank + checked[i]] = (*pads)[checked.size() + i];
  }
  SetInts(to, 1, std::move(all));
}

// One scale for all of the axes: the least or the largest that their sizes ask for.
std::vector<std::int64_t> KeepAspect(const Shape& shape, const std::vector<std::size_t>& axes,
                                     std::vector<std::int64_t> sizes, bool least) {
  float scale = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (shape[axes[i]] < 1) Refuse("it keeps the aspect of an image without places");
    const float wanted = static_cast<float>(sizes[i]) / static_cast<float>(shape[axes[i]]);
    scale = i == 0 ? wanted : least ? std::min(scale, wanted) : std::max(scale, wanted);
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const float size = scale * static_cast<float>(shape[axes[i]]);
    if (!(size >= 0 && size <= static_cast<float>(sim::kMaxBytes)))
      Refuse("an entry of its sizes must be 1 to 2^50, and what it gives no more");
    sizes[i] = static_cast<std::int64_t>(std::round(size));
  }
  return sizes;
}

void TranslateResize(Translated& to, const NodeFacts& facts) {
  const std::string policy = TextAttribute(facts.node(), "keep_aspect_ratio_policy", "stretch");
  const auto named = facts.Ints("axes");
  Drop(to, {"axes", "antialias", "keep_aspect_ratio_policy"});
  if (!facts.Has(0) || (named.empty() && policy == "stretch")) return;
  const Shape& shape = facts.shape(0);
  std::vector<std::int64_t> all = named;
  for (std::size_t axis = 0; named.empty() && axis < shape.size(); ++axis)
    all.push_back(static_cast<std::int64_t>(axis));
  const auto axes = CheckedAxes(all, facts.rank(0));
  const auto check = [&](const char* what, std::size_t count) {
    if (count != axes.size()) {
      Refuse(std::string("its ") + what + " are " + std::to_string(count) + " numbers, but must be " +
             std::to_string(axes.size()) + ", one for each of its axes");
    }
  };
  const bool by_size = facts.Has(3) && facts.shape(3) != Shape{0};
  if (by_size ? facts.ints(3) == nullptr : facts.reals(2) == nullptr) {
    to.unknown = UnknownOf(*to.inputs[0], shape.size());
    return;
  }
  if (!by_size) {
    const auto& given = *facts.reals(2);
    check("scales", given.size());
    std::vector<double> scales(shape.size(), 1);
    for (std::size_t i = 0; i < axes.size(); ++i) scales[axes[i]] = given[i];
    const Shape vector = {facts.rank(0)};
    return SetInput(to, 2,
                    {.kind = TensorInfo::Kind::kConstant,
                     .elem_type = onnx::TensorProto::FLOAT,
                     .shape = vector,
                     .value = std::make_shared<const Value>(Value{vector, std::move(scales)})});
  }
  std::vector<std::int64_t> given = *facts.ints(3);
  check("sizes", given.size());
  if (policy != "stretch") given = KeepAspect(shape, axes, given, policy == "not_larger");
  std::vector<std::int64_t> sizes = shape;
  for (std::size_t i = 0; i < axes.size(); ++i) sizes[axes[i]] = given[i];
  SetInts(to, 3, std::move(sizes));
}

// Pools have dilations since 18 and 19, as MaxPool has had since 10.
void TranslatePool(Translated& to, const NodeFacts&) {
  to.node.set_op_type("MaxPool");
  Drop(to, {"count_include_pad", "p"});
}

// x, filter, offsets, bias, mask: the windows of a convolution.
void TranslateDeformConv(Translated& to, const NodeFacts& facts) {
  to.node.set_op_type("Conv");
  Drop(to, {"offset_group"});
  const TensorInfo* bias = facts.Has(3) ? to.inputs[3] : nullptr;
  KeepInputs(to, 2);
  if (bias == nullptr) return;
  to.inputs.push_back(bias);
  to.node.add_input("bias");
}

// The axis is input 2 since 20.
void TranslateDft(Translated& to, const NodeFacts& facts) {
  if (facts.opset() < 20) return;
  const bool known = !facts.Has(2) || (facts.ints(2) != nullptr && facts.ints(2)->size() == 1);
  if (!known && facts.Has(0)) to.unknown = UnknownOf(*to.inputs[0], facts.shape(0).size());
  const std::int64_t axis = known && facts.Has(2) ? facts.ints(2)->front() : -2;
  KeepInputs(to, 2);
  if (!facts.Has(0)) return;
  SetAttribute(to, "axis", static_cast<std::int64_t>(CheckedAxis(axis, facts.rank(0), "its axis")));
}

struct NewerSet {
  const char* type;
  int since;
  void (*translate)(Translated& to, const NodeFacts& facts);
};
constexpr NewerSet kNewerSets[] = {
    {"Split", 18, TranslateSplit},           {"Pad", 18, TranslatePad},
    {"Resize", 18, TranslateResize},         {"LpPool", 18, TranslatePool},
    {"AveragePool", 19, TranslatePool},      {"DFT", 20, TranslateDft},
    {"DeformConv", 19, TranslateDeformConv},
};

}  // namespace

bool IsTranslated(const onnx::NodeProto& node, int opset) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return false;
  return std::ranges::any_of(
      kNewerSets, [&](const NewerSet& row) { return node.op_type() == row.type && opset >= row.since; });
}

Translated ToLibrarySet(const NodeFacts& facts, const std::vector<const TensorInfo*>& inputs) {
  Translated to{.node = facts.node(), .inputs = inputs, .made = {}, .unknown = {}};
  if (facts.type().starts_with("Reduce")) {
    TranslateReduce(to, facts);
    return to;
  }
  for (const NewerSet& row : kNewerSets) {
    if (facts.type() == row.type && facts.opset() >= row.since) row.translate(to, facts);
  }
  return to;
}

}  // namespace stowplan::scenarios::onnx_import
