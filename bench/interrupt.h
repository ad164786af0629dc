// Ctrl-C (SIGINT) and SIGTERM end long work cleanly: the first one asks, the second one kills.
#pragma once

#include <atomic>

namespace berth::bench {

// Installs the handlers at the first call; the flag is set once the user asks to stop.
const std::atomic<bool>& StopRequested();

}  // namespace berth::bench
