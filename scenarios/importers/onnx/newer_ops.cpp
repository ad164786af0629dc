// Shapes of ops that operator set 17 does not have, or has in another sense.
#include <algorithm>
#include <utility>

#include "scenarios/importers/onnx/newer_sets.h"
#include "sim/base/units.h"

namespace stowplan::scenarios::onnx_import {
namespace {

using Dims = std::vector<std::optional<std::int64_t>>;

void RequireInputs(const NodeFacts& facts, std::size_t count) {
  if (!facts.HasAll(count)) {
    Refuse("it has fewer than the " + std::to_string(count) + " input" + (count == 1 ? "" : "s") +
           " that it must have");
  }
}

InferredOutput Like(const TensorInfo& info, const Shape& shape) {
  return {.is_tensor = true, .elem_type = info.elem_type, .dims = Dims(shape.begin(), shape.end())};
}

// The first outputs as given; more than there are rules for is refused.
std::vector<InferredOutput> Outputs(const NodeFacts& facts, std::vector<InferredOutput> outputs) {
  const auto wanted = static_cast<std::size_t>(facts.node().output_size());
  if (wanted > outputs.size()) {
    Refuse("it has " + std::to_string(wanted) + " outputs, but must have at most " +
           std::to_string(outputs.size()));
  }
  outputs.resize(wanted);
  return outputs;
}

// A size that came out of a product or sum of others.
std::int64_t CheckedSize(double size) {
  if (!(size >= 0 && size <= static_cast<double>(sim::kMaxBytes))) Refuse("it would be larger than 2^50");
  return static_cast<std::int64_t>(size);
}

std::vector<InferredOutput> SameAsFirst(const NodeFacts& facts) {
  RequireInputs(facts, 1);
  return Outputs(facts, {Like(facts.info(0), facts.shape(0))});
}

std::vector<InferredOutput> Broadcasted(const NodeFacts& facts) {
  RequireInputs(facts, 2);
  const Shape& a = facts.shape(0);
  const Shape& b = facts.shape(1);
  Shape shape(std::max(a.size(), b.size()), 1);
  for (const Shape* one : {&a, &b}) {
    const std::size_t skipped = shape.size() - one->size();
    for (std::size_t axis = 0; axis < one->size(); ++axis) {
      std::int64_t& dim = shape[skipped + axis];
      if (dim != 1 && (*one)[axis] != 1 && dim != (*one)[axis])
        Refuse("its operands " + ShapeText(a) + " and " + ShapeText(b) + " cannot be broadcast");
      if ((*one)[axis] != 1) dim = (*one)[axis];
    }
  }
  return Outputs(facts, {Like(facts.info(0), shape)});
}

// x [N, C, ...]; scale and shift hold a number for each channel, before set 21 one for each group.
std::vector<InferredOutput> GroupNormalization(const NodeFacts& facts) {
  RequireInputs(facts, 3);
  if (facts.rank(0) < 2)
    Refuse("its input " + ShapeText(facts.shape(0)) + " has no axis of channels, axis 1");
  if (!facts.HasAttribute("num_groups")) Refuse("it does not say its num_groups");
  const std::int64_t channels = facts.shape(0)[1];
  const std::int64_t groups = facts.Int("num_groups", 1);
  if (channels % groups != 0) {
    Refuse("its input has " + std::to_string(channels) +
           " channels, which must be a multiple of its num_groups " + std::to_string(groups));
  }
  const bool by_group = facts.opset() < 21;
  const char* why = by_group ? "a number for each group" : "a number for each channel";
  RequireShape(facts, 1, {by_group ? groups : channels}, "its scale", why);
  RequireShape(facts, 2, {by_group ? groups : channels}, "its shift", why);
  return SameAsFirst(facts);
}

std::vector<InferredOutput> RmsNormalization(const NodeFacts& facts) {
  RequireInputs(facts, 2);
  CheckedAxis(facts.Int("axis", -1), facts.rank(0), "its axis");
  if (!Fits(facts.shape(1), facts.shape(0))) {
    Refuse("its scale " + ShapeText(facts.shape(1)) + " must be broadcast to its input " +
           ShapeText(facts.shape(0)));
  }
  return Outputs(facts, {Like(facts.info(1), facts.shape(0))});
}

// x [batch, heads, length, size], or [batch, length, heads x size].
std::vector<InferredOutput> RotaryEmbedding(const NodeFacts& facts) {
  RequireInputs(facts, 3);
  const Shape& x = facts.shape(0);
  if (x.size() != 3 && x.size() != 4) Refuse("its input " + ShapeText(x) + " must have 3 or 4 axes");
  const std::int64_t heads = facts.Int("num_heads", 0);
  if (x.size() == 3 && (heads < 1 || x[2] % heads != 0)) {
    Refuse("its last axis, " + std::to_string(x[2]) + ", must be a multiple of its num_heads " +
           std::to_string(heads));
  }
  return SameAsFirst(facts);
}

// What each head of an Attention holds: [batch, heads, length, size].
Shape HeadsOf(const NodeFacts& facts, std::size_t i, const char* attribute) {
  const Shape& shape = facts.shape(i);
  if (shape.size() == 4) return shape;
  if (shape.size() != 3) Refuse("its input " + ShapeText(shape) + " must have 3 or 4 axes");
  const std::int64_t heads = facts.Int(attribute, 0);
  if (heads < 1 || shape[2] % heads != 0) {
    Refuse("the last axis of its input " + ShapeText(shape) + " must be a multiple of its " + attribute +
           " " + std::to_string(heads));
  }
  return {shape[0], heads, shape[1], shape[2] / heads};
}

std::vector<InferredOutput> Attention(const NodeFacts& facts) {
  RequireInputs(facts, 3);
  const AttentionSizes sizes = SizesOfAttention(facts);
  const std::int64_t total = CheckedSize(static_cast<double>(sizes.past) + static_cast<double>(sizes.keys));
  Shape y = {sizes.batch, sizes.heads, sizes.queries, sizes.value_size};
  if (facts.rank(0) == 3) {
    y = {sizes.batch, sizes.queries,
         CheckedSize(static_cast<double>(sizes.heads) * static_cast<double>(sizes.value_size))};
  }
  return Outputs(
      facts, {Like(facts.info(0), y), Like(facts.info(1), {sizes.batch, sizes.key_heads, total, sizes.size}),
              Like(facts.info(2), {sizes.batch, sizes.key_heads, total, sizes.value_size}),
              Like(facts.info(0), {sizes.batch, sizes.heads, sizes.queries, total})});
}

// One scale for all, one for each place along `axis`, or for each block of places.
void CheckBlockedScale(const NodeFacts& facts) {
  const Shape& x = facts.shape(0);
  const Shape& scale = facts.shape(1);
  const std::int64_t block = facts.Int("block_size", 0);
  if (block < 0) Refuse("its block_size is " + std::to_string(block) + ", but must be 0 or more");
  if (block == 0) {
    if (scale.size() > 1) Refuse("its scale " + ShapeText(scale) + " must be one number or a vector");
    if (scale.size() == 1 && scale[0] != 1) {
      const std::size_t axis = CheckedAxis(facts.Int("axis", 1), facts.rank(0), "its axis");
      RequireShape(facts, 1, {x[axis]}, "its scale", "a number for each place along its axis");
    }
  } else {
    const std::size_t axis = CheckedAxis(facts.Int("axis", 1), facts.rank(0), "its axis");
    Shape blocks = x;
    blocks[axis] = x[axis] / block + (x[axis] % block == 0 ? 0 : 1);
    RequireShape(facts, 1, blocks, "its scale", "a number for each block along its axis");
  }
  const bool one_of_each = Elements(scale) == 1 && facts.Has(2) && Elements(facts.shape(2)) == 1;
  if (!one_of_each) RequireShape(facts, 2, scale, "its zero point", "as its scale");
}

std::vector<InferredOutput> Quantize(const NodeFacts& facts) {
  RequireInputs(facts, 2);
  CheckBlockedScale(facts);
  InferredOutput y = Like(facts.info(0), facts.shape(0));
  const auto said = static_cast<int>(facts.Int("output_dtype", 0));
  y.elem_type = said != 0 ? said : facts.Has(2) ? facts.info(2).elem_type : onnx::TensorProto::UINT8;
  return Outputs(facts, {y});
}

std::vector<InferredOutput> Dequantize(const NodeFacts& facts) {
  RequireInputs(facts, 2);
  CheckBlockedScale(facts);
  InferredOutput y = Like(facts.info(0), facts.shape(0));
  const auto said = static_cast<int>(facts.Int("output_dtype", 0));
  y.elem_type = said != 0 ? said : facts.info(1).elem_type;
  return Outputs(facts, {y});
}

// The library knows no type beyond bfloat16.
std::vector<InferredOutput> Cast(const NodeFacts& facts) {
  const bool like = facts.type() == "CastLike";
  RequireInputs(facts, like ? 2 : 1);
  InferredOutput y = Like(facts.info(0), facts.shape(0));
  y.elem_type = like ? facts.info(1).elem_type : static_cast<int>(facts.Int("to", 0));
  if (y.elem_type <= 0) Refuse("it does not say which type it casts to");
  return Outputs(facts, {y});
}

// x [N, C, D1, ...], grid [N, D1', ..., number of D].
std::vector<InferredOutput> GridSample(const NodeFacts& facts) {
  RequireInputs(facts, 2);
  const Shape& image = facts.shape(0);
  const Shape& grid = facts.shape(1);
  if (image.size() < 3 || grid.size() != image.size() || grid[0] != image[0] ||
      grid.back() != facts.rank(0) - 2) {
    Refuse("its grid " + ShapeText(grid) + " must hold " +
           std::to_string(std::max<std::int64_t>(facts.rank(0) - 2, 1)) +
           " numbers for each place of each image of " + ShapeText(image));
  }
  Shape shape = {image[0], image[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  return Outputs(facts, {Like(facts.info(0), shape)});
}

void CheckSizes(const std::vector<std::int64_t>& sizes, const std::string& what) {
  for (const std::int64_t size : sizes) {
    if (size < 1 || size > sim::kMaxBytes)
      Refuse("an entry of " + what + " is " + std::to_string(size) + ", but must be 1 to 2^50");
  }
}

// theta [N, 2, 3] with size [N, C, H, W], or [N, 3, 4] with [N, C, D, H, W].
std::vector<InferredOutput> AffineGrid(const NodeFacts& facts) {
  RequireInputs(facts, 2);
  if (facts.rank(0) != 3) Refuse("its theta " + ShapeText(facts.shape(0)) + " must have 3 axes");
  const auto* size = facts.ints(1);
  const std::int64_t axes = facts.shape(0)[1];
  InferredOutput grid = Like(facts.info(0), {});
  if (size == nullptr) {
    grid.dims = Dims(static_cast<std::size_t>(std::clamp<std::int64_t>(axes, 2, 3)) + 2);
    return Outputs(facts, {grid});
  }
  CheckSizes(*size, "its size");
  if ((axes != 2 && axes != 3) || static_cast<std::int64_t>(size->size()) != axes + 2) {
    Refuse("its size are " + std::to_string(size->size()) + " numbers, but its theta " +
           ShapeText(facts.shape(0)) + " wants 4 (for [N, 2, 3]) or 5 (for [N, 3, 4])");
  }
  grid.dims = Dims{size->front()};
  grid.dims->insert(grid.dims->end(), size->begin() + 2, size->end());
  grid.dims->emplace_back(axes);
  return Outputs(facts, {grid});
}

// `shape` says what the axes named become.
std::vector<InferredOutput> CenterCropPad(const NodeFacts& facts) {
  RequireInputs(facts, 2);
  InferredOutput y = Like(facts.info(0), facts.shape(0));
  std::vector<std::int64_t> axes = facts.Ints("axes");
  for (std::int64_t axis = 0; !facts.HasAttribute("axes") && axis < facts.rank(0); ++axis)
    axes.push_back(axis);
  const auto* sizes = facts.ints(1);
  if (sizes != nullptr) CheckSizes(*sizes, "its shape");
  if (sizes != nullptr && sizes->size() != axes.size()) {
    Refuse("its shape is " + std::to_string(sizes->size()) + " numbers, but must be " +
           std::to_string(axes.size()) + ", one for each of its axes");
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = CheckedAxis(axes[i], facts.rank(0), "an entry of its axes");
    (*y.dims)[axis] = sizes == nullptr ? std::nullopt : std::optional((*sizes)[i]);
  }
  return Outputs(facts, {y});
}

// x [N, C x numbers of a block, blocks] -> [N, C, image...].
std::vector<InferredOutput> Col2Im(const NodeFacts& facts) {
  RequireInputs(facts, 3);
  if (facts.rank(0) != 3) Refuse("its input " + ShapeText(facts.shape(0)) + " must have 3 axes");
  InferredOutput y = Like(facts.info(0), {facts.shape(0)[0]});
  y.dims->emplace_back(std::nullopt);
  if (const auto* block = facts.ints(2)) {
    CheckSizes(*block, "its block_shape");
    double numbers = 1;
    for (const std::int64_t size : *block) numbers *= static_cast<double>(size);
    const std::int64_t each = CheckedSize(numbers);
    if (facts.shape(0)[1] % each != 0) {
      Refuse("its axis 1 has " + std::to_string(facts.shape(0)[1]) +
             " places, which must be a multiple of the " + std::to_string(each) + " numbers of its blocks");
    }
    (*y.dims)[1] = facts.shape(0)[1] / each;
  }
  if (const auto* image = facts.ints(1)) {
    CheckSizes(*image, "its image_shape");
    y.dims->insert(y.dims->end(), image->begin(), image->end());
  } else {
    if (facts.rank(1) != 1 || facts.shape(1)[0] > 64) Refuse("its image_shape must be a short vector");
    y.dims->resize(2 + static_cast<std::size_t>(facts.shape(1)[0]));
  }
  return Outputs(facts, {y});
}

struct NewerOp {
  const char* type;
  int since;
  NewerRule rule;
};
constexpr NewerOp kNewerOps[] = {
    {"AffineGrid", 20, AffineGrid},
    {"Attention", 23, Attention},
    {"BitwiseAnd", 18, Broadcasted},
    {"BitwiseNot", 18, SameAsFirst},
    {"BitwiseOr", 18, Broadcasted},
    {"BitwiseXor", 18, Broadcasted},
    {"Cast", 19, Cast},
    {"CastLike", 19, Cast},
    {"CenterCropPad", 18, CenterCropPad},
    {"Col2Im", 18, Col2Im},
    {"DequantizeLinear", 19, Dequantize},
    {"Gelu", 20, SameAsFirst},
    {"GridSample", 20, GridSample},
    {"GroupNormalization", 18, GroupNormalization},
    {"Mish", 18, SameAsFirst},
    {"QuantizeLinear", 19, Quantize},
    {"RMSNormalization", 23, RmsNormalization},
    {"RotaryEmbedding", 23, RotaryEmbedding},
};

}  // namespace

AttentionSizes SizesOfAttention(const NodeFacts& facts) {
  const Shape q = HeadsOf(facts, 0, "q_num_heads");
  const Shape k = HeadsOf(facts, 1, "kv_num_heads");
  const Shape v = HeadsOf(facts, 2, "kv_num_heads");
  const auto refuse = [&](const char* why) {
    Refuse("its queries " + ShapeText(q) + ", keys " + ShapeText(k) + " and values " + ShapeText(v) +
           " (batch, heads, length, size) " + why);
  };
  if (q[0] != k[0] || k[0] != v[0]) refuse("must have one batch");
  if (k[1] != v[1] || k[1] < 1 || q[1] % k[1] != 0)
    refuse("must have as many heads of keys as of values, and a multiple of that of queries");
  if (k[2] != v[2]) refuse("must have as many keys as values");
  if (q[3] != k[3]) refuse("must have queries and keys of one size");
  std::int64_t past = 0;
  if (facts.Has(4)) {
    if (facts.rank(4) != 4) Refuse("its past_key " + ShapeText(facts.shape(4)) + " must have 4 axes");
    past = facts.shape(4)[2];
    RequireShape(facts, 4, {k[0], k[1], past, k[3]}, "its past_key", "as its keys");
    RequireShape(facts, 5, {v[0], v[1], past, v[3]}, "its past_value", "as its values");
  }
  return {.batch = q[0],
          .heads = q[1],
          .key_heads = k[1],
          .queries = q[2],
          .past = past,
          .keys = k[2],
          .size = q[3],
          .value_size = v[3]};
}

NewerRule FindNewerRule(const onnx::NodeProto& node, int opset) {
  if (!node.domain().empty() && node.domain() != "ai.onnx") return nullptr;
  for (const NewerOp& row : kNewerOps) {
    if (node.op_type() == row.type && opset >= row.since) return row.rule;
  }
  return nullptr;
}

}  // namespace stowplan::scenarios::onnx_import
