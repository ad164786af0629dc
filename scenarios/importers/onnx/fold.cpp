// Constant folding: plain evaluation of the ops that exporters put between a shape and its user.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "scenarios/importers/onnx/folder.h"

namespace stowplan::scenarios::onnx_import {

std::int64_t CheckedElements(const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t dim : shape) {
    if (dim < 0 || dim > kMostElements) throw Unknown();
    elements *= dim;
    if (elements > kMostElements) throw Unknown();
  }
  return elements;
}

std::size_t Axis(std::int64_t axis, std::size_t rank) {
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) throw Unknown();
  return static_cast<std::size_t>(axis);
}

std::size_t Position(const Shape& index, const Shape& shape) {
  std::int64_t position = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) position = position * shape[axis] + index[axis];
  return static_cast<std::size_t>(position);
}

std::size_t BroadcastPosition(const Shape& index, const Shape& shape) {
  std::int64_t position = 0;
  const std::size_t skipped = index.size() - shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    position = position * shape[axis] + (shape[axis] == 1 ? 0 : index[skipped + axis]);
  }
  return static_cast<std::size_t>(position);
}

Shape Broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (const Shape* shape : {&a, &b}) {
    const std::size_t skipped = result.size() - shape->size();
    for (std::size_t axis = 0; axis < shape->size(); ++axis) {
      std::int64_t& dim = result[skipped + axis];
      if ((*shape)[axis] == 1) continue;
      if (dim != 1 && dim != (*shape)[axis]) throw Unknown();
      dim = (*shape)[axis];
    }
  }
  return result;
}

Value Take(const Value& from, Shape shape, const std::vector<std::size_t>& positions) {
  Value value{std::move(shape), {}};
  std::visit(
      [&](const auto& data) {
        std::decay_t<decltype(data)> taken;
        taken.reserve(positions.size());
        for (const std::size_t position : positions) taken.push_back(data.at(position));
        value.data = std::move(taken);
      },
      from.data);
  return value;
}

Value OfInts(Shape shape, Ints ints) {
  return {std::move(shape), std::move(ints)};
}

Value Vector(Ints ints) {
  Shape shape = {static_cast<std::int64_t>(ints.size())};
  return OfInts(std::move(shape), std::move(ints));
}

void Folder::Constant() {
  if (const auto* tensor = FindAttribute(node_, "value"); tensor != nullptr && tensor->has_t()) {
    const ValuePtr value = ValueOf(tensor->t());
    if (value == nullptr) throw Unknown();
    return Out(*value, tensor->t().data_type());
  }
  for (const auto& attribute : node_.attribute()) {
    if (attribute.name() == "value_int") return Out(OfInts({}, {attribute.i()}), TensorProto::INT64);
    if (attribute.name() == "value_ints")
      return Out(Vector(IntsAttribute(node_, "value_ints")), TensorProto::INT64);
    if (attribute.name() == "value_float") return Out({{}, Reals{attribute.f()}}, TensorProto::FLOAT);
    if (attribute.name() == "value_floats") {
      Reals reals(attribute.floats().begin(), attribute.floats().end());
      Shape shape = {static_cast<std::int64_t>(reals.size())};
      return Out({std::move(shape), std::move(reals)}, TensorProto::FLOAT);
    }
  }
  throw Unknown();
}

void Folder::ShapeOf() {
  const Shape& shape = Info(0).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto bound = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = bound(IntAttribute(node_, "start", 0));
  const std::int64_t end = std::max(start, bound(IntAttribute(node_, "end", rank)));
  Out(Vector(Ints(shape.begin() + start, shape.begin() + end)), TensorProto::INT64);
}

void Folder::ConstantOfShape() {
  const Ints& dims = IntsIn(0);
  Value fill{{1}, Reals{0}};
  int elem_type = TensorProto::FLOAT;
  if (const auto* attribute = FindAttribute(node_, "value"); attribute != nullptr) {
    const ValuePtr given = ValueOf(attribute->t());
    if (given == nullptr || CheckedElements(given->shape) != 1) throw Unknown();
    fill = *given;
    elem_type = attribute->t().data_type();
  }
  Out(Take(fill, dims, std::vector<std::size_t>(static_cast<std::size_t>(CheckedElements(dims)), 0)),
      elem_type);
}

void Folder::View(Shape shape) {
  if (CheckedElements(shape) != CheckedElements(In(0).shape)) throw Unknown();
  OutLike({std::move(shape), In(0).data});
}

