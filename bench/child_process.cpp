#include "bench/child_process.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/base/error.h"

namespace stowplan::bench {
namespace {

void Close(int& end) {
  if (end >= 0) close(end);
  end = -1;
}

}  // namespace

NumberPipe::NumberPipe() {
  if (pipe(ends_.data()) != 0) throw RunError("there is no pipe left for a process of a benchmark");
}

NumberPipe::~NumberPipe() {
  CloseReader();
  CloseWriter();
}

void NumberPipe::CloseReader() {
  Close(ends_[0]);
}

void NumberPipe::CloseWriter() {
  Close(ends_[1]);
}

bool NumberPipe::Read(double* numbers, std::size_t count) const {
  char* to = reinterpret_cast<char*>(numbers);
  for (std::size_t left = count * sizeof(double); left > 0;) {
    const ssize_t got = read(ends_[0], to, left);
    if (got <= 0) return false;
    to += got;
    left -= static_cast<std::size_t>(got);
  }
  return true;
}

bool NumberPipe::Write(const double* numbers, std::size_t count) const {
  const char* from = reinterpret_cast<const char*>(numbers);
  for (std::size_t left = count * sizeof(double); left > 0;) {
    const ssize_t put = write(ends_[1], from, left);
    if (put <= 0) return false;
    from += put;
    left -= static_cast<std::size_t>(put);
  }
  return true;
}

void StartChild(const std::function<void()>& work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw RunError("the system starts no process for a benchmark");
  if (child > 0) return;
  try {
    work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::_Exit(1);
  }
  std::_Exit(0);
}

void WaitForChildren() {
  while (wait(nullptr) > 0) {
  }
}

std::vector<double> RunInChild(const std::function<std::vector<double>()>& work) {
  NumberPipe result;
  StartChild([&] {
    result.CloseReader();
    const std::vector<double> numbers = work();
    const auto count = static_cast<double>(numbers.size());
    result.Write(&count, 1);
    result.Write(numbers.data(), numbers.size());
  });
  result.CloseWriter();
  double count = 0;
  std::vector<double> numbers;
  bool whole = result.Read(&count, 1);
  if (whole) {
    numbers.resize(static_cast<std::size_t>(count));
    whole = result.Read(numbers.data(), numbers.size());
  }
  WaitForChildren();
  if (!whole) throw RunError("a process of a benchmark ended without a result");
  return numbers;
}

}  // namespace stowplan::bench
