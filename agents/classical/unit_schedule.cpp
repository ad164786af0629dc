#include "agents/classical/unit_schedule.h"

#include <algorithm>
#include <numeric>

#include "agents/classical/unit_graph.h"

namespace stowplan::agents {

using sim::Picos;

UnitScheduleGraph::UnitScheduleGraph(const Task& task)
    : routes_(task.problem->cluster(), task.devices), slots_(task.devices.size()) {
  const UnitGraph graph(task, /*reach=*/false);
  const auto units = static_cast<std::size_t>(graph.size());
  inputs_.resize(units);
  readers_.resize(units);
  heaviest_.assign(units, -1);
  // Of a pair of units that exchange both ways one edge is left: its bytes are those of both.
  const auto bytes_from = [&](UnitIndex from, UnitIndex to) {
    const auto found = std::lower_bound(
        task.edges.begin(), task.edges.end(), std::pair(from, to),
        [](const UnitEdge& edge, const auto& pair) { return std::pair(edge.from, edge.to) < pair; });
    const bool there = found != task.edges.end() && found->from == from && found->to == to;
    return there ? found->bytes : sim::Bytes{0};
  };
  for (const auto& [from, to] : graph.edges()) {
    const sim::Bytes bytes = bytes_from(from, to) + bytes_from(to, from);
    Input input{from, bytes, 0, transfers_.size()};
    for (const RouteKinds::Kind& kind : routes_.kinds()) {
      transfers_.push_back(task.TransferEstimate(bytes, kind.from, kind.to));
      input.mean_transfer += kind.pairs * transfers_.back();
    }
    if (slots_ > 1) input.mean_transfer /= static_cast<Picos>(slots_ * (slots_ - 1));
    inputs_[Index(to)].push_back(input);
    readers_[Index(from)].push_back(to);
  }
  for (std::size_t unit = 0; unit < units; ++unit) {
    sim::Bytes most = -1;
    for (const Input& input : inputs_[unit]) {
      if (input.bytes <= most) continue;
      most = input.bytes;
      heaviest_[unit] = input.unit;
    }
    Picos sum = 0;
    for (const sim::DeviceIndex d : task.devices) {
      length_.push_back(task.unit_cost(static_cast<UnitIndex>(unit), d));
      sum += length_.back();
    }
    mean_length_.push_back(sum / static_cast<Picos>(slots_));
  }
  FindLevels(graph.order());
}

void UnitScheduleGraph::FindLevels(const std::vector<UnitIndex>& order) {
  bottom_.assign(inputs_.size(), {0, -1});
  top_.assign(inputs_.size(), {0, -1});
  const auto extend = [](Level& level, Picos length, UnitIndex by) {
    if (level.next < 0 || length > level.length) level = {length, by};
  };
  for (const UnitIndex unit : order) {
    for (const Input& input : InputsOf(unit))
      extend(top_[Index(unit)], Top(input.unit).length + input.mean_transfer, input.unit);
    top_[Index(unit)].length += MeanLength(unit);
  }
  for (auto unit = order.rbegin(); unit != order.rend(); ++unit) {
    bottom_[Index(*unit)].length += MeanLength(*unit);  // all its readers have had their turn
    for (const Input& input : InputsOf(*unit))
      extend(bottom_[Index(input.unit)], Bottom(*unit).length + input.mean_transfer, *unit);
  }
  by_bottom_.resize(inputs_.size());
  std::iota(by_bottom_.begin(), by_bottom_.end(), 0);
  std::stable_sort(by_bottom_.begin(), by_bottom_.end(),
                   [&](UnitIndex a, UnitIndex b) { return Bottom(a).length > Bottom(b).length; });
  place_.resize(inputs_.size());
  for (std::size_t i = 0; i < by_bottom_.size(); ++i)
    place_[Index(by_bottom_[i])] = static_cast<std::int32_t>(i);
}

UnitSchedule::UnitSchedule(const UnitScheduleGraph& graph)
    : graph_(graph),
      missing_(Index(graph.units())),
      runs_(missing_.size(), {0, 0, 0}),
      work_(graph.slots(), 0),
      free_(graph.slots(), 0) {
  for (const UnitIndex unit : graph.by_bottom()) {
    missing_[Index(unit)] = static_cast<std::int32_t>(graph.InputsOf(unit).size());
    if (missing_[Index(unit)] == 0) ready_.push_back(graph.PlaceByBottom(unit));
  }
}

std::vector<UnitIndex> UnitSchedule::Ready(std::size_t most) const {
  std::vector<UnitIndex> units(std::min(most, ready_.size()));
  for (std::size_t i = 0; i < units.size(); ++i)
    units[i] = graph_.by_bottom()[static_cast<std::size_t>(ready_[i])];
  return units;
}

std::vector<UnitSchedule::Offer> UnitSchedule::OffersFor(UnitIndex unit) const {
  std::vector<Offer> offers(graph_.slots());
  double bytes = 0;
  for (const auto& input : graph_.InputsOf(unit)) {
    const Run& run = runs_[Index(input.unit)];
    Offer& there = offers[run.slot];
    there.first_start = there.inputs == 0 ? run.start : std::min(there.first_start, run.start);
    ++there.inputs;
    there.last_end = std::max(there.last_end, run.end);
    there.input_work += run.end - run.start;
    there.input_part += static_cast<double>(input.bytes);
    there.heaviest |= input.unit == graph_.HeaviestInputOf(unit);
    bytes += static_cast<double>(input.bytes);
    for (std::size_t slot = 0; slot < offers.size(); ++slot)
      offers[slot].start = std::max(offers[slot].start, run.end + graph_.Transfer(input, run.slot, slot));
  }
  for (std::size_t slot = 0; slot < offers.size(); ++slot) {
    Offer& offer = offers[slot];
    offer.work = work_[slot];
    offer.start = std::max(offer.start, free_[slot]);
    offer.end = offer.start + graph_.Length(unit, slot);
    if (bytes > 0) offer.input_part /= bytes;
  }
  return offers;
}

void UnitSchedule::Place(UnitIndex unit, std::size_t slot, const Offer& offer) {
  const auto place = std::lower_bound(ready_.begin(), ready_.end(), graph_.PlaceByBottom(unit));
  ready_.erase(place);
  runs_[Index(unit)] = {slot, offer.start, offer.end};
  work_[slot] += offer.end - offer.start;
  free_[slot] = offer.end;
  makespan_ = std::max(makespan_, offer.end);
  for (const UnitIndex reader : graph_.ReadersOf(unit)) {
    if (--missing_[Index(reader)] > 0) continue;
    const std::int32_t at = graph_.PlaceByBottom(reader);
    ready_.insert(std::lower_bound(ready_.begin(), ready_.end(), at), at);
  }
}

std::vector<std::size_t> ScheduleByCriticalPath(const UnitScheduleGraph& graph) {
  std::vector<std::size_t> slots(static_cast<std::size_t>(graph.units()));
  for (UnitSchedule schedule(graph); !schedule.done();) {
    const UnitIndex unit = schedule.Ready(1).front();
    const auto offers = schedule.OffersFor(unit);
    const auto best = std::min_element(offers.begin(), offers.end(),
                                       [](const auto& a, const auto& b) { return a.end < b.end; });
    const auto slot = static_cast<std::size_t>(best - offers.begin());
    slots[static_cast<std::size_t>(unit)] = slot;
    schedule.Place(unit, slot, *best);
  }
  return slots;
}

}  // namespace stowplan::agents
