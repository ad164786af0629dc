#include "agents/search/stage_splits.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

#include "sim/base/error.h"

namespace stowplan::agents {
namespace {

using sim::Bytes;
using sim::Picos;

constexpr Picos kNever = std::numeric_limits<Picos>::max() / 4;
constexpr std::size_t kMostStates = std::size_t{1} << 22;    // of the dynamic programme
constexpr std::size_t kMostPrefixes = std::size_t{1} << 19;  // that are kept

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
        saved_(size_, [&](std::size_t i) { return costs.pieces[i].saved; }),
        behind_(size_ + 1, 0) {
    for (std::size_t k = 0; k < costs.kinds.size(); ++k) {
      forward_.emplace_back(size_, [&](std::size_t i) { return costs.pieces[i].forward[k]; });
      backward_.emplace_back(size_, [&](std::size_t i) { return costs.pieces[i].backward[k]; });
      update_.emplace_back(size_, [&](std::size_t i) { return costs.pieces[i].update[k]; });
    }
    for (std::size_t i = size_; i-- > 0;) {
      Picos least = kNever;
      for (std::size_t k = 0; k < costs.kinds.size(); ++k) least = std::min(least, Time(k, i, i + 1));
      behind_[i] = behind_[i + 1] + least;
    }
    if ((size_ + 1) * counts_.size() > kMostStates)
      throw InputError("stages: there are too many pieces for so many devices; choose some with --devices.");
    FindRests();
  }

  // Where too many prefixes are about as good, those that differ by less than a part of the least bound count as equal.
  std::vector<StageSplit> Best(std::size_t count) {
    std::vector<StageSplit> found;
    for (const double part : {0.0, 0.001, 0.01, 1.0}) {
      found = Search(count, part);
      if (found.size() >= count || prefixes_.size() < kMostPrefixes) break;
    }
    std::ranges::stable_sort(found, {}, &StageSplit::estimate);
    return found;
  }

 private:
  struct Prefix {
    std::size_t end = 0;  // pieces that it holds
    std::size_t state = 0, used_from = 0;
    Picos before = 0,
          worst = 0;  // what a stage behind it has before it; what its own worst stage or link takes
    std::int32_t previous = -1, kind = -1;
  };

  std::size_t Rest(std::size_t piece, std::size_t state) const { return piece * counts_.size() + state; }
  Picos Time(std::size_t kind, std::size_t begin, std::size_t end) const {
    return forward_[kind].Over(begin, end) + backward_[kind].Over(begin, end);
  }

  // Calls `take(end, kind)` for each stage that may follow, the first of those that are left. More pieces never fit where fewer do
  // not.
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
        const Bytes saved = InFlight(costs_, stages) * saved_.Over(begin, end);
        if (held_.Over(begin, end) + saved + transient > capacity) break;
        if (stages > 1 || end == size_) take(end, k);
      }
    }
  }

  // What the first of so many last stages takes of its own.
  Picos OwnTime(std::size_t kind, std::size_t begin, std::size_t end, std::size_t stages) const {
    const Picos covered = costs_.gpipe ? 0 : (InFlight(costs_, stages) - 1) * forward_[kind].Over(begin, end);
    return costs_.micro_batches * Time(kind, begin, end) + std::max<Picos>(0, behind_[end] - covered);
  }

  // The least that what is left takes, from when the first micro-batch comes; all devices that are left take part.
  void FindRests() {
    least_.assign((size_ + 1) * counts_.size(), kNever);
    least_[Rest(size_, 0)] = 0;
    for (std::size_t begin = size_; begin-- > 0;) {
      const Picos link = begin > 0 ? costs_.quickest(begin) : 0;
      for (std::size_t state = 1; state < counts_.size(); ++state) {
        const std::size_t stages = counts_.All(state);
        if (stages > size_ - begin) continue;
        Picos& least = least_[Rest(begin, state)];
        ForEachStage(begin, state, [&](std::size_t end, std::size_t kind) {
          const Picos rest = least_[Rest(end, counts_.Without(state, kind))];
          if (rest >= kNever) return;
          const Picos worst = std::max(OwnTime(kind, begin, end, stages), Time(kind, begin, end) + rest);
          const Picos update = begin == 0 ? update_[kind].Over(0, end) : 0;
          least = std::min(least, std::max(costs_.micro_batches * (link / 2), link + worst) + update);
        });
      }
    }
  }

  std::vector<StageSplit> Search(std::size_t count, double part) {
    prefixes_.clear();
    open_ = {};
    equal_ = 1;
    Picos least = kNever;
    for (std::size_t state = 1; state < counts_.size(); ++state)
      least = std::min(least, least_[Rest(0, state)]);
    if (least < kNever) equal_ += static_cast<Picos>(part * static_cast<double>(least));
    for (std::size_t state = 1; state < counts_.size(); ++state) {
      if (counts_.All(state) >= static_cast<std::size_t>(costs_.fewest))
        Push({.state = state, .used_from = state});
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

  void Push(const Prefix& prefix) {
    const Picos rest = least_[Rest(prefix.end, prefix.state)];
    if (rest >= kNever) return;
    open_.emplace(std::max(prefix.worst, prefix.before + rest) / equal_, size_ - prefix.end,
                  static_cast<std::int32_t>(prefixes_.size()));
    prefixes_.push_back(prefix);
  }

  // The devices of a kind are taken in their order.
  std::int32_t Device(const Prefix& from, std::size_t kind) const {
    return costs_.kinds[kind].devices[counts_.Of(from.used_from, kind) - counts_.Of(from.state, kind)];
  }
  std::int32_t LastDevice(const Prefix& prefix) const {
    return Device(prefixes_[At(prefix.previous)], At(prefix.kind));
  }

  void Expand(std::int32_t at) {
    const Prefix from = prefixes_[At(at)];
    ForEachStage(from.end, from.state, [&](std::size_t end, std::size_t kind) {
      Prefix to = {.end = end,
                   .state = counts_.Without(from.state, kind),
                   .used_from = from.used_from,
                   .before = from.before,
                   .worst = from.worst,
                   .previous = at,
                   .kind = static_cast<std::int32_t>(kind)};
      if (from.end == 0) {
        to.before += update_[kind].Over(0, end);
      } else {
        const std::int32_t last = LastDevice(from), next = Device(from, kind);
        const Picos forth = costs_.forth(from.end, last, next), back = costs_.back(from.end, next, last);
        to.worst = std::max(to.worst, to.before + costs_.micro_batches * std::max(forth, back));
        to.before += forth + back;
      }
      to.worst = std::max(to.worst, to.before + OwnTime(kind, from.end, end, counts_.All(from.state)));
      to.before += Time(kind, from.end, end);
      Push(to);
    });
  }

  StageSplit Traced(std::int32_t at) const {
    StageSplit split;
    split.estimate = prefixes_[At(at)].worst;
    for (; prefixes_[At(at)].previous >= 0; at = prefixes_[At(at)].previous) {
      const Prefix& prefix = prefixes_[At(at)];
      split.begins.push_back(static_cast<std::int32_t>(prefixes_[At(prefix.previous)].end));
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
  std::vector<Picos> behind_;                             // by piece: the least time of it and all behind
  std::vector<Sums<Picos>> forward_, backward_, update_;  // by kind
  std::vector<Picos> least_;                              // by Rest()
  std::vector<Prefix> prefixes_;
  Picos equal_ = 1;  // bounds within one such part are equal
  // The least bound first; of equal ones that with the least left, then the earliest.
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
