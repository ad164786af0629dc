// The columns of a table's file: agents, what stands for them in short, and the sets that every table may show.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/tables/table.h"
#include "sim/formats/document.h"

namespace berth::bench {

// `groups`: how many units the block's rows have where that is known, for `samples: pass`. Throws InputError.
std::vector<TableColumn> ReadColumns(const formats::Value& list, std::int64_t groups);

}  // namespace berth::bench
