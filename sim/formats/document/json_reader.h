// The strict JSON reader of every stowplan.* format, and of others' (stowplan.trace, stowplan.cost_model).
#pragma once

#include <string>
#include <string_view>

#include "sim/formats/document/document.h"

namespace stowplan::formats {

// `source` is what messages call the text: a path. Throws InputError with line and column for what is not
// JSON (NaN and Infinity, comments, text after the end, broken UTF-8, numbers beyond double), and with the
// place for keys given twice and nesting beyond kMaxDepth. About 100 MB/s.
Document ParseJson(std::string_view text, const std::string& source);

}  // namespace stowplan::formats
