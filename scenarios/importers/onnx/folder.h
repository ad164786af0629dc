// The state of one Fold(): fold.cpp has what is asked for and views, fold_movement.cpp what takes elements from
// elsewhere, fold_arithmetic.cpp what computes.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/importers/onnx/values.h"

namespace stowplan::scenarios::onnx_import {

using onnx::TensorProto;
using Ints = std::vector<std::int64_t>;
using Reals = std::vector<double>;

// What a fold gives up on: the op is imported like any other.
struct Unknown {};

inline constexpr std::int64_t kMostElements = 1 << 16;

std::int64_t CheckedElements(const Shape& shape);

std::size_t Axis(std::int64_t axis, std::size_t rank);

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

std::size_t Position(const Shape& index, const Shape& shape);

// The element that a broadcast operand has at an index of the result.
std::size_t BroadcastPosition(const Shape& index, const Shape& shape);

Shape Broadcast(const Shape& a, const Shape& b);

// Elements of one value in another order: all movement of data.
Value Take(const Value& from, Shape shape, const std::vector<std::size_t>& positions);

Value OfInts(Shape shape, Ints ints);
Value Vector(Ints ints);

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

}  // namespace stowplan::scenarios::onnx_import
