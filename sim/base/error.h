// Two kinds of failure, told apart by who can mend them.
//
// InputError: what the user gave is wrong. One full sentence: where (file, place), what is wrong, what would
// be right. Thrown anywhere, caught once in main(), exit status 2. STOWPLAN_CHECK: stowplan itself is wrong. Prints
// both values and aborts; never compiled out.
//
// Legitimate outcomes (out of memory, nothing feasible, budget spent) are values in results, never errors.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace stowplan {

class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The job could not be done although the input was right (a disk is full, a library refuses): exit status 1.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[noreturn]] void CheckFailed(const char* file, int line, const std::string& what);

}  // namespace stowplan

#define STOWPLAN_CHECK(condition) \
  ((condition) ? (void)0 : ::stowplan::CheckFailed(__FILE__, __LINE__, #condition))

#define STOWPLAN_CHECK_OP(op, a, b)                                                         \
  do {                                                                                      \
    const auto& stowplan_a = (a);                                                           \
    const auto& stowplan_b = (b);                                                           \
    if (!(stowplan_a op stowplan_b)) {                                                      \
      std::ostringstream stowplan_out;                                                      \
      stowplan_out << #a " " #op " " #b " (" << stowplan_a << " and " << stowplan_b << ")"; \
      ::stowplan::CheckFailed(__FILE__, __LINE__, stowplan_out.str());                      \
    }                                                                                       \
  } while (false)
#define STOWPLAN_CHECK_EQ(a, b) STOWPLAN_CHECK_OP(==, a, b)
#define STOWPLAN_CHECK_LE(a, b) STOWPLAN_CHECK_OP(<=, a, b)
#define STOWPLAN_CHECK_LT(a, b) STOWPLAN_CHECK_OP(<, a, b)
