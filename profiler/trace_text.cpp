#include "profiler/trace_text.h"

#include <cstdlib>

#include <fmt/format.h>

namespace berth::profiler {

std::string MicrosText(Nanos time) {
  return fmt::format("{}{}.{:03}", time < 0 ? "-" : "", std::abs(time / 1000), std::abs(time % 1000));
}

}  // namespace berth::profiler
