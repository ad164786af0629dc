// Which of the known names a wrong one was probably meant to be: for messages about names of every kind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stowplan {

// The nearest of `known` by edit distance (letters changed, added, left out, or two neighbours swapped; case and
// - or _ make no difference), where at most a third of the letters differ; else the only one that `name` begins. Empty
// where neither is there. Of names of over 1000 letters none is near. Of equally near ones the first.
std::string NearestName(std::string_view name, const std::vector<std::string>& known);

// " (did you mean placeto?)", to stand behind the wrong name in a sentence; empty where no name is near.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& known);

}  // namespace stowplan
