#include "bench/tables/fingerprint.h"

#include <fmt/format.h>

#include "sim/formats/formats.h"

namespace berth::bench {
namespace {

constexpr std::uint64_t kPrime = 0x100000001b3;

}  // namespace

void Fingerprint::Add(std::string_view text) {
  Add(static_cast<std::int64_t>(text.size()));
  for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * kPrime;
}

void Fingerprint::Add(std::int64_t number) {
  auto rest = static_cast<std::uint64_t>(number);
  for (int byte = 0; byte < 8; ++byte, rest >>= 8) hash_ = (hash_ ^ (rest & 0xff)) * kPrime;
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
  for (const sim::Picos picos : problem.costs().picos) fingerprint.Add(picos);
  return fingerprint;
}

}  // namespace berth::bench
