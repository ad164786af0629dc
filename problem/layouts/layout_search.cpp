#include "problem/layouts/layout_search.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "problem/placement_source.h"
#include "scenarios/builder/graph_builder.h"
#include "scenarios/parallel/lay_out.h"
#include "scenarios/parallel/model_layers.h"
#include "scenarios/workloads/micro_batches.h"
#include "sim/base/error.h"
#include "sim/base/parallel.h"
#include "sim/formats/collectives.h"

namespace stowplan::problem {
namespace {

using scenarios::Layout;
using scenarios::Recompute;

std::vector<std::int64_t> DivisorsOf(std::int64_t number) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d <= number; ++d)
    if (number % d == 0) divisors.push_back(d);
  return divisors;
}

bool IsWholeNumbers(const sim::Output& output) {
  return output.dtype.starts_with("i") || output.dtype.starts_with("u");
}

class LayoutSearch {
 public:
  LayoutSearch(const ProblemSource& source, const LayoutSearchOptions& options)
      : source_(source), options_(options), loaded_(source), mesh_(loaded_.cluster()) {
    if (mesh_.size() == 0)
      throw InputError(fmt::format("cluster {} has no accelerators to lay a model out on", source.cluster));
    const sim::Device& first = loaded_.cluster().devices[static_cast<std::size_t>(mesh_[0])];
    for (const sim::DeviceIndex device : mesh_.devices()) {
      const sim::Device& other = loaded_.cluster().devices[static_cast<std::size_t>(device)];
      if (other.kind != first.kind)
        throw InputError(
            fmt::format("cluster {} has accelerators of several kinds, {} and {}; ranks of a layout do the "
                        "same, so take equal ones",
                        source.cluster, first.kind, other.kind));
    }
    ranks_ = mesh_.size();
    found_.capacity = first.capacity();
    const cost_models::DeviceSheet* sheet = cost_models::BuiltinCatalogue().FindSheet(first.kind);
    if (sheet != nullptr) peak_flops_ = PeakOf(*sheet);
    layers_ = scenarios::FindLayers(loaded_.graph()).count;
    ReadBatch();
  }

  LayoutSearchResult Run() {
    for (const std::int64_t tensor : DivisorsOf(ranks_))
      for (const std::int64_t pipeline : DivisorsOf(ranks_ / tensor))
        if (pipeline <= layers_) AddMesh(tensor, pipeline);
    PriceRanks();
    for (const Layout& layout : candidates_) Try(layout);
    std::ranges::sort(found_.layouts, {},
                      [](const FoundLayout& one) { return std::pair(one.estimate.time, one.layout.Text()); });
    Simulate();
    std::ranges::stable_sort(found_.layouts, {},
                             [](const FoundLayout& one) { return std::pair(!one.simulated, one.time()); });
    std::ranges::stable_sort(found_.too_large, {}, [](const FoundLayout& one) { return one.peak; });
    for (const auto& [why, count] : refused_) found_.refused.push_back({why, count});
    return std::move(found_);
  }

 private:
  // In the type of the weights.
  double PeakOf(const cost_models::DeviceSheet& sheet) const {
    std::map<std::string, std::int64_t> elements;
    for (const sim::Op& op : loaded_.graph().ops)
      if (op.IsVariable() && !op.outputs.empty())
        elements[op.outputs.front().dtype] += op.outputs.front().bytes;
    const auto most = std::ranges::max_element(elements, {}, [](const auto& one) { return one.second; });
    const std::string type = most != elements.end() ? most->first : "";
    const auto autocast = sim::FindString(loaded_.graph().attributes, "autocast").value_or("");
    if (type == "bf16" || autocast == "bf16") return sheet.peak_bf16 > 0 ? sheet.peak_bf16 : sheet.peak_f16;
    if (type == "f16" || autocast == "f16") return sheet.peak_f16;
    return sheet.peak_f32;
  }

  // Told, or the first dimension that all inputs have.
  void ReadBatch() {
    std::int64_t batch = 0, numbers = 0;
    for (const sim::Op& op : loaded_.graph().ops) {
      if (op.type != "Placeholder" || op.outputs.empty() || op.outputs.front().shape.empty()) continue;
      const auto& shape = op.outputs.front().shape;
      batch = batch == 0 ? shape.front() : std::min(batch, shape.front());
      if (IsWholeNumbers(op.outputs.front())) numbers = std::max(numbers, scenarios::Elements(shape));
    }
    const auto told = sim::FindNumber(loaded_.graph().attributes, "batch");
    batch_ = told ? static_cast<std::int64_t>(*told) : std::max<std::int64_t>(batch, 1);
    found_.samples = static_cast<double>(batch_);
    found_.tokens = numbers > batch_ ? static_cast<double>(numbers) : 0;
  }

  bool IsTraining() const {
    return std::ranges::any_of(loaded_.graph().ops, [](const sim::Op& op) { return op.phase == "update"; });
  }

