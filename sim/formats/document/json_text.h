// Pieces of JSON for writers that print large files without building them as objects first.
#pragma once

#include <string>
#include <string_view>

#include "sim/base/units.h"
#include "sim/op_graph.h"

namespace stowplan::formats {

// In quotes; what is not UTF-8 becomes U+FFFD.
void AppendJsonString(std::string& out, std::string_view text);
std::string JsonString(std::string_view text);

// The shortest decimal that reads back equal; null where it is not finite, which JSON cannot say.
void AppendJsonNumber(std::string& out, double value);

// Any attribute, on one line. A real stays a real ("2.0").
void AppendJsonAttribute(std::string& out, const sim::Attribute& attribute);
void AppendJsonAttributes(std::string& out, const sim::Attributes& attributes);

// Picoseconds as microseconds, exactly, without closing zeros: "12.5".
std::string JsonMicros(sim::Picos time);

}  // namespace stowplan::formats
