#include "agents/rl/nn/byte_state.h"

#include "sim/base/error.h"

namespace stowplan::agents::rl {

void StateWriter::PutText(std::string_view text) {
  Put<std::uint64_t>(text.size());
  bytes_.append(text);
}

std::int64_t StateReader::GetCount() {
  constexpr std::int64_t kMost = 1'000'000'000'000'000;
  const auto count = Get<std::int64_t>();
  if (count < 0 || count > kMost) Fail("it has counted to " + std::to_string(count));
  return count;
}

std::string StateReader::GetText() {
  return std::string(Next(Get<std::uint64_t>()));
}

void StateReader::Finish() const {
  if (!rest_.empty()) Fail(std::to_string(rest_.size()) + " bytes are left over");
}

void StateReader::Fail(const std::string& why) const {
  throw InputError(what_ + ": " + why + "; expected the state of the same agent on the same task");
}

std::string_view StateReader::Next(std::uint64_t count, std::uint64_t element_bytes) {
  if (count > rest_.size() / element_bytes) Fail("it ends too early");
  const std::string_view next = rest_.substr(0, static_cast<std::size_t>(count * element_bytes));
  rest_.remove_prefix(next.size());
  return next;
}

void SaveRng(const Rng& rng, StateWriter& out) {
  for (const std::uint64_t word : rng.state()) out.Put(word);
}

Rng LoadRng(StateReader& in) {
  Rng::State state;
  for (std::uint64_t& word : state) word = in.Get<std::uint64_t>();
  return Rng(state);
}

}  // namespace stowplan::agents::rl
