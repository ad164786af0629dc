// The strict YAML reader of every stowplan.* format, and of others' (the hardware catalogue).
#pragma once

#include <string>
#include <string_view>

#include "sim/formats/document/document.h"

namespace stowplan::formats {

// `source` is what messages call the text: a path. Throws InputError with file and line for what is not YAML,
// keys given twice, nesting beyond kMaxDepth, more than one document, and what stowplan's files have no use for:
// anchors, aliases, tags, keys that are no plain text. Every Value knows its line.
Document ParseYaml(std::string_view text, const std::string& source);

}  // namespace stowplan::formats
