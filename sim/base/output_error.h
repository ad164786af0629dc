// Standard output cannot be written.
#pragma once

#include <string>

#include "sim/base/error.h"

namespace stowplan {

// What is to be said of it depends on the reason, an errno: nothing where the reader has closed it (EPIPE).
class OutputError : public RunError {
 public:
  OutputError(const std::string& what, int reason) : RunError(what), reason_(reason) {}
  int reason() const { return reason_; }

 private:
  int reason_;
};

}  // namespace stowplan
