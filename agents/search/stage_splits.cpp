#include "agents/search/stage_splits.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <tuple>

#include "sim/base/error.h"

namespace stowplan::agents {
namespace {

using sim::Bytes;
using sim::Picos;

constexpr Picos kNever = std::numeric_limits<Picos>::max() / 4;
constexpr std::size_t kMostStates = std::size_t{1} << 22;    // of the dynamic programme
constexpr std::size_t kMostPrefixes = std::size_t{1} << 20;  // that are kept
constexpr std::size_t kMostLimits = 64;

std::size_t At(std::int32_t index) {
  return static_cast<std::size_t>(index);
}

// Micro-batches whose activations the first of so many last stages holds at once.
std::int64_t InFlight(const ChainCosts& costs, std::size_t stages) {
  return costs.gpipe ? costs.micro_batches
                     : std::min<std::int64_t>(costs.micro_batches, static_cast<std::int64_t>(stages));
}

// Sums over pieces in a row.
template <typename T>
class Sums {
 public:
  template <typename Of>
  Sums(std::size_t size, const Of& of) : before_(size + 1, 0) {
    for (std::size_t i = 0; i < size; ++i) before_[i + 1] = before_[i] + of(i);
  }
  T Over(std::size_t begin, std::size_t end) const { return before_[end] - before_[begin]; }

 private:
  std::vector<T> before_;
};

// What is left of each kind, as one number.
class DeviceCounts {
 public:
  explicit DeviceCounts(const std::vector<DeviceKind>& kinds) {
    for (const DeviceKind& kind : kinds) {
      step_.push_back(size_);
      most_.push_back(kind.devices.size());
      size_ *= kind.devices.size() + 1;
      if (size_ > kMostStates)
        throw InputError(
            "stages: devices of so many kinds can stand in too many orders; choose some with --devices.");
    }
  }
  std::size_t size() const { return size_; }
  std::size_t kinds() const { return step_.size(); }
  std::size_t Of(std::size_t state, std::size_t kind) const {
    return state / step_[kind] % (most_[kind] + 1);
  }
  std::size_t Without(std::size_t state, std::size_t kind) const { return state - step_[kind]; }
  std::size_t All(std::size_t state) const {
    std::size_t all = 0;
    for (std::size_t k = 0; k < kinds(); ++k) all += Of(state, k);
    return all;
  }

 private:
  std::vector<std::size_t> step_, most_;
  std::size_t size_ = 1;
};

class SplitSearch {
 public:
  SplitSearch(const ChainCosts& costs, double room)
      : costs_(costs),
        size_(costs.pieces.size()),
        room_(room),
        counts_(costs.kinds),
        held_(size_, [&](std::size_t i) { return costs.pieces[i].held; }),
        saved_(size_, [&](std::size_t i) { return costs.pieces[i].saved; }) {
    for (std::size_t k = 0; k < costs.kinds.size(); ++k) {
      time_.emplace_back(
          size_, [&](std::size_t i) { return costs.pieces[i].forward[k] + costs.pieces[i].backward[k]; });
      update_.emplace_back(size_, [&](std::size_t i) { return costs.pieces[i].update[k]; });
    }
    if ((size_ + 1) * counts_.size() > kMostStates)
      throw InputError("stages: there are too many pieces for so many devices; choose some with --devices.");
    FindLeastMaximum();
  }

