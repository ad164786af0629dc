#include "agents/rl/placeto/placeto_state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include "agents/rl/features/offers.h"
#include "sim/base/error.h"

namespace stowplan::agents::rl {
namespace {

constexpr double kPicosPerSecond = 1e12;
constexpr double kBytesPerGb = 1e9;

// Divided by the largest, unless that is 0: the published scaling of a column without negative values.
std::vector<float> ScaleByMaximum(const std::vector<double>& values) {
  const double largest = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  std::vector<float> scaled;
  for (const double value : values) scaled.push_back(static_cast<float>(largest > 0 ? value / largest : 0.0));
  return scaled;
}

std::vector<double> CheapestCosts(const Task& task) {
  std::vector<double> costs;
  for (UnitIndex unit = 0; unit < task.units.size(); ++unit) {
    sim::Picos least = std::numeric_limits<sim::Picos>::max();
    for (const sim::DeviceIndex d : task.devices) least = std::min(least, task.unit_cost(unit, d));
    costs.push_back(static_cast<double>(least));
  }
  return costs;
}

}  // namespace

void PlacetoSample::Save(StateWriter& out) const {
  out.PutList(slots);
  out.Put(cost);
  out.PutList(starts);
}

void PlacetoSample::Load(StateReader& in) {
  slots = in.GetList<std::int32_t>();
  cost = in.Get<double>();
  starts = in.GetList<sim::Picos>();
}

void PlacetoEpisode::Append(const PlacetoSample& sample) {
  costs.push_back(sample.cost);
  known.push_back(known.empty() ? 0 : known.back() + 1);
  starts.insert(starts.end(), sample.starts.begin(), sample.starts.end());
}

void PlacetoEpisode::Repeat() {
  costs.push_back(costs.back());
  known.push_back(known.back());
}

void PlacetoEpisode::Save(StateWriter& out) const {
  out.Put(task);
  out.Put<std::uint8_t>(greedy);
  out.Put<std::uint8_t>(cut);
  out.Put(length);
  out.Put(steps);
  out.Put(spent);
  out.Put(expected_moves);
  out.PutList(start);
  out.PutList(slots);
  out.PutList(moved);
  out.PutList(actions);
  out.PutList(log_probabilities);
  out.PutList(offers);
  out.PutList(costs);
  out.PutList(known);
  out.PutList(starts);
}

void PlacetoEpisode::Load(StateReader& in) {
  task = in.Get<std::int32_t>();
  greedy = in.Get<std::uint8_t>() != 0;
  cut = in.Get<std::uint8_t>() != 0;
  length = in.Get<std::int64_t>();
  steps = in.Get<std::int64_t>();
  spent = in.Get<std::int64_t>();
  expected_moves = in.Get<double>();
  start = in.GetList<std::int32_t>();
  slots = in.GetList<std::int32_t>();
  moved = in.GetList<std::uint8_t>();
  actions = in.GetList<std::int64_t>();
  log_probabilities = in.GetList<double>();
  offers = in.GetList<float>();
  costs = in.GetList<double>();
  known = in.GetList<std::int32_t>();
  starts = in.GetList<sim::Picos>();
}

PlacetoView::PlacetoView(const Task& task, const PlacetoOptions& options)
    : task_(task),
      graph_(task),
      scale_(options.scale),
      use_starts_(options.starts),
      memory_(options.memory),
      passes_(options.passes),
      every_(std::min<std::int64_t>(options.every, std::max<std::int64_t>(task.units.size(), 1))),
      position_(static_cast<std::size_t>(task.units.size())),
      penalty_(options.penalty),
      limit_gb_(options.limit_gb) {
  for (std::size_t i = 0; i < position_.size(); ++i) {
    position_[static_cast<std::size_t>(graph_.order()[i])] = static_cast<std::int64_t>(i);
  }
  if (options.offers) schedule_.emplace(task);
  std::vector<double> output, bytes;
  for (std::size_t unit = 0; unit < position_.size(); ++unit) {
    output.push_back(static_cast<double>(task.output[unit]));
    bytes.push_back(static_cast<double>(task.output[unit] + task.persistent[unit]));
  }
  cost_ = ScaleByMaximum(CheapestCosts(task));
  output_ = ScaleByMaximum(output);
  bytes_ = ScaleByMaximum(bytes);
  const double reference_s = static_cast<double>(task.reference_runtime) / kPicosPerSecond;
  cap_s_ = options.cap_s > 0 ? options.cap_s : 10 * reference_s;
  divisor_ = options.relative ? reference_s : 1.0;
}

std::span<const UnitIndex> PlacetoView::UnitsOfStep(std::int64_t step) const {
  const std::int64_t place = step % steps_of_a_pass() * every_;
  return std::span(graph_.order())
      .subspan(static_cast<std::size_t>(place), static_cast<std::size_t>(std::min(every_, units() - place)));
}

std::size_t PlacetoView::FirstDecision(std::int64_t step) const {
  return static_cast<std::size_t>(step / steps_of_a_pass() * units() + step % steps_of_a_pass() * every_);
}

std::vector<std::int32_t> PlacetoView::SlotsBefore(const PlacetoEpisode& episode, std::int64_t step) const {
  std::vector<std::int32_t> slots = episode.start;
  for (std::size_t i = 0; i < FirstDecision(step); ++i) {
    const UnitIndex unit = graph_.order()[i % static_cast<std::size_t>(units())];
    slots[static_cast<std::size_t>(unit)] = static_cast<std::int32_t>(episode.actions[i]);
  }
  return slots;
}

UnitPlacement PlacetoView::ToPlacement(const std::vector<std::int32_t>& slots) const {
  UnitPlacement placement;
  for (const std::int32_t slot : slots) placement.push_back(task_.devices[static_cast<std::size_t>(slot)]);
  return placement;
}

std::vector<std::int32_t> PlacetoView::ToSlots(const UnitPlacement& placement) const {
  std::vector<std::int32_t> slots;
  for (const sim::DeviceIndex device : placement) {
    const auto found = std::find(task_.devices.begin(), task_.devices.end(), device);
    STOWPLAN_CHECK(found != task_.devices.end());
    slots.push_back(static_cast<std::int32_t>(found - task_.devices.begin()));
  }
  return slots;
}

UnitSchedule PlacetoView::ScheduleBefore(const std::vector<std::int32_t>& slots, std::int64_t step) const {
  UnitSchedule schedule(*schedule_);
  const std::int64_t place = step % steps_of_a_pass() * every_;
  for (const UnitIndex unit : std::span(graph_.order()).first(static_cast<std::size_t>(place))) {
    const auto slot = static_cast<std::size_t>(slots[static_cast<std::size_t>(unit)]);
    schedule.Place(unit, slot, schedule.OffersFor(unit)[slot]);
  }
  return schedule;
}

std::vector<float> PlacetoView::OfferNumbers(UnitIndex unit,
                                             const std::vector<UnitSchedule::Offer>& offers) const {
  const std::vector<double> delays = DelaysOf(*schedule_, unit, offers);
  std::vector<float> numbers;
  for (std::size_t slot = 0; slot < offers.size(); ++slot) {
    numbers.push_back(static_cast<float>(-delays[slot]));
    numbers.push_back(offers[slot].heaviest ? 1.0F : 0.0F);
  }
  return numbers;
}

double PlacetoView::CostOf(const Evaluation& evaluation) const {
  double excess_gb = 0;
  for (std::size_t d = 0; d < evaluation.peak.size(); ++d) {
    const double limit = limit_gb_ > 0
                             ? limit_gb_ * kBytesPerGb
                             : static_cast<double>(task_.device(static_cast<sim::DeviceIndex>(d)).capacity());
    excess_gb = std::max(excess_gb, (static_cast<double>(evaluation.peak[d]) - limit) / kBytesPerGb);
  }
  const double seconds = static_cast<double>(evaluation.runtime) / kPicosPerSecond;
  return std::min(seconds + penalty_ * excess_gb, cap_s_) / divisor_;
}

PlacetoSample PlacetoView::SampleOf(const std::vector<std::int32_t>& slots,
                                    const Evaluation& evaluation) const {
  PlacetoSample sample{slots, CostOf(evaluation), {}};
  if (!use_starts_) return sample;
  for (const auto& ops : task_.units.ops) {
    sim::Picos first = std::numeric_limits<sim::Picos>::max();
    for (const sim::OpIndex op : ops) first = std::min(first, evaluation.start[static_cast<std::size_t>(op)]);
    sample.starts.push_back(first);
  }
  return sample;
}

bool PlacetoView::AreSlots(const std::vector<std::int32_t>& slots) const {
  return std::ssize(slots) == units() &&
         std::ranges::all_of(slots, [&](std::int32_t slot) { return slot >= 0 && slot < devices(); });
}

bool PlacetoView::Holds(const PlacetoSample& sample) const {
  return AreSlots(sample.slots) && std::ssize(sample.starts) == (use_starts_ ? units() : 0);
}

bool PlacetoView::Holds(const PlacetoEpisode& episode) const {
  if (episode.length != steps() || episode.steps < 0 || episode.steps > episode.length) return false;
  const bool begun = !episode.costs.empty();
  if (!begun && episode.steps > 0 && !episode.cut) return false;
  // The step at which the budget ended led nowhere.
  const std::int64_t states = episode.cut ? episode.steps : begun ? episode.steps + 1 : 0;
  const auto decisions = static_cast<std::int64_t>(FirstDecision(episode.steps));
  if (std::ssize(episode.costs) != states || std::ssize(episode.known) != states ||
      std::ssize(episode.moved) != episode.steps || std::ssize(episode.actions) != decisions ||
      std::ssize(episode.log_probabilities) != decisions ||
      std::ssize(episode.offers) != (offers() ? decisions * devices() * kOfferNumbers : 0))
    return false;
  const std::int64_t rows = begun ? std::int64_t{episode.known.back()} + 1 : 0;
  return AreSlots(episode.start) && AreSlots(episode.slots) &&
         std::ranges::all_of(episode.actions,
                             [&](std::int64_t slot) { return slot >= 0 && slot < devices(); }) &&
         (!begun || episode.known.front() == 0) && std::ranges::is_sorted(episode.known) &&
         std::ssize(episode.starts) == (use_starts_ ? rows * units() : 0);
}

at::Tensor PlacetoView::Features(std::span<const State> states) const {
  const auto count = static_cast<std::int64_t>(states.size());
  at::Tensor features = at::empty({units(), count, this->features()}, at::kFloat);
  float* const data = features.data_ptr<float>();
  for (std::int64_t s = 0; s < count; ++s) {
    WriteState(states[static_cast<std::size_t>(s)], data + s * this->features(), count * this->features());
  }
  return features;
}

std::vector<UnitIndex> PlacetoView::UnitsInTurn(std::span<const State> states) const {
  std::vector<UnitIndex> turn;
  for (const State& state : states) {
    const std::span<const UnitIndex> units = UnitsOfStep(state.step);
    turn.insert(turn.end(), units.begin(), units.end());
  }
  return turn;
}

void PlacetoView::WriteState(const State& state, float* first, std::int64_t stride) const {
  const bool now = state.step == state.episode->steps;
  const std::vector<std::int32_t> before =
      now ? std::vector<std::int32_t>() : SlotsBefore(*state.episode, state.step);
  const std::vector<std::int32_t>& slots = now ? state.episode->slots : before;
  const std::int64_t pass = state.step / steps_of_a_pass();
  const std::int64_t place = state.step % steps_of_a_pass() * every_;
  for (std::int64_t unit = 0; unit < units(); ++unit) {
    const auto u = static_cast<std::size_t>(unit);
    float* const out = first + unit * stride;
    std::fill(out, out + features(), 0.0F);
    out[0] = cost_[u];
    out[1] = output_[u];
    out[2] = static_cast<float>(pass + (position_[u] < place ? 1 : 0));
    out[3] = position_[u] >= place && position_[u] < place + every_ ? 1.0F : 0.0F;
    if (memory_) out[5] = bytes_[u];
    out[features() - devices() + slots[u]] = 1.0F;
  }
  if (use_starts_) WriteStarts(state, first + 4, stride);
}

// Start times under the placement that the step finds, shifted so that the first unit in turn is at 0, then
// divided. The published program divides by the largest, which is 0 for the unit that starts last (nothing is
// divided then, and microseconds remain) and tiny near it, so that its features reach minus millions; `range`
// divides by the largest distance from 0 instead and stays in [-1, 1].
void PlacetoView::WriteStarts(const State& state, float* first, std::int64_t stride) const {
  const sim::Picos* const starts =
      state.episode->starts.data() + state.episode->known[static_cast<std::size_t>(state.step)] * units();
  const sim::Picos origin = starts[UnitsOfStep(state.step).front()];
  sim::Picos largest = 0;
  for (std::int64_t unit = 0; unit < units(); ++unit) {
    const sim::Picos shifted = starts[unit] - origin;
    largest = std::max(largest, scale_ == PlacetoOptions::Scale::kRange ? std::abs(shifted) : shifted);
  }
  const double divisor =
      largest != 0 ? static_cast<double>(largest) : static_cast<double>(sim::kPicosPerMicro);
  for (std::int64_t unit = 0; unit < units(); ++unit) {
    first[unit * stride] = static_cast<float>(static_cast<double>(starts[unit] - origin) / divisor);
  }
}

}  // namespace stowplan::agents::rl
