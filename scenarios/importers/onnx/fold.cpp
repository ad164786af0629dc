// Constant folding: plain evaluation of the ops that exporters put between a shape and its user.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "scenarios/importers/onnx/values.h"

namespace berth::scenarios::onnx_import {
namespace {

using onnx::TensorProto;
using Ints = std::vector<std::int64_t>;
using Reals = std::vector<double>;

// What a fold gives up on: the op is imported like any other.
struct Unknown {};

constexpr std::int64_t kMostElements = 1 << 16;

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

// Calls visit(index) for every index of a shape in row-major order.
template <typename Visit>
void ForEachIndex(const Shape& shape, const Visit& visit) {
  std::int64_t left = CheckedElements(shape);
  Shape index(shape.size(), 0);
  for (; left > 0; --left) {
    visit(index);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

std::size_t Position(const Shape& index, const Shape& shape) {
  std::int64_t position = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) position = position * shape[axis] + index[axis];
  return static_cast<std::size_t>(position);
}

// The element that a broadcast operand has at an index of the result.
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

// Elements of one value in another order: all movement of data.
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

class Folder {
 public:
  Folder(const onnx::NodeProto& node, int opset, const std::vector<const TensorInfo*>& inputs)
      : node_(node), opset_(opset), inputs_(inputs) {}

  std::vector<Folded> Run();

 private:
  using Fold = void (Folder::*)();

  bool Has(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  const TensorInfo& Info(std::size_t i) const {
    if (!Has(i)) throw Unknown();
    return *inputs_[i];
  }
  const Value& In(std::size_t i) const {
    const TensorInfo& info = Info(i);
    const bool parameter = info.kind == TensorInfo::Kind::kWeight && IsFloating(DtypeOf(info.elem_type));
    if (info.value == nullptr || parameter) throw Unknown();
    return *info.value;
  }
  const Ints& IntsIn(std::size_t i) const {
    const Ints* ints = In(i).ints();
    if (ints == nullptr) throw Unknown();
    return *ints;
  }
  // An attribute of older operator sets, an input of newer ones.
  Ints AxesOr(const std::string& name, std::size_t input) const {
    return Has(input) ? IntsIn(input) : IntsAttribute(node_, name);
  }
  void Out(Value value, int elem_type) {
    CheckedElements(value.shape);
    outputs_.push_back({elem_type, std::make_shared<const Value>(std::move(value))});
  }
  void OutLike(Value value) { Out(std::move(value), Info(0).elem_type); }

  void Constant();
  void ShapeOf();
  void Size() { Out(OfInts({}, {Elements(Info(0).shape)}), TensorProto::INT64); }
  void ConstantOfShape();
  void Range();
  void Cast();
  void Gather();
  void Concat();
  void Slice();
  void Split();
  void Transpose();
  void Expand();
  void Tile();
  void Where();
  void Reshape();
  void Flatten();
  void Squeeze();
  void Unsqueeze();
  void NonZero();
  void Reduce();
  void Unary();
  void Binary();

  void View(Shape shape);

  const onnx::NodeProto& node_;
  int opset_;
  const std::vector<const TensorInfo*>& inputs_;
  std::vector<Folded> outputs_;
};

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

void Folder::Range() {
  const auto number = [&](std::size_t i) {
    if (CheckedElements(In(i).shape) != 1) throw Unknown();
    return std::visit([](const auto& data) { return static_cast<double>(data.at(0)); }, In(i).data);
  };
  const double start = number(0);
  const double step = number(2);
  const double steps = std::ceil((number(1) - start) / step);
  if (!(steps <= static_cast<double>(kMostElements))) throw Unknown();
  const auto count = static_cast<std::int64_t>(std::max(steps, 0.0));
  if (In(0).ints() == nullptr) {
    Reals reals;
    for (std::int64_t i = 0; i < count; ++i) reals.push_back(start + static_cast<double>(i) * step);
    return OutLike({{count}, std::move(reals)});
  }
  Ints ints;
  for (std::int64_t i = 0; i < count; ++i) {
    const double at = start + static_cast<double>(i) * step;
    if (!(std::abs(at) < 0x1p53)) throw Unknown();
    ints.push_back(static_cast<std::int64_t>(at));
  }
  OutLike(OfInts({count}, std::move(ints)));
}

void Folder::Cast() {
  const auto to = static_cast<int>(IntAttribute(node_, "to", 0));
  const std::string dtype = DtypeOf(to);
  const Value& from = In(0);
  if (to == TensorProto::FLOAT || to == TensorProto::DOUBLE) {
    Reals reals = from.reals() != nullptr ? *from.reals() : Reals(from.ints()->begin(), from.ints()->end());
    return Out({from.shape, std::move(reals)}, to);
  }
  if (dtype.empty() || IsFloating(dtype)) throw Unknown();
  Ints ints;
  if (from.ints() != nullptr) {
    ints = *from.ints();
  } else {
    for (const double real : *from.reals()) {
      if (!(std::abs(real) < 0x1p62)) throw Unknown();
      ints.push_back(to == TensorProto::BOOL ? real != 0 : static_cast<std::int64_t>(real));
    }
  }
  if (to == TensorProto::BOOL)
    std::transform(ints.begin(), ints.end(), ints.begin(), [](auto i) { return i != 0; });
  Out(OfInts(from.shape, std::move(ints)), to);
}

void Folder::Gather() {
  const Value& from = In(0);
  const std::size_t axis = Axis(IntAttribute(node_, "axis", 0), from.shape.size());
  const Shape& chosen = In(1).shape;
  Shape shape(from.shape.begin(), from.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), chosen.begin(), chosen.end());
  shape.insert(shape.end(), from.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, from.shape.end());
  std::vector<std::size_t> positions;
  ForEachIndex(shape, [&](const Shape& index) {
    const auto middle = index.begin() + static_cast<std::ptrdiff_t>(axis);
    const auto behind = middle + static_cast<std::ptrdiff_t>(chosen.size());
    std::int64_t row = IntsIn(1).at(Position({middle, behind}, chosen));
    if (row < 0) row += from.shape[axis];
    if (row < 0 || row >= from.shape[axis]) throw Unknown();
    Shape source(index.begin(), middle);
    source.push_back(row);
    source.insert(source.end(), behind, index.end());
    positions.push_back(Position(source, from.shape));
  });
  OutLike(Take(from, std::move(shape), positions));
}

void Folder::Concat() {
  const std::size_t axis = Axis(IntAttribute(node_, "axis", opset_ < 4 ? 1 : 0), In(0).shape.size());
  Shape shape = In(0).shape;
  shape[axis] = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> parts;  // by place along the axis
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Shape& part = In(i).shape;
    if (part.size() != shape.size() || In(i).data.index() != In(0).data.index()) throw Unknown();
    for (std::size_t other = 0; other < shape.size(); ++other) {
      if (other != axis && part[other] != In(0).shape[other]) throw Unknown();
    }
    if (part[axis] > kMostElements) throw Unknown();
    for (std::int64_t at = 0; at < part[axis]; ++at) parts.emplace_back(i, at);
    shape[axis] += part[axis];
  }
  Value joined{shape,
               In(0).ints() != nullptr ? decltype(Value::data)(Ints()) : decltype(Value::data)(Reals())};
  ForEachIndex(shape, [&](Shape index) {
    const auto [part, at] = parts[static_cast<std::size_t>(index[axis])];
    index[axis] = at;
    const std::size_t position = Position(index, In(part).shape);
    std::visit(
        [&](auto& data) {
          data.push_back(std::get<std::decay_t<decltype(data)>>(In(part).data).at(position));
        },
        joined.data);
  });
  OutLike(std::move(joined));
}

void Folder::Slice() {
  const Value& from = In(0);
  const bool as_inputs = opset_ >= 10;
  const Ints starts = as_inputs ? IntsIn(1) : IntsAttribute(node_, "starts");
  const Ints ends = as_inputs ? IntsIn(2) : IntsAttribute(node_, "ends");
  Ints axes = AxesOr("axes", 3);
  Ints steps = Has(4) ? IntsIn(4) : Ints(starts.size(), 1);
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    throw Unknown();
  Shape shape = from.shape;
  Shape first(shape.size(), 0);
  Shape stride(shape.size(), 1);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = Axis(axes[i], shape.size());
    const std::int64_t size = from.shape[axis];
    const std::int64_t step = steps[i];
    if (step == 0 || std::abs(static_cast<double>(step)) > 0x1p40) throw Unknown();
    const auto bound = [&](std::int64_t at) {
      if (at < 0) at += size;
      return step > 0 ? std::clamp<std::int64_t>(at, 0, size) : std::clamp<std::int64_t>(at, -1, size - 1);
    };
    first[axis] = bound(starts[i]);
    stride[axis] = step;
    const std::int64_t span = bound(ends[i]) - first[axis];
    shape[axis] = std::max<std::int64_t>(0, (span + step - (step > 0 ? 1 : -1)) / step);
  }
  std::vector<std::size_t> positions;
  ForEachIndex(shape, [&](Shape index) {
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      index[axis] = first[axis] + index[axis] * stride[axis];
    positions.push_back(Position(index, from.shape));
  });
  OutLike(Take(from, std::move(shape), positions));
}

void Folder::Split() {
  const Value& from = In(0);
  const std::size_t axis = Axis(IntAttribute(node_, "axis", 0), from.shape.size());
  Ints sizes = AxesOr("split", 1);
  if (sizes.empty()) {
    const auto parts = static_cast<std::int64_t>(node_.output_size());
    if (parts == 0 || from.shape[axis] % parts != 0) throw Unknown();
    sizes.assign(static_cast<std::size_t>(parts), from.shape[axis] / parts);
  }
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0 || size > from.shape[axis] - start) throw Unknown();
    Shape shape = from.shape;
    shape[axis] = size;
    std::vector<std::size_t> positions;
    ForEachIndex(shape, [&](Shape index) {
      index[axis] += start;
      positions.push_back(Position(index, from.shape));
    });
    OutLike(Take(from, std::move(shape), positions));
    start += size;
  }
}

