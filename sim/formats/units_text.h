// Numbers with units as strings: "7.6GB/s", "25us", "12GiB" (DESIGN 3). A space before the unit is allowed; bare
// numbers other than 0 are refused. Exact where the value is: "11440MiB" is 11440 * 2^20 bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/units.h"

namespace berth::formats {

// `where` opens the message of the InputError: "cluster.yaml:7: devices[0].memory".
sim::Bytes ParseBytes(std::string_view text, const std::string& where);
sim::Picos ParseTime(std::string_view text, const std::string& where);
std::int64_t ParseBandwidth(std::string_view text, const std::string& where);  // [B/s]

// The shortest text that reads back equal: "12GiB", "7.6GB/s", "25us".
std::string PrintBytes(sim::Bytes bytes);
std::string PrintTime(sim::Picos time);
std::string PrintBandwidth(std::int64_t bytes_per_second);

}  // namespace berth::formats
