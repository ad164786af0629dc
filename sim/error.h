// Two kinds of failure, told apart by who can mend them.
//
// InputError: what the user gave is wrong. One full sentence: where (file, place), what is wrong, what would
// be right. Thrown anywhere, caught once in main(), exit status 2. BERTH_CHECK: berth itself is wrong. Prints
// both values and aborts; never compiled out.
//
// Legitimate outcomes (out of memory, nothing feasible, budget spent) are values in results, never errors.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace berth {

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

}  // namespace berth

#define BERTH_CHECK(condition) ((condition) ? (void)0 : ::berth::CheckFailed(__FILE__, __LINE__, #condition))

#define BERTH_CHECK_OP(op, a, b)                                                   \
  do {                                                                             \
    const auto& berth_a = (a);                                                     \
    const auto& berth_b = (b);                                                     \
    if (!(berth_a op berth_b)) {                                                   \
      std::ostringstream berth_out;                                                \
      berth_out << #a " " #op " " #b " (" << berth_a << " and " << berth_b << ")"; \
      ::berth::CheckFailed(__FILE__, __LINE__, berth_out.str());                   \
    }                                                                              \
  } while (false)
#define BERTH_CHECK_EQ(a, b) BERTH_CHECK_OP(==, a, b)
#define BERTH_CHECK_LE(a, b) BERTH_CHECK_OP(<=, a, b)
#define BERTH_CHECK_LT(a, b) BERTH_CHECK_OP(<, a, b)
