// Folding what computes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "scenarios/importers/onnx/folder.h"

namespace stowplan::scenarios::onnx_import {

namespace {

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

}  // namespace

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
  if (axes.empty() && IntAttribute(node_, "noop_with_empty_axes", 0) != 0) return OutLike(from);
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

}  // namespace stowplan::scenarios::onnx_import