  std::vector<StageSplit> Best(std::size_t count) {
    if (LeastOf(most_) >= kNever) return {};
    const std::size_t each = std::max<std::size_t>(count / 8, 1);
    FindRests();
    const Picos least_sum = LeastOf(sum_);
    std::map<std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>, StageSplit> found;
    const auto take = [&](const std::vector<StageSplit>& splits) {
      for (const StageSplit& split : splits) found.try_emplace({split.begins, split.devices}, split);
    };
    std::vector<StageSplit> splits;
    for (limit_ = LeastOf(most_); splits.empty(); limit_ += limit_ / 8 + 1) {
      FindRests();
      splits = SmallestSums(each);
    }
    take(splits);
    // What beats it has a maximum within this.
    const Picos beating = costs_.micro_batches > 1
                              ? (splits.front().estimate - least_sum) / (costs_.micro_batches - 1)
                              : kNever;
    limit_ = beating;
    for (std::size_t limits = 0; limits < kMostLimits && !splits.empty(); ++limits) {
      FindRests();
      splits = SmallestSums(each);
      take(splits);
      if (!splits.empty()) limit_ = splits.front().most - 1;
    }
    // Others, as far as there are any.
    limit_ = beating;
    for (std::size_t limits = 0; limits < kMostLimits && limit_ < kNever && found.size() < count; ++limits) {
      limit_ += limit_ / 8 + 1;
      FindRests();
      take(SmallestSums(count));
    }
    std::vector<StageSplit> best;
    for (auto& [key, split] : found) best.push_back(std::move(split));
    std::ranges::stable_sort(best, {}, &StageSplit::estimate);
    return best;
  }

 private:
  struct Prefix {
    std::size_t end = 0;  // pieces that it holds
    std::size_t state = 0, used_from = 0;
    Picos sum = 0, most = 0;
    std::int32_t before = -1, kind = -1;
  };

  std::size_t Rest(std::size_t piece, std::size_t state) const { return piece * counts_.size() + state; }

  // Calls `take(end, kind, time)` for each stage that may follow, the first of those that are left. More pieces never fit where
  // fewer do not.
  template <typename Take>
  void ForEachStage(std::size_t begin, std::size_t state, const Take& take) const {
    const std::size_t stages = counts_.All(state);
    for (std::size_t k = 0; k < counts_.kinds(); ++k) {
      if (counts_.Of(state, k) == 0) continue;
      const auto capacity = static_cast<Bytes>(static_cast<double>(costs_.kinds[k].capacity) * room_);
      const std::size_t last = size_ - (stages - 1);
      Bytes transient = 0;
      for (std::size_t end = begin + 1; end <= last; ++end) {
        transient = std::max(transient, costs_.pieces[end - 1].transient);
        if (held_.Over(begin, end) + InFlight(costs_, stages) * saved_.Over(begin, end) + transient >
            capacity)
          break;
        const Picos time = time_[k].Over(begin, end);
        if (time > limit_) break;
        if (stages > 1 || end == size_) take(end, k, time);
      }
    }
  }

  // Over all numbers of devices that may take part.
  Picos LeastOf(const std::vector<Picos>& of_rest) const {
    Picos least = kNever;
    for (std::size_t state = 1; state < counts_.size(); ++state) {
      if (IsRoot(state)) least = std::min(least, of_rest[Rest(0, state)]);
    }
    return least;
  }
  bool IsRoot(std::size_t state) const {
    return counts_.All(state) >= static_cast<std::size_t>(costs_.fewest);
  }

  // Of what is left the least value that any split has; all devices that are left take part. `join(begin, kind, end, time, rest)`.
  template <typename Join>
  void FindLeast(std::vector<Picos>& of_rest, const Join& join) const {
    of_rest.assign((size_ + 1) * counts_.size(), kNever);
    of_rest[Rest(size_, 0)] = 0;
    for (std::size_t begin = size_; begin-- > 0;) {
      for (std::size_t state = 1; state < counts_.size(); ++state) {
        if (counts_.All(state) > size_ - begin || (begin == 0 && !IsRoot(state))) continue;
        Picos& least = of_rest[Rest(begin, state)];
        ForEachStage(begin, state, [&](std::size_t end, std::size_t kind, Picos time) {
          const Picos rest = of_rest[Rest(end, counts_.Without(state, kind))];
          if (rest < kNever) least = std::min(least, join(begin, kind, end, time, rest));
        });
      }
    }
  }
  void FindLeastMaximum() {
    FindLeast(most_, [&](std::size_t begin, std::size_t, std::size_t, Picos time, Picos rest) {
      return std::max({time, Quickest(begin) / 2, rest});
    });
  }
  void FindRests() {
    FindLeast(sum_, [&](std::size_t begin, std::size_t kind, std::size_t end, Picos time, Picos rest) {
      return time + Quickest(begin) + rest + (begin == 0 ? update_[kind].Over(0, end) : 0);
    });
  }
  Picos Quickest(std::size_t begin) const { return begin > 0 ? costs_.quickest(begin) : 0; }

