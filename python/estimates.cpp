// agents/comparison/estimate.h for Python: a cell is (sampled, {seed: seconds}).
#include "python/estimates.h"

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "agents/comparison/estimate.h"
#include "sim/base/error.h"

namespace stowplan::python {
namespace {

namespace py = pybind11;

using Cell = std::pair<bool, std::map<std::int64_t, double>>;

agents::SeededTimes TimesOf(const Cell& cell) {
  if (cell.second.empty())
    throw InputError("a cell to compare has no seed; a cell that was not run is left out.");
  return {.sampled = cell.first, .by_seed = cell.second};
}

std::vector<agents::SeededTimes> TimesOf(const std::vector<Cell>& cells) {
  if (cells.empty()) throw InputError("there is no cell to compare.");
  std::vector<agents::SeededTimes> times;
  times.reserve(cells.size());
  for (const Cell& cell : cells) times.push_back(TimesOf(cell));
  return times;
}

}  // namespace

void BindEstimates(py::module_& module) {
  py::class_<agents::Estimate>(module, "Estimate")
      .def_readonly("value", &agents::Estimate::value)
      .def_readonly("low", &agents::Estimate::low)
      .def_readonly("high", &agents::Estimate::high)
      .def_readonly("sampled", &agents::Estimate::sampled)
      .def_readonly("seeds", &agents::Estimate::seeds)
      .def_property_readonly("open", &agents::Estimate::open)
      .def_property_readonly("unpaired", &agents::Estimate::unpaired)
      .def_property_readonly("tie", &agents::IsTie)
      .def("seeds_to_decide", &agents::SeedsToDecide);
  module.def("estimate_ratio", [](const std::vector<Cell>& ours, const std::vector<Cell>& theirs) {
    return agents::EstimateRatio(TimesOf(ours), TimesOf(theirs));
  });
  module.def("estimate_over", [](const std::vector<Cell>& cells,
                                 const std::function<double(const std::vector<std::int64_t>&)>& statistic) {
    return agents::EstimateOver(TimesOf(cells), statistic);
  });
  module.def("estimate_mean_ratio", [](const std::vector<std::pair<Cell, Cell>>& pairs, bool over_pairs) {
    if (pairs.empty()) throw InputError("there is no pair to compare.");
    agents::TimesPairs times;
    times.reserve(pairs.size());
    for (const auto& [ours, theirs] : pairs) times.emplace_back(TimesOf(ours), TimesOf(theirs));
    return agents::EstimateMeanRatio(times, over_pairs);
  });
  module.def("estimate_mean", [](const std::vector<double>& ratios) {
    if (ratios.empty()) throw InputError("there is no ratio to take a mean of.");
    return agents::EstimateMean(ratios);
  });
}

}  // namespace stowplan::python
