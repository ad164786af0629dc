// Words of stowplan.cluster that are read and printed, in the order of their enumerators.
#pragma once

#include <string_view>

namespace stowplan::formats {

inline constexpr std::string_view kRules[] = {"native", "published"};
inline constexpr std::string_view kDuplexes[] = {"full", "half"};
inline constexpr std::string_view kPers[] = {"device", "process", "auto"};
inline constexpr std::string_view kOrders[] = {"ready", "program"};
inline constexpr std::string_view kModes[] = {"eager", "graph", "flat", "traced"};
inline constexpr std::string_view kAutomatic = "auto";

}  // namespace stowplan::formats
