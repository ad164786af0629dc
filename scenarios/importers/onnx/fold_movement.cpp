// Folding what takes elements from elsewhere.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "scenarios/importers/onnx/folder.h"

namespace stowplan::scenarios::onnx_import {

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
    if (part[axis] > kMostElements - shape[axis]) throw Unknown();
    for (std::int64_t at = 0; at < part[axis]; ++at) parts.emplace_back(i, at);
    shape[axis] += part[axis];
  }
  Value joined{shape,
               In(0).ints() != nullptr ? decltype(Value::data)(Ints()) : decltype(Value::data)(Reals())};
  ForEachIndex(shape, [&](Shape index) {
    const auto& [number, at] = parts[static_cast<std::size_t>(index[axis])];
    const Value& part = In(number);
    index[axis] = at;
    const std::size_t position = Position(index, part.shape);
    std::visit(
        [&](auto& data) { data.push_back(std::get<std::decay_t<decltype(data)>>(part.data).at(position)); },
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

}  // namespace stowplan::scenarios::onnx_import
