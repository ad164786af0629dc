// FNV-1a, 64 bits (Fowler, Noll, Vo), for what must come out the same on every machine. No protection against malice.
#pragma once

#include <cstdint>
#include <string_view>

namespace stowplan {

constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325;

// Of `text` behind what gave `hash`.
constexpr std::uint64_t Fnv1a(std::string_view text, std::uint64_t hash = kFnvStart) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace stowplan
