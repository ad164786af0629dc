// Many episodes of placing side by side, for stowplan.gym: what their actions do and pay. A step of all is one batch of simulations on
// a thread of its own, so that who asked for it may do something else meanwhile. Where episodes begin is drawn by the caller.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "python/prepared.h"

namespace stowplan::python {

// Episodes that begin: which, on which problem, from which placement ([which, units] actions).
struct Starts {
  std::span<const std::int32_t> which, problem, choice;
};

// By episode. Actions are indices into the devices of the episode's problem.
struct EpisodeStates {
  std::vector<std::int64_t> problem;
  std::vector<std::int64_t> choice;   // [episodes, units], 0 beyond those of the problem
  std::vector<std::int64_t> current;  // the unit that the next action of a stepwise episode places
  std::vector<double> runtime_us;     // of the last placement that was simulated
  std::vector<std::uint8_t> fits;
  std::vector<std::uint8_t> told;  // since it began one was
};

struct StepResult {
  EpisodeStates now, before;  // `before`: of those that ended and began again in the same step, as they ended
  std::vector<double> reward;
  std::vector<std::uint8_t> ended;
};

// One caller's thread at a time. Bad input is an InputError.
class Episodes {
 public:
  // `units`: places of an action, at least those of the largest problem. `stepwise`: an action is one device, else `units` of them.
  Episodes(std::vector<std::shared_ptr<Prepared>> problems, int count, bool stepwise, int threads, int units);
  ~Episodes();
  Episodes(const Episodes&) = delete;
  Episodes& operator=(const Episodes&) = delete;

  // `actions`: [episodes] or [episodes, units]; those of `moved` count. `begun` begin instead, `again` begin after they have ended.
  void Send(std::span<const std::int32_t> actions, std::span<const std::int32_t> moved, const Starts& begun,
            const Starts& again);
  // Waits for what was sent; `pause` is called several times a second meanwhile and may throw. Valid until the next Send().
  const StepResult& Recv(const std::function<void()>& pause);

 private:
  enum class Stage : std::uint8_t { kIdle, kSent, kDone, kClosing };

  void Check(const Starts& starts) const;
  void Begin(const Starts& starts);
  void Work();
  void Evaluate(const std::vector<std::int32_t>& episodes);
  std::size_t units_of(std::int32_t episode) const;

  std::vector<std::shared_ptr<Prepared>> problems_;
  std::size_t count_, units_;
  std::int64_t devices_;
  bool stepwise_;
  int threads_;
  std::vector<std::vector<std::unique_ptr<sim::Simulator>>> simulators_;  // by slot and problem
  StepResult result_;
  std::vector<double> value_;  // reward of each episode's placement
  std::function<void()> job_;
  std::exception_ptr failure_;
  Stage stage_ = Stage::kIdle;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread worker_;  // last: it reads the others
};

}  // namespace stowplan::python
