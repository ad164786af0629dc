// Numbers with units as strings: "7.6GB/s", "25us", "12GiB". A space before the unit is allowed;
// bare numbers other than 0 are refused, and so is what is negative or beyond sim/base/units.h (bandwidths: 2^50
// bytes a second). Exact where the value is whole: "11440MiB" is 11440 * 2^20 bytes; otherwise to the nearest
// byte or picosecond.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/units.h"

namespace stowplan::formats {

// `where` opens the message of the InputError: "cluster.yaml:7: devices[0].memory".
sim::Bytes ParseBytes(std::string_view text, const std::string& where);
sim::Picos ParseTime(std::string_view text, const std::string& where);
std::int64_t ParseBandwidth(std::string_view text, const std::string& where);  // [B/s]

// The shortest exact text, which reads back equal: "12GiB", "7.6GB/s", "25us".
std::string PrintBytes(sim::Bytes bytes);
std::string PrintTime(sim::Picos time);
std::string PrintBandwidth(std::int64_t bytes_per_second);

}  // namespace stowplan::formats
