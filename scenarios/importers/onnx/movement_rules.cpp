// What moves, picks, repeats or resizes. Sizes that come from values are held to 2^50 before the library
// computes with them.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "scenarios/importers/onnx/node_rules.h"
#include "sim/base/units.h"

namespace stowplan::scenarios::onnx_import {
namespace {

constexpr auto kMostSize = static_cast<double>(sim::kMaxBytes);

void CheckTranspose(const NodeFacts& facts) {
  if (!facts.Has(0) || !facts.HasAttribute("perm")) return;
  const auto perm = facts.Ints("perm");
  Shape sorted = perm;
  std::ranges::sort(sorted);
  bool fits = sorted.size() == facts.shape(0).size();
  for (std::size_t i = 0; fits && i < sorted.size(); ++i) fits = sorted[i] == static_cast<std::int64_t>(i);
  if (!fits) {
    Refuse("its perm " + ShapeText(perm) + " must name each of the " + std::to_string(facts.rank(0)) +
           " axes of its input once");
  }
}

void CheckRepeats(const NodeFacts& facts) {
  if (facts.inputs() != 2 || !facts.HasAll(2) || facts.ints(1) == nullptr) return;
  const Shape& shape = facts.shape(0);
  const auto& repeats = *facts.ints(1);
  for (std::size_t axis = 0; axis < std::min(shape.size(), repeats.size()); ++axis) {
    if (repeats[axis] < 0) Refuse("its repeats must not be negative");
    if (shape[axis] > 0 && repeats[axis] > sim::kMaxBytes / shape[axis]) {
      Refuse("its output would be longer than 2^50 along axis " + std::to_string(axis));
    }
  }
}

void CheckPads(const NodeFacts& facts) {
  if (!facts.HasAll(2) || facts.ints(1) == nullptr) return;
  for (const std::int64_t pad : *facts.ints(1)) {
    if (pad < -sim::kMaxBytes || pad > sim::kMaxBytes) {
      Refuse("an entry of its pads is " + std::to_string(pad) + ", but must be -2^50 to 2^50");
    }
  }
}

std::string NumberText(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::general, 6).ptr};
}

// `scales` multiply the axes of input 0; Upsample does not shrink them.
template <typename Scales>
void CheckScaled(const NodeFacts& facts, const Scales& scales) {
  const bool shrinks = facts.type() != "Upsample";
  const Shape& shape = facts.shape(0);
  if (static_cast<std::size_t>(scales.size()) != shape.size()) {
    Refuse("its scales are " + std::to_string(scales.size()) + " numbers, but must be " +
           std::to_string(shape.size()) + ", one for each axis of its input");
  }
  std::size_t axis = 0;
  for (const double scale : scales) {
    if (!(shrinks ? scale > 0 : scale >= 1) || !(scale * static_cast<double>(shape[axis]) <= kMostSize)) {
      Refuse("its scale along axis " + std::to_string(axis) + " is " + NumberText(scale) + ", but must be " +
             (shrinks ? "above 0" : "1 or more") + " and give at most 2^50 places");
    }
    ++axis;
  }
}

// Before operator set 11 input 1 is the scales; then input 2, with input 3 for sizes in their place.
void CheckResize(const NodeFacts& facts) {
  if (!facts.Has(0)) return;
  const auto* reals = facts.reals(facts.opset() < 11 ? 1 : 2);
  const bool by_size = facts.opset() >= 11 && facts.Has(3) && facts.shape(3) != Shape{0};
  if (!by_size && reals != nullptr && !(facts.opset() >= 11 && reals->empty())) CheckScaled(facts, *reals);
  if (!by_size || facts.ints(3) == nullptr) return;
  const auto& sizes = *facts.ints(3);
  if (sizes.size() != facts.shape(0).size()) {
    Refuse("its sizes are " + std::to_string(sizes.size()) + " numbers, but must be " +
           std::to_string(facts.rank(0)) + ", one for each axis of its input");
  }
  for (const std::int64_t size : sizes) {
    if (size < 1 || size > sim::kMaxBytes) {
      Refuse("an entry of its sizes is " + std::to_string(size) + ", but must be 1 to 2^50");
    }
  }
}

void CheckUpsample(const NodeFacts& facts) {
  if (!facts.Has(0)) return;
  const auto* attribute = FindAttribute(facts.node(), "scales");
  if (attribute != nullptr) return CheckScaled(facts, attribute->floats());
  if (const auto* scales = facts.reals(1); scales != nullptr) CheckScaled(facts, *scales);
}

void CheckRange(const NodeFacts& facts) {
  double numbers[3] = {};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto* ints = facts.ints(i);
    const auto* reals = facts.reals(i);
    const std::size_t count = ints != nullptr ? ints->size() : reals != nullptr ? reals->size() : 0;
    if (ints == nullptr && reals == nullptr) return;
    if (count != 1) Refuse("its start, limit and delta must be one number each");
    numbers[i] = ints != nullptr ? static_cast<double>(ints->front()) : reals->front();
    if (!std::isfinite(numbers[i])) Refuse("its start, limit and delta must be finite");
  }
  if (numbers[2] == 0) Refuse("its delta is 0, and it would never end; it must be another number");
  if ((numbers[1] - numbers[0]) / numbers[2] > kMostSize) Refuse("it would be longer than 2^50");
}

