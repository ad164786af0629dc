#include "problem/fingerprint.h"

#include <array>

#include <fmt/format.h>

#include "sim/formats/formats.h"

namespace stowplan::problem {
void Fingerprint::Add(std::string_view text) {
  Add(static_cast<std::int64_t>(text.size()));
  hash_ = Fnv1a(text, hash_);
}

void Fingerprint::Add(std::int64_t number) {
  std::array<char, 8> bytes;
  auto rest = static_cast<std::uint64_t>(number);
  for (char& byte : bytes) {
    byte = static_cast<char>(rest & 0xff);
    rest >>= 8;
  }
  hash_ = Fnv1a({bytes.data(), bytes.size()}, hash_);
}

std::string Fingerprint::ToString() const {
  return fmt::format("{:016x}", hash_);
}

std::string GraphFingerprint(const sim::OpGraph& graph) {
  Fingerprint fingerprint;
  fingerprint.Add(formats::PrintGraph(graph));
  return fingerprint.ToString();
}

Fingerprint FingerprintOf(const sim::Problem& problem) {
  Fingerprint fingerprint;
  fingerprint.Add(formats::PrintGraph(problem.graph()));
  fingerprint.Add(formats::PrintCluster(problem.cluster()));
  for (sim::OpIndex op = 0; op < problem.graph().size(); ++op) {
    for (sim::DeviceIndex d = 0; d < problem.cluster().size(); ++d)
      fingerprint.Add(problem.costs().at(op, d));
  }
  return fingerprint;
}

}  // namespace stowplan::problem
