// Bytes of a learner's state: written and read back field by field, in one order, in host byte order. Used
// only inside checkpoints, which carry a checksum; a reader still checks every length, because a checkpoint
// of other sizes is well-formed bytes too.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "agents/random_numbers.h"

namespace stowplan::agents::rl {

class StateWriter {
 public:
  template <typename T>
  void Put(T value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <typename T>
  void PutList(const std::vector<T>& values) {
    static_assert(std::is_arithmetic_v<T>);
    Put<std::uint64_t>(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  void PutText(std::string_view text);
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class StateReader {
 public:
  // `bytes` must outlive the reader; `what` names them in messages.
  StateReader(std::string_view bytes, std::string what) : rest_(bytes), what_(std::move(what)) {}

  // All throw InputError where the bytes end too early.
  template <typename T>
  T Get() {
    T value;
    std::memcpy(&value, Next(sizeof value).data(), sizeof value);
    return value;
  }
  template <typename T>
  std::vector<T> GetList() {
    const auto size = Get<std::uint64_t>();
    const std::string_view bytes = Next(size, sizeof(T));
    std::vector<T> values(static_cast<std::size_t>(size));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::int64_t
  GetCount();  // of what was done so far: refused where it is negative or counting on could overflow
  std::string GetText();
  // Throws InputError if anything is left: the state is of something else.
  void Finish() const;
  [[noreturn]] void Fail(const std::string& why) const;

 private:
  std::string_view Next(std::uint64_t count, std::uint64_t element_bytes = 1);

  std::string_view rest_;
  std::string what_;
};

// Where a stream of random numbers stands.
void SaveRng(const Rng& rng, StateWriter& out);
Rng LoadRng(StateReader& in);

}  // namespace stowplan::agents::rl
