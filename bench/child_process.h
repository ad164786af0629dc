// Work in processes of its own: what shares nothing with this one, or can be done once in a process only.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

namespace stowplan::bench {

// Numbers from one process to another. Both ends close themselves; a process closes the end it has no use for, else readers
// wait for ever.
class NumberPipe {
 public:
  NumberPipe();  // throws RunError where the system has none left
  ~NumberPipe();
  NumberPipe(const NumberPipe&) = delete;
  NumberPipe& operator=(const NumberPipe&) = delete;

  // Waits until they are there; false where all writers are gone before.
  bool Read(double* numbers, std::size_t count) const;
  bool Write(const double* numbers, std::size_t count) const;
  void CloseReader();
  void CloseWriter();

 private:
  std::array<int, 2> ends_{-1, -1};
};

// Starts a copy of this process that does `work` and ends, without what is done at a normal exit.
void StartChild(const std::function<void()>& work);
void WaitForChildren();

// The numbers that `work` returns in a child. Throws RunError where it ends without them: it crashed, or threw, and has said
// why on standard error.
std::vector<double> RunInChild(const std::function<std::vector<double>()>& work);

}  // namespace stowplan::bench
