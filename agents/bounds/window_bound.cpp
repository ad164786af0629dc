#include "agents/bounds/window_bound.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace stowplan::agents {
namespace {

// For one `behind`: all spans' heads as `before`, in one sweep. Between heads the bound bends upwards, so that none is missed.
class Sweep {
 public:
  Sweep(const std::vector<Span>& spans, double devices) : spans_(spans), devices_(devices) {
    for (std::size_t i = 0; i < spans.size(); ++i) by_head_.push_back(i);
    std::ranges::sort(by_head_, {}, [&](std::size_t i) { return spans_[i].head; });
  }

  // The best bound of windows with `behind`, and its `before`.
  std::pair<double, sim::Picos> Best(sim::Picos behind, sim::Picos known) {
    ends_.clear();
    double waiting = 0;  // length of what has not started
    for (const Span& span : spans_) {
      const sim::Picos length = span.Within(0, behind);
      if (length == 0) continue;
      waiting += static_cast<double>(length);
      ends_.push_back(span.head + length);
    }
    std::ranges::sort(ends_);
    std::pair<double, sim::Picos> best = {0, 0};
    double running = 0;       // how many have started and not ended
    double running_ends = 0;  // the sum of their ends
    std::size_t ended = 0;
    for (std::size_t i = 0; i < by_head_.size();) {
      const sim::Picos before = spans_[by_head_[i]].head;
      if (before + behind > known) break;
      for (; ended < ends_.size() && ends_[ended] <= before; ++ended) {
        --running;
        running_ends -= static_cast<double>(ends_[ended]);
      }
      const double within = waiting + running_ends - running * static_cast<double>(before);
      const double bound = static_cast<double>(before) + static_cast<double>(behind) + within / devices_;
      best = std::max(best, {bound, before});
      for (; i < by_head_.size() && spans_[by_head_[i]].head == before; ++i) {
        const sim::Picos length = spans_[by_head_[i]].Within(0, behind);
        if (length == 0) continue;
        waiting -= static_cast<double>(length);
        ++running;
        running_ends += static_cast<double>(before) + static_cast<double>(length);
      }
    }
    return best;
  }

 private:
  const std::vector<Span>& spans_;
  const double devices_;
  std::vector<std::size_t> by_head_;
  std::vector<sim::Picos> ends_;
};

}  // namespace

Window BusiestWindow(const std::vector<Span>& spans, double devices, sim::Picos known) {
  constexpr std::size_t kLeast = 16, kMost = 512, kSpans = 4'000'000;
  std::vector<sim::Picos> tails = {0};
  for (const Span& span : spans) tails.push_back(span.tail);
  std::ranges::sort(tails);
  tails.erase(std::unique(tails.begin(), tails.end()), tails.end());
  const std::size_t tried = std::min(tails.size(), std::clamp(kSpans / (spans.size() + 1), kLeast, kMost));
  Sweep sweep(spans, devices);
  Window window;
  double most = 0;
  for (std::size_t i = 0; i < tried; ++i) {
    const sim::Picos behind = tails[i * (tails.size() - 1) / std::max<std::size_t>(1, tried - 1)];
    if (behind > known) break;
    const auto [bound, before] = sweep.Best(behind, known);
    if (bound <= most) continue;
    most = bound;
    window = {before, behind};
  }
  return window;
}

sim::Picos OneDeviceBound(std::vector<Span> spans) {
  std::ranges::sort(spans, {}, &Span::head);
  const auto less_urgent = [](const Span& a, const Span& b) { return a.tail < b.tail; };
  std::priority_queue<Span, std::vector<Span>, decltype(less_urgent)> waiting(less_urgent);
  sim::Picos now = 0, bound = 0;
  for (auto next = spans.begin(); next != spans.end() || !waiting.empty();) {
    if (waiting.empty()) now = std::max(now, next->head);
    for (; next != spans.end() && next->head <= now; ++next) waiting.push(*next);
    Span running = waiting.top();
    waiting.pop();
    const sim::Picos until =
        next == spans.end() ? now + running.length : std::min(next->head, now + running.length);
    running.length -= until - now;
    now = until;
    if (running.length > 0) {
      waiting.push(running);
    } else {
      bound = std::max(bound, now + running.tail);
    }
  }
  return bound;
}

}  // namespace stowplan::agents
