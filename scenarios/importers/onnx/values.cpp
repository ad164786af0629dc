#include "scenarios/importers/onnx/values.h"

#include <bit>
#include <cstring>
#include <utility>

namespace stowplan::scenarios::onnx_import {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

using onnx::TensorProto;

template <typename From, typename To>
std::vector<To> FromRaw(const std::string& raw) {
  std::vector<To> data(raw.size() / sizeof(From));
  for (std::size_t i = 0; i < data.size(); ++i) {
    From number;
    std::memcpy(&number, raw.data() + i * sizeof(From), sizeof(From));
    data[i] = static_cast<To>(number);
  }
  return data;
}

template <typename To, typename Field>
std::vector<To> FromField(const Field& field) {
  return {field.begin(), field.end()};
}

std::vector<std::int64_t> IntsOf(const TensorProto& tensor) {
  const std::string& raw = tensor.raw_data();
  const bool is_raw = tensor.has_raw_data();
  switch (tensor.data_type()) {
    case TensorProto::INT64:
      return is_raw ? FromRaw<std::int64_t, std::int64_t>(raw) : FromField<std::int64_t>(tensor.int64_data());
    case TensorProto::INT32:
      return is_raw ? FromRaw<std::int32_t, std::int64_t>(raw) : FromField<std::int64_t>(tensor.int32_data());
    case TensorProto::INT16:
      return is_raw ? FromRaw<std::int16_t, std::int64_t>(raw) : FromField<std::int64_t>(tensor.int32_data());
    case TensorProto::INT8:
      return is_raw ? FromRaw<std::int8_t, std::int64_t>(raw) : FromField<std::int64_t>(tensor.int32_data());
    case TensorProto::UINT8:
    case TensorProto::BOOL:
      return is_raw ? FromRaw<std::uint8_t, std::int64_t>(raw) : FromField<std::int64_t>(tensor.int32_data());
    default:
      return {};
  }
}

bool IsInteger(int elem_type) {
  switch (elem_type) {
    case TensorProto::INT64:
    case TensorProto::INT32:
    case TensorProto::INT16:
    case TensorProto::INT8:
    case TensorProto::UINT8:
    case TensorProto::BOOL:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string DtypeOf(int elem_type) {
  switch (elem_type) {
    case TensorProto::FLOAT:
      return "f32";
    case TensorProto::DOUBLE:
      return "f64";
    case TensorProto::FLOAT16:
      return "f16";
    case TensorProto::BFLOAT16:
      return "bf16";
    case TensorProto::INT64:
      return "i64";
    case TensorProto::INT32:
      return "i32";
    case TensorProto::INT16:
      return "i16";
    case TensorProto::INT8:
      return "i8";
    case TensorProto::UINT64:
      return "u64";
    case TensorProto::UINT32:
      return "u32";
    case TensorProto::UINT16:
      return "u16";
    case TensorProto::UINT8:
      return "u8";
    case TensorProto::BOOL:
      return "bool";
    // Types that the library has no name for.
    case 17:  // FLOAT8E4M3FN
    case 18:  // FLOAT8E4M3FNUZ
    case 19:  // FLOAT8E5M2
    case 20:  // FLOAT8E5M2FNUZ
      return "f8";
    case 21:
      return "u4";
    case 22:
      return "i4";
    case 23:  // FLOAT4E2M1
      return "f4";
    default:
      return {};
  }
}

ValuePtr ValueOf(const TensorProto& tensor) {
  if (tensor.data_location() == TensorProto::EXTERNAL) return nullptr;
  Value value;
  std::size_t elements = 1;
  for (const std::int64_t dim : tensor.dims()) {
    if (dim < 0 || dim > static_cast<std::int64_t>(1) << 20) return nullptr;
    elements *= static_cast<std::size_t>(dim);
    if (elements > std::size_t{1} << 20) return nullptr;
    value.shape.push_back(dim);
  }
  std::size_t held = 0;
  if (IsInteger(tensor.data_type())) {
    auto ints = IntsOf(tensor);
    held = ints.size();
    value.data = std::move(ints);
  } else if (tensor.data_type() == TensorProto::FLOAT || tensor.data_type() == TensorProto::DOUBLE) {
    const bool single = tensor.data_type() == TensorProto::FLOAT;
    std::vector<double> reals;
    if (tensor.has_raw_data()) {
      reals = single ? FromRaw<float, double>(tensor.raw_data()) : FromRaw<double, double>(tensor.raw_data());
    } else {
      reals = single ? FromField<double>(tensor.float_data()) : FromField<double>(tensor.double_data());
    }
    held = reals.size();
    value.data = std::move(reals);
  } else {
    return nullptr;
  }
  // Data that was dropped or never there.
  if (held != elements) return nullptr;
  return std::make_shared<const Value>(std::move(value));
}

TensorProto ToProto(const Value& value, int elem_type) {
  TensorProto proto;
  proto.set_data_type(elem_type);
  for (const std::int64_t dim : value.shape) proto.add_dims(dim);
  if (const auto* reals = value.reals()) {
    for (const double real : *reals) {
      if (elem_type == TensorProto::DOUBLE) {
        proto.add_double_data(real);
      } else {
        proto.add_float_data(static_cast<float>(real));
      }
    }
  } else {
    for (const std::int64_t number : *value.ints()) {
      if (elem_type == TensorProto::INT64) {
        proto.add_int64_data(number);
      } else {
        proto.add_int32_data(static_cast<std::int32_t>(number));
      }
    }
  }
  return proto;
}

const onnx::AttributeProto* FindAttribute(const onnx::NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

std::int64_t IntAttribute(const onnx::NodeProto& node, std::string_view name, std::int64_t fallback) {
  const auto* attribute = FindAttribute(node, name);
  return attribute != nullptr && attribute->has_i() ? attribute->i() : fallback;
}

std::vector<std::int64_t> IntsAttribute(const onnx::NodeProto& node, std::string_view name) {
  const auto* attribute = FindAttribute(node, name);
  return attribute != nullptr ? std::vector<std::int64_t>(attribute->ints().begin(), attribute->ints().end())
                              : std::vector<std::int64_t>{};
}

std::string TextAttribute(const onnx::NodeProto& node, std::string_view name, const std::string& fallback) {
  const auto* attribute = FindAttribute(node, name);
  return attribute != nullptr && attribute->has_s() ? attribute->s() : fallback;
}

}  // namespace stowplan::scenarios::onnx_import
