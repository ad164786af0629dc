// Protobuf's wire format, as far as it is read and written without a schema: fields one after another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stowplan::scenarios {

// One field of a message.
struct WireField {
  std::uint32_t number = 0;
  int wire_type = 0;
  std::string_view head;  // tag and length as they stand
  std::string_view body;
};

// Takes the next field from the front of `rest`. Nothing where the bytes are no field or the field is cut off;
// `cut` gets the number of a field that is.
std::optional<WireField> TakeField(std::string_view& rest, std::uint32_t* cut = nullptr);

// Writes a field of bytes: wire type 2.
void AppendField(std::string& out, std::uint32_t number, std::string_view body);

}  // namespace stowplan::scenarios
