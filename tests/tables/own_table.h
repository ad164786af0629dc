// The beginning and the rest of a small table's file.
#pragma once

#include <string>

namespace stowplan::testing {

inline const std::string kExample = STOWPLAN_SOURCE_DIR "/examples/table.yaml";
inline constexpr char kHead[] = "format: stowplan.experiment\nversion: 1\nname: mine\ncluster: k40(gpus=2)\n";
inline constexpr char kRest[] = "columns: [single_gpu, random]\nrows:\n  - {workload: chain(ops=4)}\n";

}  // namespace stowplan::testing
