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

Offers::Haste Offers::Read(const at::Tensor& described, const Items& items) const {
  if (!on()) return {};
  if (items.work.defined()) {
    BERTH_CHECK(items.work.sizes().slice(0, 2) == described.sizes().slice(0, 2));
  } else {
    BERTH_CHECK(items.units != nullptr && items.units->graph.has_value());
    BERTH_CHECK_EQ(described.size(0), 1);
    BERTH_CHECK_EQ(described.size(1), static_cast<std::int64_t>(items.units->order.size()));
  }
  return {described.matmul(parameters_[0]) + parameters_[1], items};
}

Offers::Units Offers::UnitsOf(const Task& task, std::vector<UnitIndex> order) const {
  Units units{std::move(order), {}};
  if (on()) units.graph.emplace(task);
  return units;
}

at::Tensor Offers::Added(const Haste& haste, const at::Tensor& delays) {
  if (!haste.weight.defined()) return at::zeros({});
  BERTH_CHECK(delays.defined());
  const std::int64_t sequences = haste.weight.size(0);
  const at::Tensor weight =
      sequences == 1 ? haste.weight[0] : haste.weight.repeat_interleave(delays.size(0) / sequences, 0);
  return -weight.unsqueeze(-1) * delays;
}

at::Tensor Offers::MetBy(const Haste& haste, const at::Tensor& actions) {
  if (!haste.weight.defined()) return {};
  const at::NoGradGuard no_grad;
  Walk walk(haste, actions.size(0));
  for (const at::Tensor& chosen : actions.unbind(1)) {
    walk.Next(at::zeros({}, haste.weight.options()));
    walk.Choose(chosen.contiguous());
  }
  return walk.Delays();
}

Offers::Walk::Walk(const Haste& haste, std::int64_t rows) : haste_(haste), rows_(rows) {
  if (!haste.weight.defined()) return;
  if (const at::Tensor& work = haste.items.work; work.defined()) {
    load_ = at::zeros({rows, work.size(2)}, work.options());
    return;
  }
  schedules_ =
      std::vector<UnitSchedule>(static_cast<std::size_t>(rows), UnitSchedule(*haste.items.units->graph));
  offered_.resize(schedules_.size());
}

at::Tensor Offers::Walk::NextWork() const {
  const at::Tensor work = haste_.items.work.select(1, item_);
  return work.repeat_interleave(rows_ / work.size(0), 0);
}

at::Tensor Offers::Walk::NextDelays() {
  const at::ScalarType type = haste_.weight.scalar_type();
  if (load_.defined()) {
    const at::Tensor work = NextWork(), ends = load_ + work;
    const at::Tensor later = ends - std::get<0>(ends.min(1, true));
    return at::where(later > 0, later / (later + work), at::zeros({}, later.options())).to(type);
  }
  const UnitScheduleGraph& graph = *haste_.items.units->graph;
  at::Tensor delays = at::empty({rows_, static_cast<std::int64_t>(graph.slots())}, at::kDouble);
  double* out = delays.data_ptr<double>();
  for (std::size_t row = 0; row < schedules_.size(); ++row) {
    offered_[row] = schedules_[row].OffersFor(NextUnit());
    out = std::ranges::copy(DelaysOf(graph, NextUnit(), offered_[row]), out).out;
  }
  return delays.to(type);
}

at::Tensor Offers::Walk::Next(const at::Tensor& logits) {
  if (!haste_.weight.defined()) return logits;
  delays_.push_back(NextDelays());
  const at::Tensor weight = haste_.weight.select(1, item_);
  return logits - weight.repeat_interleave(rows_ / weight.size(0)).unsqueeze(1) * delays_.back();
}

at::Tensor Offers::Walk::Delays() const {
  return delays_.empty() ? at::Tensor() : at::stack(delays_, 1);
}

void Offers::Walk::Choose(const at::Tensor& actions) {
  if (!haste_.weight.defined()) return;
  if (load_.defined()) {
    const at::Tensor slot = actions.unsqueeze(1);
    load_.scatter_add_(1, slot, NextWork().gather(1, slot));
  } else {
    const auto chosen = actions.accessor<std::int64_t, 1>();
    for (std::size_t row = 0; row < schedules_.size(); ++row) {
      const auto slot = static_cast<std::size_t>(chosen[static_cast<std::int64_t>(row)]);
      schedules_[row].Place(NextUnit(), slot, offered_[row][slot]);
    }
  }
  ++item_;
}

}  // namespace berth::agents::rl
