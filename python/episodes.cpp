#include "python/episodes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "agents/search/objective.h"
#include "sim/base/error.h"
#include "sim/base/parallel.h"

namespace stowplan::python {

Episodes::Episodes(std::vector<std::shared_ptr<Prepared>> problems, int count, bool stepwise, int threads,
                   int units)
    : problems_(std::move(problems)),
      count_(static_cast<std::size_t>(std::max(count, 0))),
      units_(static_cast<std::size_t>(std::max(units, 0))),
      devices_(0),
      stepwise_(stepwise),
      threads_(CheckedThreads(threads)) {
  if (problems_.empty()) throw InputError("problems: there is none, wanted at least one.");
  if (count_ == 0) throw InputError(fmt::format("num_envs: {}, wanted at least 1.", count));
  devices_ = static_cast<std::int64_t>(problems_.front()->task().devices.size());
  for (const auto& problem : problems_) {
    if (static_cast<std::int64_t>(problem->task().devices.size()) != devices_)
      throw InputError("problems: one has another number of devices than the first.");
    if (static_cast<std::size_t>(problem->task().units.size()) > units_)
      throw InputError(fmt::format("units: {}, but a problem has {}.", units_, problem->task().units.size()));
  }
  simulators_.resize(static_cast<std::size_t>(threads_));
  for (auto& of_slot : simulators_) of_slot.resize(problems_.size());
  EpisodeStates& now = result_.now;
  now.problem.resize(count_);
  now.choice.resize(count_ * units_);
  now.current.resize(count_);
  now.runtime_us.resize(count_);
  now.fits.resize(count_);
  now.told.resize(count_);
  result_.before = now;
  result_.reward.resize(count_);
  result_.ended.resize(count_);
  value_.resize(count_);
  worker_ = std::thread([this] { Work(); });
}

Episodes::~Episodes() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stage_ = Stage::kClosing;
  }
  changed_.notify_all();
  worker_.join();
}

std::size_t Episodes::units_of(std::int32_t episode) const {
  const auto problem = static_cast<std::size_t>(result_.now.problem[static_cast<std::size_t>(episode)]);
  return static_cast<std::size_t>(problems_[problem]->task().units.size());
}

void Episodes::Check(const Starts& starts) const {
  const auto all_below = [](std::span<const std::int32_t> numbers, std::size_t most) {
    return std::ranges::all_of(numbers,
                               [&](std::int32_t n) { return n >= 0 && static_cast<std::size_t>(n) < most; });
  };
  if (starts.problem.size() != starts.which.size() || starts.choice.size() != starts.which.size() * units_ ||
      !all_below(starts.which, count_) || !all_below(starts.problem, problems_.size()) ||
      !all_below(starts.choice, static_cast<std::size_t>(devices_))) {
    throw InputError("starts: wanted episodes, a problem for each and a device for each of its units.");
  }
}

void Episodes::Begin(const Starts& starts) {
  EpisodeStates& now = result_.now;
  for (std::size_t i = 0; i < starts.which.size(); ++i) {
    const auto episode = static_cast<std::size_t>(starts.which[i]);
    now.problem[episode] = starts.problem[i];
    now.current[episode] = 0;
    now.told[episode] = 0;
    const auto choice = starts.choice.subspan(i * units_, units_);
    std::ranges::copy(choice, now.choice.begin() + static_cast<std::ptrdiff_t>(episode * units_));
  }
  if (stepwise_) Evaluate({starts.which.begin(), starts.which.end()});
}

