#include "agents/shared_evaluation.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <type_traits>

#include "sim/base/error.h"

namespace stowplan::agents {
namespace {

template <typename T>
void Put(std::string& bytes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
void PutList(std::string& bytes, const std::vector<T>& values) {
  Put(bytes, values.size());
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// Once something is not whole nothing is, and all that is read is 0.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  T Get() {
    static_assert(!std::is_same_v<T, bool>, "a byte may be no bool: Flag()");
    T value{};
    Copy(&value, sizeof value);
    return value;
  }
  bool Flag() {
    const auto byte = Get<std::uint8_t>();
    whole_ = whole_ && byte <= 1;
    return byte == 1;
  }
  sim::OutOfMemory Oom() {
    using What = sim::OutOfMemory::What;
    std::array<char, sizeof(sim::OutOfMemory)> bytes{};
    Copy(bytes.data(), bytes.size());
    whole_ = whole_ && static_cast<std::uint8_t>(bytes[offsetof(sim::OutOfMemory, what)]) <=
                           static_cast<std::uint8_t>(What::kCopy);
    return whole_ ? std::bit_cast<sim::OutOfMemory>(bytes) : sim::OutOfMemory();
  }
  template <typename T>
  std::vector<T> GetList() {
    const auto count = Get<std::size_t>();
    whole_ = whole_ && count <= rest_.size() / sizeof(T);
    std::vector<T> values(whole_ ? count : 0);
    Copy(values.data(), values.size() * sizeof(T));
    return values;
  }
  bool whole() const { return whole_; }
  bool at_end() const { return rest_.empty(); }

 private:
  void Copy(void* to, std::size_t size) {
    whole_ = whole_ && size <= rest_.size();
    if (!whole_ || size == 0) return;
    std::memcpy(to, rest_.data(), size);
    rest_.remove_prefix(size);
  }

  std::string_view rest_;
  bool whole_ = true;
};

}  // namespace

std::string ToBytes(const RankReport& report) {
  std::string bytes;
  Put(bytes, report.stop);
  Put(bytes, report.evaluations.size());
  for (const Evaluation& evaluation : report.evaluations) {
    Put(bytes, evaluation.runtime);
    Put(bytes, evaluation.feasible);
    Put(bytes, evaluation.stopped);
    Put(bytes, evaluation.oom.has_value());
    if (evaluation.oom) Put(bytes, *evaluation.oom);
    PutList(bytes, evaluation.peak);
    PutList(bytes, evaluation.start);
  }
  return bytes;
}

std::optional<RankReport> FromBytes(std::string_view bytes) {
  Cursor in(bytes);
  RankReport report;
  report.stop = in.Flag();
  for (auto left = in.Get<std::size_t>(); left > 0 && in.whole(); --left) {
    Evaluation& evaluation = report.evaluations.emplace_back();
    evaluation.runtime = in.Get<sim::Picos>();
    evaluation.feasible = in.Flag();
    evaluation.stopped = in.Flag();
    if (in.Flag()) evaluation.oom = in.Oom();
    evaluation.peak = in.GetList<sim::Bytes>();
    evaluation.start = in.GetList<sim::Picos>();
  }
  return in.whole() && in.at_end() ? std::optional(std::move(report)) : std::nullopt;
}

RankReport ExchangeReports(Ranks& ranks, const RankReport& own) {
  RankReport all;
  for (const std::string& bytes : ranks.Exchange(ToBytes(own))) {
    std::optional<RankReport> part = FromBytes(bytes);
    STOWPLAN_CHECK(part.has_value());
    all.stop = all.stop || part->stop;
    all.evaluations.insert(all.evaluations.end(), std::make_move_iterator(part->evaluations.begin()),
                           std::make_move_iterator(part->evaluations.end()));
  }
  return all;
}

}  // namespace stowplan::agents
