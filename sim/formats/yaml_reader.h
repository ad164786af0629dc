// The strict YAML reader of every berth.* format, and of others' (the hardware catalogue).
#pragma once

#include <string>
#include <string_view>

#include "sim/formats/document.h"

namespace berth::formats {

// `source` is what messages call the text: a path. Throws InputError with file and line for what is not YAML,
// keys given twice, nesting beyond kMaxDepth, more than one document, and what berth's files have no use for:
// anchors, aliases, tags, keys that are no plain text. Every Value knows its line.
Document ParseYaml(std::string_view text, const std::string& source);

}  // namespace berth::formats
