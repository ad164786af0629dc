#include "profiler/traces/trace_text.h"

#include <cstdlib>

#include <fmt/format.h>

namespace stowplan::profiler {

std::string MicrosText(Nanos time) {
  return fmt::format("{}{}.{:03}", time < 0 ? "-" : "", std::abs(time / 1000), std::abs(time % 1000));
}

}  // namespace stowplan::profiler
