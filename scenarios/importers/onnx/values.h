// What is known of tensors while a model is imported, and working out the values of those that decide shapes:
// Shape, Gather, Concat, arithmetic and the like on small tensors (constant folding).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <onnx/onnx_pb.h>

#include "scenarios/builder/graph_builder.h"

namespace stowplan::scenarios::onnx_import {

// Small tensors of integers and truth values (1 and 0), or of reals; row-major.
struct Value {
  Shape shape;
  std::variant<std::vector<std::int64_t>, std::vector<double>> data;

  const std::vector<std::int64_t>* ints() const { return std::get_if<std::vector<std::int64_t>>(&data); }
  const std::vector<double>* reals() const { return std::get_if<std::vector<double>>(&data); }
};
using ValuePtr = std::shared_ptr<const Value>;  // null: not known

// A tensor whose shape is known.
struct TensorInfo {
  enum class Kind : std::uint8_t {
    kInput,     // of the model
    kWeight,    // an initializer
    kConstant,  // known without running anything
    kComputed,
  };
  std::string name;
  Kind kind = Kind::kComputed;
  int elem_type = 0;  // onnx::TensorProto::DataType
  Shape shape;
  ValuePtr value;
};

// "f32", "i64", …; empty for what has no fixed size (strings, complex numbers).
std::string DtypeOf(int elem_type);

// Null where the tensor is large, is kept elsewhere or holds something else than numbers.
ValuePtr ValueOf(const onnx::TensorProto& tensor);
// For the shape inference of the library.
onnx::TensorProto ToProto(const Value& value, int elem_type);

struct Folded {
  int elem_type;
  ValuePtr value;
};

// The values of a node's outputs, if they follow from what is known; nothing else (too large, an op that is
// not among these, a division by zero). Inputs that are left out are null. Weights of floating numbers are no
// constants: a parameter stays one.
std::optional<std::vector<Folded>> Fold(const onnx::NodeProto& node, int opset,
                                        const std::vector<const TensorInfo*>& inputs);

// Attributes of a node, with the defaults of ONNX.
const onnx::AttributeProto* FindAttribute(const onnx::NodeProto& node, std::string_view name);
std::int64_t IntAttribute(const onnx::NodeProto& node, std::string_view name, std::int64_t fallback);
std::vector<std::int64_t> IntsAttribute(const onnx::NodeProto& node,
                                        std::string_view name);  // empty if absent
std::string TextAttribute(const onnx::NodeProto& node, std::string_view name, const std::string& fallback);

// What is known of a node's output (shapes.h).
struct InferredOutput {
  bool is_tensor = true;  // false: a sequence, a map or an optional
  int elem_type = 0;      // 0 = not known
  // Dimensions that are not known have no value; nothing = not even the rank is known.
  std::optional<std::vector<std::optional<std::int64_t>>> dims;
};

}  // namespace stowplan::scenarios::onnx_import
