// The settings of workloads and clusters: what one means and takes is said once, its default where it is used.
#pragma once

#include <string>
#include <vector>

#include "sim/base/settings.h"

namespace stowplan::scenarios {

inline constexpr int kFamilySize = 32;

inline constexpr const char* kHidden = "width of a layer";
inline constexpr const char* kHeads = "of attention; they divide the width";
inline constexpr const char* kFeedForward = "width between the two products";

// A whole number.
Setting Sized(const char* name, const char* what, double least, double most);
// Of a network that is unrolled in time.
Setting Layers(double least);

// The settings that the text of defaults names, "ops=16,us=100", in its order: of `own`, else of those that all share.
SettingTable TableOf(const std::string& defaults, const std::vector<Setting>& own = {});

}  // namespace stowplan::scenarios
