#include "agents/rl/features/offers.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "sim/base/error.h"

namespace stowplan::agents::rl {

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

Offers::Haste Offers::Read(const at::Tensor& described, const Placed& placed) const {
  if (!on()) return {};
  if (placed.units == nullptr) {
    STOWPLAN_CHECK(placed.work.defined());
    STOWPLAN_CHECK(placed.work.sizes().slice(0, 2) == described.sizes().slice(0, 2));
  } else {
    STOWPLAN_CHECK(placed.units->graph.has_value());
    STOWPLAN_CHECK_EQ(described.size(0), 1);
    STOWPLAN_CHECK_EQ(described.size(1), static_cast<std::int64_t>(placed.units->order.size()));
  }
  return {described.matmul(parameters_[0]) + parameters_[1], placed};
}

Offers::Units Offers::UnitsOf(const Task& task, std::vector<UnitIndex> order) const {
  Units units{std::move(order), {}};
  if (on()) units.graph.emplace(task);
  return units;
}

at::Tensor Offers::Added(const Haste& haste, const at::Tensor& delays) {
  if (!haste.weight.defined()) return at::zeros({});
  STOWPLAN_CHECK(delays.defined());
  // Of one sequence nothing is copied.
  const at::Tensor weight = haste.weight.size(0) == 1 ? haste.weight[0] : ByRow(haste.weight, delays.size(0));
  return -weight.unsqueeze(-1) * delays;
}

at::Tensor Offers::MetBy(const Haste& haste, const at::Tensor& actions) {
  const at::NoGradGuard no_grad;
  Walk walk(haste, actions.size(0));
  for (const at::Tensor& chosen : actions.unbind(1)) {
    walk.Meet();
    walk.Choose(chosen);
  }
  return walk.Delays();
}

Offers::Walk::Walk(const Haste& haste, std::int64_t rows)
    : weight_(haste.weight.defined() ? ByRow(haste.weight, rows) : at::Tensor()), units_(haste.placed.units) {
  if (!weight_.defined()) return;
  if (units_ == nullptr) {
    work_ = ByRow(haste.placed.work, rows);
    load_ = at::zeros({rows, work_.size(2)}, work_.options());
  } else {
    schedules_ = std::vector<UnitSchedule>(static_cast<std::size_t>(rows), UnitSchedule(*units_->graph));
    offered_.resize(schedules_.size());
  }
}

at::Tensor Offers::Walk::DelaysOfUnit() {
  const UnitScheduleGraph& graph = *units_->graph;
  at::Tensor delays = at::empty({weight_.size(0), static_cast<std::int64_t>(graph.slots())}, at::kDouble);
  double* out = delays.data_ptr<double>();
  for (std::size_t row = 0; row < schedules_.size(); ++row) {
    offered_[row] = schedules_[row].OffersFor(NextUnit());
    out = std::ranges::copy(DelaysOf(graph, NextUnit(), offered_[row]), out).out;
  }
  return delays;
}

at::Tensor Offers::Walk::DelaysOfGroup() const {
  const at::Tensor work = work_.select(1, item_), ends = load_ + work;
  const at::Tensor later = ends - std::get<0>(ends.min(1, true));
  return at::where(later > 0, later / (later + work), at::zeros({}, later.options()));
}

void Offers::Walk::Meet() {
  if (!weight_.defined()) return;
  const at::Tensor delays = units_ == nullptr ? DelaysOfGroup() : DelaysOfUnit();
  delays_.push_back(delays.to(weight_.scalar_type()));
}

at::Tensor Offers::Walk::Next(const at::Tensor& logits) {
  if (!weight_.defined()) return logits;
  Meet();
  return logits - weight_.narrow(1, item_, 1) * delays_.back();
}

at::Tensor Offers::Walk::Delays() const {
  return delays_.empty() ? at::Tensor() : at::stack(delays_, 1);
}

void Offers::Walk::Choose(const at::Tensor& actions) {
  if (!weight_.defined()) return;
  if (units_ == nullptr) {
    const at::Tensor slot = actions.unsqueeze(1);
    load_.scatter_add_(1, slot, work_.select(1, item_).gather(1, slot));
  } else {
    const auto chosen = actions.accessor<std::int64_t, 1>();
    for (std::size_t row = 0; row < schedules_.size(); ++row) {
      const auto slot = static_cast<std::size_t>(chosen[static_cast<std::int64_t>(row)]);
      schedules_[row].Place(NextUnit(), slot, offered_[row][slot]);
    }
  }
  ++item_;
}

}  // namespace stowplan::agents::rl
