#include "agents/shared_evaluation.h"

#include <cstring>
#include <iterator>
#include <type_traits>

#include "sim/error.h"

namespace berth::agents {
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

class Cursor {
 public:
  explicit Cursor(const std::string& bytes) : bytes_(bytes) {}

  template <typename T>
  T Get() {
    T value;
    Copy(&value, sizeof value);
    return value;
  }
  template <typename T>
  std::vector<T> GetList() {
    std::vector<T> values(Get<std::size_t>());
    Copy(values.data(), values.size() * sizeof(T));
    return values;
  }
  bool at_end() const { return at_ == bytes_.size(); }

 private:
  void Copy(void* to, std::size_t size) {
    BERTH_CHECK_LE(size, bytes_.size() - at_);
    if (size > 0) std::memcpy(to, bytes_.data() + at_, size);
    at_ += size;
  }

  const std::string& bytes_;
  std::size_t at_ = 0;
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

RankReport FromBytes(const std::string& bytes) {
  Cursor in(bytes);
  RankReport report;
  report.stop = in.Get<bool>();
  report.evaluations.resize(in.Get<std::size_t>());
  for (Evaluation& evaluation : report.evaluations) {
    evaluation.runtime = in.Get<sim::Picos>();
    evaluation.feasible = in.Get<bool>();
    evaluation.stopped = in.Get<bool>();
    if (in.Get<bool>()) evaluation.oom = in.Get<sim::OutOfMemory>();
    evaluation.peak = in.GetList<sim::Bytes>();
    evaluation.start = in.GetList<sim::Picos>();
  }
  BERTH_CHECK(in.at_end());
  return report;
}

RankReport ExchangeReports(Ranks& ranks, const RankReport& own) {
  RankReport all;
  for (const std::string& bytes : ranks.Exchange(ToBytes(own))) {
    RankReport part = FromBytes(bytes);
    all.stop = all.stop || part.stop;
    all.evaluations.insert(all.evaluations.end(), std::make_move_iterator(part.evaluations.begin()),
                           std::make_move_iterator(part.evaluations.end()));
  }
  return all;
}

}  // namespace berth::agents