  // Of the splits within the limit, the smallest sum first.
  std::vector<StageSplit> SmallestSums(std::size_t count) {
    prefixes_.clear();
    open_ = {};
    for (std::size_t state = 1; state < counts_.size(); ++state) {
      if (IsRoot(state)) Push({.state = state, .used_from = state});
    }
    std::vector<StageSplit> found;
    while (!open_.empty() && found.size() < count && prefixes_.size() < kMostPrefixes) {
      const std::int32_t at = std::get<2>(open_.top());
      open_.pop();
      if (prefixes_[At(at)].end == size_) {
        found.push_back(Traced(at));
      } else {
        Expand(at);
      }
    }
    return found;
  }

  void Push(Prefix prefix) {
    const Picos rest = sum_[Rest(prefix.end, prefix.state)];
    if (rest >= kNever || prefix.most > limit_) return;
    open_.emplace(prefix.sum + rest, size_ - prefix.end, static_cast<std::int32_t>(prefixes_.size()));
    prefixes_.push_back(prefix);
  }

  // The devices of a kind are taken in their order.
  std::int32_t Device(const Prefix& from, std::size_t kind) const {
    return costs_.kinds[kind].devices[counts_.Of(from.used_from, kind) - counts_.Of(from.state, kind)];
  }
  std::int32_t LastDevice(const Prefix& prefix) const {
    return Device(prefixes_[At(prefix.before)], At(prefix.kind));
  }

  void Expand(std::int32_t at) {
    const Prefix from = prefixes_[At(at)];
    ForEachStage(from.end, from.state, [&](std::size_t end, std::size_t kind, Picos time) {
      Prefix to = {.end = end,
                   .state = counts_.Without(from.state, kind),
                   .used_from = from.used_from,
                   .sum = from.sum + time,
                   .most = std::max(from.most, time),
                   .before = at,
                   .kind = static_cast<std::int32_t>(kind)};
      if (from.end == 0) {
        to.sum += update_[kind].Over(0, end);
      } else {
        const std::int32_t last = LastDevice(from), next = Device(from, kind);
        const Picos forth = costs_.forth(from.end, last, next), back = costs_.back(from.end, next, last);
        to.sum += forth + back;
        to.most = std::max({to.most, forth, back});
      }
      Push(to);
    });
  }

  StageSplit Traced(std::int32_t at) const {
    StageSplit split;
    split.most = prefixes_[At(at)].most;
    split.estimate = prefixes_[At(at)].sum + (costs_.micro_batches - 1) * split.most;
    for (; prefixes_[At(at)].before >= 0; at = prefixes_[At(at)].before) {
      const Prefix& prefix = prefixes_[At(at)];
      split.begins.push_back(static_cast<std::int32_t>(prefixes_[At(prefix.before)].end));
      split.devices.push_back(LastDevice(prefix));
      split.kinds.push_back(prefix.kind);
    }
    for (auto* order : {&split.begins, &split.devices, &split.kinds}) std::ranges::reverse(*order);
    return split;
  }

