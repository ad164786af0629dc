#include "scenarios/onnx_files/wire_format.h"

#include <limits>

namespace stowplan::scenarios {
namespace {

std::optional<std::uint64_t> TakeVarint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

void AppendVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

}  // namespace

std::optional<WireField> TakeField(std::string_view& rest, std::uint32_t* cut) {
  const char* start = rest.data();
  const auto tag = TakeVarint(rest);
  if (!tag || *tag >> 3 == 0 || *tag > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  WireField field;
  field.number = static_cast<std::uint32_t>(*tag >> 3);
  field.wire_type = static_cast<int>(*tag & 7);
  std::uint64_t length = 0;
  const char* body = rest.data();
  switch (field.wire_type) {
    case 0:
      if (!TakeVarint(rest)) return std::nullopt;
      field.head = {start, static_cast<std::size_t>(body - start)};
      field.body = {body, static_cast<std::size_t>(rest.data() - body)};
      return field;
    case 1:
      length = 8;
      break;
    case 2: {
      const auto given = TakeVarint(rest);
      if (!given) return std::nullopt;
      length = *given;
      break;
    }
    case 5:
      length = 4;
      break;
    default:
      return std::nullopt;
  }
  if (length > rest.size()) {
    if (cut != nullptr) *cut = field.number;
    return std::nullopt;
  }
  field.head = {start, static_cast<std::size_t>(rest.data() - start)};
  field.body = rest.substr(0, static_cast<std::size_t>(length));
  rest.remove_prefix(static_cast<std::size_t>(length));
  return field;
}

void AppendField(std::string& out, std::uint32_t number, std::string_view body) {
  AppendVarint(out, std::uint64_t{number} << 3 | 2);
  AppendVarint(out, body.size());
  out += body;
}

}  // namespace stowplan::scenarios