void Folder::Reshape() {
  Shape shape = opset_ >= 5 ? IntsIn(1) : IntsAttribute(node_, "shape");
  const Shape& from = In(0).shape;
  const bool keep_zero = IntAttribute(node_, "allowzero", 0) != 0;
  std::int64_t rest = -1;
  std::int64_t known = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0 && !keep_zero) {
      if (axis >= from.size()) throw Unknown();
      shape[axis] = from[axis];
    }
    if (shape[axis] == -1) {
      if (rest >= 0) throw Unknown();
      rest = static_cast<std::int64_t>(axis);
      continue;
    }
    if (shape[axis] < 0 || shape[axis] > kMostElements) throw Unknown();
    known = std::min(known * shape[axis], kMostElements + 1);
  }
  if (rest >= 0) {
    if (known == 0) throw Unknown();
    shape[static_cast<std::size_t>(rest)] = CheckedElements(from) / known;
  }
  View(std::move(shape));
}

void Folder::Flatten() {
  const Shape& from = In(0).shape;
  const std::int64_t axis = IntAttribute(node_, "axis", 1);
  const auto rank = static_cast<std::int64_t>(from.size());
  const std::int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at > rank) throw Unknown();
  const Shape before(from.begin(), from.begin() + at);
  const Shape behind(from.begin() + at, from.end());
  View({CheckedElements(before), CheckedElements(behind)});
}

void Folder::Squeeze() {
  const Shape& from = In(0).shape;
  std::vector<bool> dropped(from.size(), false);
  const Ints axes = AxesOr("axes", 1);
  for (const std::int64_t axis : axes) dropped[Axis(axis, from.size())] = true;
  Shape shape;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (axes.empty() ? from[axis] != 1 : !dropped[axis]) shape.push_back(from[axis]);
  }
  View(std::move(shape));
}

void Folder::Unsqueeze() {
  const Shape& from = In(0).shape;
  const Ints axes = AxesOr("axes", 1);
  std::vector<bool> added(from.size() + axes.size(), false);
  for (const std::int64_t axis : axes) added[Axis(axis, added.size())] = true;
  Shape shape;
  auto next = from.begin();
  for (const bool is_new : added) {
    if (!is_new && next == from.end()) throw Unknown();
    shape.push_back(is_new ? 1 : *next++);
  }
  View(std::move(shape));
}

std::vector<Folded> Folder::Run() {
  static const std::unordered_map<std::string, Fold> folds = [] {
    std::unordered_map<std::string, Fold> table = {
        {"Constant", &Folder::Constant},
        {"Shape", &Folder::ShapeOf},
        {"Size", &Folder::Size},
        {"Range", &Folder::Range},
        {"Cast", &Folder::Cast},
        {"Gather", &Folder::Gather},
        {"Concat", &Folder::Concat},
        {"Slice", &Folder::Slice},
        {"Split", &Folder::Split},
        {"Transpose", &Folder::Transpose},
        {"Expand", &Folder::Expand},
        {"Tile", &Folder::Tile},
        {"Where", &Folder::Where},
        {"Reshape", &Folder::Reshape},
        {"Flatten", &Folder::Flatten},
        {"Squeeze", &Folder::Squeeze},
        {"Unsqueeze", &Folder::Unsqueeze},
        {"NonZero", &Folder::NonZero},
        {"ConstantOfShape", &Folder::ConstantOfShape},
    };
    for (const char* op : {"Neg", "Abs", "Not", "Floor", "Ceil", "Sqrt", "Round"}) table[op] = &Folder::Unary;
    for (const char* op : {"Add", "Sub", "Mul", "Div", "Mod", "Pow", "Max", "Min", "Equal", "Less",
                           "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor"}) {
      table[op] = &Folder::Binary;
    }
    for (const char* op : {"ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"}) table[op] = &Folder::Reduce;
    return table;
  }();
  const auto found = folds.find(node_.op_type());
  if (found == folds.end()) throw Unknown();
  (this->*found->second)();
  if (outputs_.size() != static_cast<std::size_t>(node_.output_size())) throw Unknown();
  return std::move(outputs_);
}

std::optional<std::vector<Folded>> Fold(const onnx::NodeProto& node, int opset,
                                        const std::vector<const TensorInfo*>& inputs) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return std::nullopt;
  try {
    return Folder(node, opset, inputs).Run();
  } catch (const Unknown&) {
    return std::nullopt;
  }
}

}  // namespace stowplan::scenarios::onnx_import