  void AddMesh(std::int64_t tensor, std::int64_t pipeline) {
    Layout layout;
    layout.tensor = tensor;
    layout.pipeline = pipeline;
    layout.data = ranks_ / tensor / pipeline;
    layout.sequence = tensor > 1;
    if (batch_ % layout.data != 0) {
      ++refused_[fmt::format("the batch of {} is no multiple of their data ranks", batch_)];
      return;
    }
    const bool trains = IsTraining();
    for (const std::int64_t micro_batches : DivisorsOf(batch_ / layout.data)) {
      layout.micro_batches = micro_batches;
      for (const Recompute recompute : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
        layout.recompute = recompute;
        for (const int zero : {0, 1, 3}) {
          layout.zero = zero;
          if ((zero == 0 || (trains && layout.data > 1)) && (trains || recompute == Recompute::kNone))
            candidates_.push_back(layout);
        }
      }
    }
  }

  void Try(const Layout& layout) {
    const RankCosts* costs = CostsOf(layout);
    if (costs == nullptr) return;
    FoundLayout found{.layout = layout, .estimate = EstimateLayout(layout, *costs, mesh_)};
    found.peak = found.estimate.peak;
    found.fits = found.peak <= found_.capacity;
    SetUse(found);
    (found.fits ? found_.layouts : found_.too_large).push_back(std::move(found));
  }

  void SetUse(FoundLayout& found) const {
    const double seconds = static_cast<double>(found.time()) / 1e12;
    if (seconds > 0 && peak_flops_ > 0)
      found.model_flops_use =
          loaded_.graph().totals().flops / (seconds * peak_flops_ * static_cast<double>(ranks_));
  }

  // Of a tensor group with that share of the batch: what else is of the layout does not change a micro-batch.
  using RankKey = std::tuple<std::int64_t, std::int64_t, Recompute>;
  static RankKey KeyOf(const Layout& layout) {
    return {layout.tensor, layout.data * layout.micro_batches, layout.recompute};
  }

  struct PricedRank {
    const Layout* layout;
    RankCosts costs{};
    std::string why{};  // it is refused
  };

  // Null = refused.
  const RankCosts* CostsOf(const Layout& layout) {
    const PricedRank& known = priced_.at(KeyOf(layout));
    if (known.why.empty()) return &known.costs;
    ++refused_[known.why];
    return nullptr;
  }

  void PriceRanks() {
    std::map<std::int64_t, sim::OpGraph> shares;
    for (const Layout& layout : candidates_) {
      priced_.emplace(KeyOf(layout), PricedRank{&layout});
      shares.try_emplace(layout.data * layout.micro_batches);
    }
    std::vector<std::pair<const std::int64_t, sim::OpGraph>*> parts;
    for (auto& share : shares) parts.push_back(&share);
    ParallelFor(parts.size(), 0, [&](std::size_t i, int) {
      parts[i]->second = scenarios::ShareOf(source_.graph, parts[i]->first, "layouts: data x micro_batches");
    });
    std::vector<PricedRank*> ranks;
    for (auto& [key, rank] : priced_) ranks.push_back(&rank);
    ParallelFor(ranks.size(), 0, [&](std::size_t i, int) {
      try {
        const Layout& layout = *ranks[i]->layout;
        const scenarios::LaidOut rank =
            scenarios::LayOutMicroBatch(shares.at(layout.data * layout.micro_batches), layout);
        ranks[i]->costs = PriceLayers(rank, mesh_, loaded_.model(), source_.host);
      } catch (const InputError& error) {
        ranks[i]->why = error.what();
      }
    });
  }

  void Simulate() {
    const auto count = std::min(found_.layouts.size(), static_cast<std::size_t>(options_.simulated));
    ParallelFor(count, 0, [&](std::size_t i, int) { SimulateOne(found_.layouts[i]); });
    const auto out =
        std::ranges::stable_partition(found_.layouts, [](const FoundLayout& one) { return one.fits; });
    std::ranges::move(out, std::back_inserter(found_.too_large));
    found_.layouts.erase(out.begin(), out.end());
  }

  void SimulateOne(FoundLayout& found) const {
    const LoadedProblem laid_out(
        formats::SplitCollectives(scenarios::LayOut(source_.graph, found.layout).graph), source_);
    const auto simulator = sim::MakeSimulator(laid_out.problem());
    const sim::Outcome& outcome = simulator->Run(LoadPlacement("expert", laid_out.problem()));
    found.simulated = outcome.runtime;
    found.peak = 0;
    for (const sim::DeviceIndex device : mesh_.devices())
      found.peak = std::max(found.peak, outcome.devices[static_cast<std::size_t>(device)].peak);
    found.fits = outcome.feasible();
    SetUse(found);
  }

  const ProblemSource& source_;
  const LayoutSearchOptions options_;
  const LoadedProblem loaded_;
  const Mesh mesh_;
  std::int64_t ranks_ = 0, batch_ = 1;
  int layers_ = 1;
  double peak_flops_ = 0;  // of an accelerator
  std::vector<Layout> candidates_;
  std::map<RankKey, PricedRank> priced_;
  std::map<std::string, std::int64_t> refused_;
  LayoutSearchResult found_;
};

}  // namespace

LayoutSearchResult FindLayouts(const ProblemSource& source, const LayoutSearchOptions& options) {
  return LayoutSearch(source, options).Run();
}

}  // namespace stowplan::problem
