// The strict YAML reader of every stowplan.* format, and of others' (the hardware catalogue).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sim/formats/document/document.h"

namespace stowplan::formats {

// What a file of anybody's may have: yaml-cpp takes up to 250 times the text, of lists that are not closed.
inline constexpr std::size_t kMostYamlBytes = std::size_t{4} << 20;

// `source` is what messages call the text: a path. Throws InputError with file and line for what is not YAML,
// keys given twice, nesting beyond kMaxDepth, more than one document, and what stowplan's files have no use for:
// anchors, aliases, tags, keys that are no plain text, and more than `most` bytes. Every Value knows its line.
Document ParseYaml(std::string_view text, const std::string& source, std::size_t most = kMostYamlBytes);

}  // namespace stowplan::formats