void Episodes::Evaluate(const std::vector<std::int32_t>& episodes) {
  EpisodeStates& now = result_.now;
  ParallelFor(episodes.size(), threads_, [&](std::size_t item, int slot) {
    const auto episode = static_cast<std::size_t>(episodes[item]);
    const auto problem = static_cast<std::size_t>(now.problem[episode]);
    const agents::Task& task = problems_[problem]->task();
    agents::UnitPlacement placement(task.units.ops.size());
    for (std::size_t unit = 0; unit < placement.size(); ++unit)
      placement[unit] = task.devices[static_cast<std::size_t>(now.choice[episode * units_ + unit])];
    auto& simulator = simulators_[static_cast<std::size_t>(slot)][problem];
    if (simulator == nullptr) simulator = sim::MakeSimulator(problems_[problem]->problem());
    const agents::Evaluation evaluation = EvaluateUnits(task, *simulator, placement);
    now.runtime_us[episode] = sim::ToMicros(evaluation.runtime);
    now.fits[episode] = evaluation.feasible ? 1 : 0;
    now.told[episode] = 1;
    value_[episode] = agents::ShapedReward(task, evaluation);
  });
}

void Episodes::Send(std::span<const std::int32_t> actions, std::span<const std::int32_t> moved,
                    const Starts& begun, const Starts& again) {
  Check(begun);
  Check(again);
  const std::size_t each = stepwise_ ? 1 : units_;
  if (!moved.empty() && actions.size() != count_ * each) {
    throw InputError(
        fmt::format("action: {} numbers, wanted {} for each of {} episodes.", actions.size(), each, count_));
  }
  for (const std::int32_t episode : moved) {
    if (episode < 0 || static_cast<std::size_t>(episode) >= count_)
      throw InputError("moved: wanted numbers of episodes.");
    for (const std::int32_t action : actions.subspan(static_cast<std::size_t>(episode) * each, each)) {
      if (action < 0 || action >= devices_) {
        throw InputError(
            fmt::format("action: wanted 0 to {}, indices into the problem's devices.", devices_ - 1));
      }
    }
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stage_ != Stage::kIdle) throw InputError("send: what was sent before was not received; call recv().");
  // The caller's arrays are gone when the work is done.
  const auto kept = [](std::span<const std::int32_t> numbers) {
    return std::vector<std::int32_t>(numbers.begin(), numbers.end());
  };
  job_ = [this, each, actions = kept(actions), moved = kept(moved),
          begun = std::array{kept(begun.which), kept(begun.problem), kept(begun.choice)},
          again = std::array{kept(again.which), kept(again.problem), kept(again.choice)}] {
    std::ranges::fill(result_.reward, 0);
    std::ranges::fill(result_.ended, 0);
    EpisodeStates& now = result_.now;
    for (const std::int32_t number : moved) {
      const auto episode = static_cast<std::size_t>(number);
      const auto choice = now.choice.begin() + static_cast<std::ptrdiff_t>(episode * units_);
      if (stepwise_) {
        choice[now.current[episode]] = actions[episode];
        ++now.current[episode];
        result_.ended[episode] = static_cast<std::size_t>(now.current[episode]) == units_of(number) ? 1 : 0;
      } else {
        std::copy_n(actions.begin() + static_cast<std::ptrdiff_t>(episode * each), each, choice);
        result_.ended[episode] = 1;
      }
      result_.reward[episode] = stepwise_ ? -value_[episode] : 0;
    }
    Evaluate(moved);
    for (const std::int32_t number : moved)
      result_.reward[static_cast<std::size_t>(number)] += value_[static_cast<std::size_t>(number)];
    Begin({begun[0], begun[1], begun[2]});
    if (!again[0].empty()) result_.before = now;
    Begin({again[0], again[1], again[2]});
  };
  stage_ = Stage::kSent;
  changed_.notify_all();
}

void Episodes::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stage_ == Stage::kSent || stage_ == Stage::kClosing; });
    if (stage_ == Stage::kClosing) return;
    lock.unlock();
    std::exception_ptr failure;
    try {
      job_();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    if (stage_ == Stage::kClosing) return;
    stage_ = Stage::kDone;
    changed_.notify_all();
  }
}

const StepResult& Episodes::Recv(const std::function<void()>& pause) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (stage_ == Stage::kIdle) throw InputError("recv: nothing was sent; call send() first.");
  while (!changed_.wait_for(lock, std::chrono::milliseconds(100), [&] { return stage_ == Stage::kDone; })) {
    lock.unlock();
    pause();
    lock.lock();
  }
  stage_ = Stage::kIdle;
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  return result_;
}

}  // namespace stowplan::python
