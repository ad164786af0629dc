#include "agents/rl/offers.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "sim/error.h"

namespace berth::agents::rl {

std::vector<double> DelaysOf(const UnitScheduleGraph& graph, UnitIndex unit,
                             const std::vector<UnitSchedule::Offer>& offers) {
  const sim::Picos best = std::ranges::min(offers, {}, &UnitSchedule::Offer::end).end;
  std::vector<double> delays;
  for (std::size_t slot = 0; slot < offers.size(); ++slot) {
    const auto later = static_cast<double>(offers[slot].end - best);
    delays.push_back(later == 0 ? 0 : later / (later + static_cast<double>(graph.Length(unit, slot))));
  }
  return delays;
}

Offers::Offers(bool on, std::int64_t width, at::ScalarType type) {
  if (!on) return;
  parameters_ = {at::zeros({width}, type).set_requires_grad(true),
                 at::zeros({1}, type).set_requires_grad(true)};
}

Offers::Haste Offers::Read(const at::Tensor& described, const Units* units) const {
  if (!on()) return {};
  BERTH_CHECK(units != nullptr && units->graph.has_value());
  BERTH_CHECK_EQ(described.size(0), static_cast<std::int64_t>(units->order.size()));
  return {described.matmul(parameters_[0]) + parameters_[1], units};
}

Offers::Units Offers::UnitsOf(const Task& task, std::vector<UnitIndex> order) const {
  Units units{std::move(order), {}};
  if (on()) units.graph.emplace(task);
  return units;
}

at::Tensor Offers::Added(const Haste& haste, const at::Tensor& delays) {
  if (haste.units == nullptr) return at::zeros({});
  BERTH_CHECK(delays.defined());
  return -haste.weight.unsqueeze(1) * delays;
}

Offers::Walk::Walk(const Haste& haste, std::int64_t rows) : haste_(haste) {
  if (haste.units == nullptr) return;
  schedules_ = std::vector<UnitSchedule>(static_cast<std::size_t>(rows), UnitSchedule(*haste.units->graph));
  offered_.resize(schedules_.size());
}

at::Tensor Offers::Walk::NextDelays() {
  const UnitScheduleGraph& graph = *haste_.units->graph;
  const UnitIndex unit = haste_.units->order[static_cast<std::size_t>(item_)];
  at::Tensor delays = at::empty(
      {static_cast<std::int64_t>(schedules_.size()), static_cast<std::int64_t>(graph.slots())}, at::kDouble);
  double* out = delays.data_ptr<double>();
  for (std::size_t row = 0; row < schedules_.size(); ++row) {
    offered_[row] = schedules_[row].OffersFor(unit);
    out = std::ranges::copy(DelaysOf(graph, unit, offered_[row]), out).out;
  }
  return delays.to(haste_.weight.scalar_type());
}

at::Tensor Offers::Walk::Next(const at::Tensor& logits) {
  if (haste_.units == nullptr) return logits;
  delays_.push_back(NextDelays());
  return logits - haste_.weight[item_] * delays_.back();
}

at::Tensor Offers::Walk::Delays() const {
  return delays_.empty() ? at::Tensor() : at::stack(delays_, 1);
}

void Offers::Walk::Choose(const at::Tensor& actions) {
  if (haste_.units == nullptr) return;
  const UnitIndex unit = haste_.units->order[static_cast<std::size_t>(item_++)];
  const auto chosen = actions.accessor<std::int64_t, 1>();
  for (std::size_t row = 0; row < schedules_.size(); ++row) {
    const auto slot = static_cast<std::size_t>(chosen[static_cast<std::int64_t>(row)]);
    schedules_[row].Place(unit, slot, offered_[row][slot]);
  }
}

}  // namespace berth::agents::rl