void Folder::Transpose() {
  const Value& from = In(0);
  Ints order = IntsAttribute(node_, "perm");
  if (order.empty()) {
    order.resize(from.shape.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  if (order.size() != from.shape.size()) throw Unknown();
  Shape shape;
  for (const std::int64_t axis : order) shape.push_back(from.shape[Axis(axis, from.shape.size())]);
  std::vector<std::size_t> positions;
  ForEachIndex(shape, [&](const Shape& index) {
    Shape source(index.size());
    for (std::size_t i = 0; i < index.size(); ++i) source[Axis(order[i], index.size())] = index[i];
    positions.push_back(Position(source, from.shape));
  });
  OutLike(Take(from, std::move(shape), positions));
}

void Folder::Expand() {
  const Value& from = In(0);
  Shape shape = Broadcast(from.shape, IntsIn(1));
  std::vector<std::size_t> positions;
  ForEachIndex(shape, [&](const Shape& index) { positions.push_back(BroadcastPosition(index, from.shape)); });
  OutLike(Take(from, std::move(shape), positions));
}

void Folder::Tile() {
  const Value& from = In(0);
  const Ints& repeats = IntsIn(1);
  if (opset_ < 6 || repeats.size() != from.shape.size()) throw Unknown();
  Shape shape = from.shape;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (repeats[axis] < 0 || repeats[axis] > kMostElements) throw Unknown();
    shape[axis] *= repeats[axis];
  }
  std::vector<std::size_t> positions;
  ForEachIndex(shape, [&](Shape index) {
    for (std::size_t axis = 0; axis < index.size(); ++axis) index[axis] %= from.shape[axis];
    positions.push_back(Position(index, from.shape));
  });
  OutLike(Take(from, std::move(shape), positions));
}

void Folder::Where() {
  const Value& yes = In(1);
  const Value& no = In(2);
  if (yes.data.index() != no.data.index()) throw Unknown();
  const Shape shape = Broadcast(In(0).shape, Broadcast(yes.shape, no.shape));
  Value chosen{shape, yes.ints() != nullptr ? decltype(Value::data)(Ints()) : decltype(Value::data)(Reals())};
  ForEachIndex(shape, [&](const Shape& index) {
    const Value& from = IntsIn(0).at(BroadcastPosition(index, In(0).shape)) != 0 ? yes : no;
    const std::size_t position = BroadcastPosition(index, from.shape);
    std::visit(
        [&](auto& data) { data.push_back(std::get<std::decay_t<decltype(data)>>(from.data).at(position)); },
        chosen.data);
  });
  Out(std::move(chosen), Info(1).elem_type);
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

void Folder::NonZero() {
  const Value& from = In(0);
  std::vector<Shape> found;
  ForEachIndex(from.shape, [&](const Shape& index) {
    const std::size_t position = Position(index, from.shape);
    if (std::visit([&](const auto& data) { return data.at(position) != 0; }, from.data))
      found.push_back(index);
  });
  Ints ints;
  for (std::size_t axis = 0; axis < from.shape.size(); ++axis) {
    for (const Shape& index : found) ints.push_back(index[axis]);
  }
  Out(OfInts({static_cast<std::int64_t>(from.shape.size()), static_cast<std::int64_t>(found.size())},
             std::move(ints)),
      TensorProto::INT64);
}

// Arithmetic on 64-bit integers that is not defined gives up.
std::int64_t Arithmetic(const std::string& op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool bad = false;
  if (op == "Add" || op == "ReduceSum") {
    bad = __builtin_add_overflow(a, b, &result);
  } else if (op == "Sub") {
    bad = __builtin_sub_overflow(a, b, &result);
  } else if (op == "Mul" || op == "ReduceProd") {
    bad = __builtin_mul_overflow(a, b, &result);
  } else if (op == "Div" || op == "Mod") {
    bad = b == 0 || b == -1;
    if (!bad) result = op == "Div" ? a / b : (a % b + b) % b;
  } else if (op == "Max" || op == "ReduceMax") {
    result = std::max(a, b);
  } else if (op == "Min" || op == "ReduceMin") {
    result = std::min(a, b);
  } else {
    bad = true;
  }
  if (bad) throw Unknown();
  return result;
}

double Arithmetic(const std::string& op, double a, double b) {
  if (op == "Add" || op == "ReduceSum") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul" || op == "ReduceProd") return a * b;
  if (op == "Div") return a / b;
  if (op == "Pow") return std::pow(a, b);
  if (op == "Max" || op == "ReduceMax") return std::max(a, b);
  if (op == "Min" || op == "ReduceMin") return std::min(a, b);
  throw Unknown();
}

template <typename T>
std::optional<bool> Comparison(const std::string& op, T a, T b) {
  if (op == "Equal") return a == b;
  if (op == "Less") return a < b;
  if (op == "LessOrEqual") return a <= b;
  if (op == "Greater") return a > b;
  if (op == "GreaterOrEqual") return a >= b;
  if (op == "And") return a != 0 && b != 0;
  if (op == "Or") return a != 0 || b != 0;
  if (op == "Xor") return (a != 0) != (b != 0);
  return std::nullopt;
}

void Folder::Binary() {
  if (inputs_.size() != 2 || In(0).data.index() != In(1).data.index()) throw Unknown();
  const Shape shape = Broadcast(In(0).shape, In(1).shape);
  const std::string& op = node_.op_type();
  std::visit(
      [&](const auto& a) {
        using Data = std::decay_t<decltype(a)>;
        const Data& b = std::get<Data>(In(1).data);
        Data numbers;
        Ints truths;
        ForEachIndex(shape, [&](const Shape& index) {
          const auto x = a.at(BroadcastPosition(index, In(0).shape));
          const auto y = b.at(BroadcastPosition(index, In(1).shape));
          if (const auto truth = Comparison(op, x, y)) {
            truths.push_back(*truth ? 1 : 0);
          } else {
            numbers.push_back(Arithmetic(op, x, y));
          }
        });
        const bool compares =
            Comparison(op, typename Data::value_type(0), typename Data::value_type(0)).has_value();
        if (compares) {
          Out(OfInts(shape, std::move(truths)), TensorProto::BOOL);
        } else {
          OutLike({shape, std::move(numbers)});
        }
      },
      In(0).data);
}

void Folder::Unary() {
  const std::string& op = node_.op_type();
  Value value = In(0);
  std::visit(
      [&](auto& data) {
        using T = typename std::decay_t<decltype(data)>::value_type;
        for (T& x : data) {
          if (op == "Neg" || op == "Abs") {
            if (x == std::numeric_limits<T>::min()) throw Unknown();
            x = op == "Neg" || x < 0 ? -x : x;
          } else if (op == "Not") {
            x = x == 0 ? 1 : 0;
          } else if constexpr (std::is_floating_point_v<T>) {
            x = op == "Floor"  ? std::floor(x)
                : op == "Ceil" ? std::ceil(x)
                : op == "Sqrt" ? std::sqrt(x)
                               : std::nearbyint(x);
          } else {
            throw Unknown();
          }
        }
      },
      value.data);
  OutLike(std::move(value));
}

void Folder::Reduce() {
  const Value& from = In(0);
  const Ints axes = AxesOr("axes", 1);
  std::vector<bool> reduced(from.shape.size(), axes.empty());
  for (const std::int64_t axis : axes) reduced[Axis(axis, from.shape.size())] = true;
  const bool keep = IntAttribute(node_, "keepdims", 1) != 0;
  Shape kept;  // with ones where it is reduced
  Shape shape;
  for (std::size_t axis = 0; axis < from.shape.size(); ++axis) {
    kept.push_back(reduced[axis] ? 1 : from.shape[axis]);
    if (keep || !reduced[axis]) shape.push_back(kept.back());
  }
  Value result{shape, {}};
  std::visit(
      [&](const auto& data) {
        if (data.empty()) throw Unknown();
        std::decay_t<decltype(data)> sums(static_cast<std::size_t>(CheckedElements(kept)));
        std::vector<bool> begun(sums.size(), false);
        ForEachIndex(from.shape, [&](const Shape& index) {
          const auto x = data.at(Position(index, from.shape));
          const std::size_t to = BroadcastPosition(index, kept);
          sums[to] = begun[to] ? Arithmetic(node_.op_type(), sums[to], x) : x;
          begun[to] = true;
        });
        result.data = std::move(sums);
      },
      from.data);
  OutLike(std::move(result));
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

}  // namespace

std::optional<std::vector<Folded>> Fold(const onnx::NodeProto& node, int opset,
                                        const std::vector<const TensorInfo*>& inputs) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return std::nullopt;
  try {
    return Folder(node, opset, inputs).Run();
  } catch (const Unknown&) {
    return std::nullopt;
  }
}

}  // namespace berth::scenarios::onnx_import
