#include "agents/rl/random_stream.h"

#include <mutex>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "agents/rl/tensors.h"

namespace berth::agents::rl {
namespace {

// Torch keeps only the low 32 bits of a seed, so purpose and seed are mixed down to well-spread bits
// (splitmix64).
std::uint64_t Mix(std::uint64_t seed, std::string_view purpose) {
  std::uint64_t state = seed + 0x9e3779b97f4a7c15ULL;
  for (const char c : purpose) {
    state = (state ^ static_cast<unsigned char>(c)) * 0xbf58476d1ce4e5b9ULL;
    state ^= state >> 29;
  }
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9ULL;
  state = (state ^ (state >> 27)) * 0x94d049bb133111ebULL;
  return state ^ (state >> 31);
}

std::uint64_t Next64(at::Generator& generator) {
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return at::check_generator<at::CPUGeneratorImpl>(generator)->random64();
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view purpose)
    : generator_(at::make_generator<at::CPUGeneratorImpl>(Mix(seed, purpose))) {}

double RandomStream::Uniform() {
  return static_cast<double>(Next64(generator_) >> 11) * 0x1p-53;
}

std::int64_t RandomStream::Below(std::int64_t limit) {
  // The bias of a plain product is limit / 2^53: nothing that a placement could show.
  return static_cast<std::int64_t>(Uniform() * static_cast<double>(limit));
}

void RandomStream::Save(StateWriter& out) const {
  SaveTensor(generator_.get_state(), out);
}

void RandomStream::Load(StateReader& in) {
  at::Tensor state = generator_.get_state();
  LoadTensor(in, state);
  generator_.set_state(state);
}

}  // namespace berth::agents::rl