// data [D1 .. Dr], indices [..., k]: k of the axes are named; updates have a place for the others.
void CheckScatterNd(const NodeFacts& facts) {
  if (!facts.HasAll(3)) return;
  const Shape& data = facts.shape(0);
  const Shape& indices = facts.shape(1);
  if (data.empty() || indices.empty()) Refuse("its data and indices must have an axis at least");
  const std::int64_t named = indices.back();
  if (named < 1 || named > facts.rank(0)) {
    Refuse("its indices " + ShapeText(indices) + " name " + std::to_string(named) +
           " axes, but its data have " + std::to_string(facts.rank(0)));
  }
  Shape updates(indices.begin(), indices.end() - 1);
  updates.insert(updates.end(), data.begin() + named, data.end());
  RequireShape(facts, 2, updates, "its updates", "an element or slice for each of its indices");
}

void CheckGatherNd(const NodeFacts& facts) {
  if (!facts.HasAll(2)) return;
  const Shape& data = facts.shape(0);
  const Shape& indices = facts.shape(1);
  if (data.empty() || indices.empty()) Refuse("its data and indices must have an axis at least");
  const std::int64_t batch = facts.Int("batch_dims", 0);
  if (batch < 0 || batch >= std::min(facts.rank(0), facts.rank(1))) {
    Refuse("its batch_dims is " + std::to_string(batch) + ", but must be fewer than the axes of " +
           ShapeText(data) + " and of " + ShapeText(indices));
  }
  if (!std::equal(data.begin(), data.begin() + batch, indices.begin())) {
    Refuse("its data " + ShapeText(data) + " and indices " + ShapeText(indices) +
           " must agree in their first batch_dims axes");
  }
  if (indices.back() < 1 || indices.back() > facts.rank(0) - batch) {
    Refuse("its indices " + ShapeText(indices) + " name " + std::to_string(indices.back()) +
           " axes, but its data have " + std::to_string(facts.rank(0) - batch));
  }
}

// Those of the indices in input 1 that are known name places along the axis of input 0; negative ones count
// from its end.
void CheckIndices(const NodeFacts& facts) {
  if (!facts.HasAll(2) || facts.ints(1) == nullptr) return;
  const std::size_t axis = CheckedAxis(facts.Int("axis", 0), facts.rank(0), "its axis");
  const std::int64_t places = facts.shape(0)[axis];
  for (const std::int64_t index : *facts.ints(1)) {
    if (index < -places || index >= places) {
      Refuse("one of its indices is " + std::to_string(index) + ", but its data " +
             ShapeText(facts.shape(0)) + " have " + std::to_string(places) + " places along axis " +
             std::to_string(axis));
    }
  }
}

// Indices with as many axes as the data.
void CheckElementwise(const NodeFacts& facts) {
  if (!facts.HasAll(2)) return;
  if (facts.rank(0) != facts.rank(1)) {
    Refuse("its data " + ShapeText(facts.shape(0)) + " and indices " + ShapeText(facts.shape(1)) +
           " must have as many axes");
  }
  RequireShape(facts, 2, facts.shape(1), "its updates", "a number for each of its indices");
  CheckIndices(facts);
}

void CheckCumSum(const NodeFacts& facts) {
  if (!facts.HasAll(2) || facts.ints(1) == nullptr) return;
  if (facts.ints(1)->size() != 1) Refuse("its axis must be one number");
  CheckedAxis(facts.ints(1)->front(), facts.rank(0), "its axis");
}

// x [N, C, H, W], grid [N, H', W', 2].
void CheckGridSample(const NodeFacts& facts) {
  if (!facts.HasAll(2)) return;
  const Shape& image = facts.shape(0);
  const Shape& grid = facts.shape(1);
  if (image.size() != 4 || grid.size() != 4 || grid[3] != 2 || grid[0] != image[0]) {
    Refuse("its grid " + ShapeText(grid) + " must hold 2 numbers for each place of each image of " +
           ShapeText(image));
  }
}

// The library reads axis 1 of [batch, length, ...] unasked.
void CheckStft(const NodeFacts& facts) {
  if (facts.Has(0) && facts.rank(0) < 2) Refuse("its signal has fewer than 2 axes");
}

}  // namespace

const std::vector<NodeRuleRow> kMovementRules = {
    {"Transpose", CheckTranspose},
    {"Tile", CheckRepeats},
    {"Pad", CheckPads},
    {"Resize", CheckResize},
    {"Upsample", CheckUpsample},
    {"Range", CheckRange},
    {"ScatterND", CheckScatterNd},
    {"GatherND", CheckGatherNd},
    {"Gather", CheckIndices},
    {"GatherElements", CheckElementwise},
    {"ScatterElements", CheckElementwise},
    {"Scatter", CheckElementwise},
    {"CumSum", CheckCumSum},
    {"GridSample", CheckGridSample},
    {"STFT", CheckStft},
};

}  // namespace stowplan::scenarios::onnx_import
