#include "sim/base/error.h"

#include <cstdio>
#include <cstdlib>

namespace stowplan {

void CheckFailed(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: stowplan is wrong here: %s\n", file, line, what.c_str());
  std::abort();
}

}  // namespace stowplan