  const ChainCosts& costs_;
  std::size_t size_;
  double room_;
  DeviceCounts counts_;
  Sums<Bytes> held_, saved_;
  std::vector<Sums<Picos>> time_, update_;  // by kind
  Picos limit_ = kNever;                    // of a stage or link
  std::vector<Picos> most_, sum_;           // by Rest(): the least
  std::vector<Prefix> prefixes_;
  // The least sum that it can come to first; of equal ones that with the least left, then the earliest.
  using Open = std::tuple<Picos, std::size_t, std::int32_t>;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open_;
};

// Runs the schedule, stage by stage as far as each can go.
class Schedule {
 public:
  Schedule(const ChainCosts& costs, const StageSplit& split)
      : costs_(costs), split_(split), stages_(split.begins.size()), batches_(costs.micro_batches) {
    for (std::size_t s = 0; s < stages_; ++s) {
      const std::size_t begin = At(split.begins[s]);
      const std::size_t end = s + 1 < stages_ ? At(split.begins[s + 1]) : costs.pieces.size();
      Stage stage;
      for (std::size_t i = begin; i < end; ++i) {
        const std::size_t kind = At(split.kinds[s]);
        stage.time[0] += costs.pieces[i].forward[kind];
        stage.time[1] += costs.pieces[i].backward[kind];
        stage.update += costs.pieces[i].update[kind];
      }
      if (s > 0) stage.forth = costs.forth(begin, split.devices[s - 1], split.devices[s]);
      if (s + 1 < stages_) stage.back = costs.back(end, split.devices[s + 1], split.devices[s]);
      stage.ready[0].assign(static_cast<std::size_t>(batches_), s == 0 ? 0 : kNever);
      stage.ready[1].assign(static_cast<std::size_t>(batches_), kNever);
      line_.push_back(std::move(stage));
    }
  }

  Picos Run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < stages_; ++s) {
        while (Step(s)) moved = true;
      }
    }
    Picos end = 0;
    for (const Stage& stage : line_) end = std::max(end, stage.free + stage.update);
    return end;
  }

 private:
  struct Stage {
    Picos time[2] = {0, 0}, update = 0;  // forward, backward
    Picos forth = 0, back = 0;           // what arrives
    Picos free = 0, forth_free = 0, back_free = 0;
    std::int64_t done[2] = {0, 0};
    std::vector<Picos> ready[2];  // by micro-batch
  };

  bool NextIsForward(std::size_t s) const {
    const Stage& stage = line_[s];
    if (stage.done[0] == batches_) return false;
    const auto ahead =
        costs_.gpipe ? batches_ : std::min<std::int64_t>(batches_, static_cast<std::int64_t>(stages_ - s));
    return stage.done[0] - stage.done[1] < ahead;
  }

  bool Step(std::size_t s) {
    Stage& stage = line_[s];
    const int way = NextIsForward(s) ? 0 : 1;
    const auto batch = static_cast<std::size_t>(stage.done[way]);
    if (stage.done[way] == batches_ || stage.ready[way][batch] >= kNever) return false;
    stage.free = std::max(stage.free, stage.ready[way][batch]) + stage.time[way];
    ++stage.done[way];
    if (way == 0 && s + 1 == stages_) stage.ready[1][batch] = stage.free;
    if (way == 0 && s + 1 < stages_) {
      Stage& next = line_[s + 1];
      next.forth_free = std::max(next.forth_free, stage.free) + next.forth;
      next.ready[0][batch] = next.forth_free;
    }
    if (way == 1 && s > 0) {
      Stage& next = line_[s - 1];
      next.back_free = std::max(next.back_free, stage.free) + next.back;
      next.ready[1][batch] = next.back_free;
    }
    return true;
  }

  const ChainCosts& costs_;
  const StageSplit& split_;
  std::size_t stages_;
  std::int64_t batches_;
  std::vector<Stage> line_;
};

}  // namespace

std::vector<StageSplit> BestSplits(const ChainCosts& costs, std::size_t count, double room) {
  return SplitSearch(costs, room).Best(count);
}

std::vector<Bytes> PeaksOf(const ChainCosts& costs, const StageSplit& split) {
  std::vector<Bytes> peaks;
  for (std::size_t s = 0; s < split.begins.size(); ++s) {
    const std::size_t end = s + 1 < split.begins.size() ? At(split.begins[s + 1]) : costs.pieces.size();
    Bytes held = 0, transient = 0;
    for (std::size_t i = At(split.begins[s]); i < end; ++i) {
      const PieceCost& piece = costs.pieces[i];
      held += piece.held + InFlight(costs, split.begins.size() - s) * piece.saved;
      transient = std::max(transient, piece.transient);
    }
    peaks.push_back(held + transient);
  }
  return peaks;
}

Picos ScheduleTime(const ChainCosts& costs, const StageSplit& split) {
  return Schedule(costs, split).Run();
}

}  // namespace stowplan::agents
