#include "agents/rl/hierarchical_policy.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "agents/groupers/unit_tree.h"
#include "agents/rl/learner.h"
#include "agents/rl/nn/categorical.h"
#include "agents/rl/nn/layers.h"
#include "sim/base/error.h"

namespace stowplan::agents::rl {
namespace {

constexpr std::int64_t kTypeEmbedding = 20, kUnitVector = 36, kPlannerVector = 46, kHidden = 64;

std::int64_t GroupsFor(const HierarchicalOptions& options, std::int64_t devices) {
  return options.groups > 0 ? options.groups : std::min<std::int64_t>(256, 20 * devices);
}

Tensors MakeGrouper(bool planner, std::int64_t groups, Rng& init) {
  const std::int64_t input = planner ? kPlannerVector : kTypeEmbedding + kUnitVector;
  Tensors weights = {GlorotMatrix(input, kHidden, at::kFloat, init),
                     GlorotMatrix(kHidden, groups, at::kFloat, init)};
  if (planner) return weights;
  for (const std::int64_t size : {kHidden, groups})
    weights.push_back(at::zeros({size}).set_requires_grad(true));
  return weights;
}

SequencePlacer::Sizes PlacerSizes(const HierarchicalOptions& options, std::int64_t groups,
                                  std::int64_t devices) {
  SequencePlacer::Sizes sizes = options.sequence.placer;
  sizes.input = GroupDescriber::Columns(groups, options.planner);
  sizes.choices = devices;
  return sizes;
}

// [units, groups]
at::Tensor TowardsClusters(const Task& task, std::int64_t groups, double strength) {
  const UnitGraph graph(task, /*reach=*/false);
  const std::vector<std::int64_t> clusters = ClustersOf(task, graph, groups);
  const auto cluster_of = [&](UnitIndex unit) { return clusters[static_cast<std::size_t>(unit)]; };
  at::Tensor towards = at::zeros({task.units.size(), groups});
  auto to = towards.accessor<float, 2>();
  for (const auto& [a, b] : graph.edges()) {
    to[a][cluster_of(b)] = to[b][cluster_of(a)] = static_cast<float>(strength / 2);
  }
  for (UnitIndex unit = 0; unit < task.units.size(); ++unit)
    to[unit][cluster_of(unit)] = static_cast<float>(strength);
  return towards;
}

}  // namespace

std::vector<std::int64_t> ClustersOf(const Task& task, const UnitGraph& graph, std::int64_t clusters) {
  const std::vector<std::int32_t> group =
      GroupsOf(MakeUnitTree(task.problem->graph(), task.units), static_cast<std::size_t>(clusters));
  std::vector<std::int64_t> number(group.size(), -1), result(group.size());
  std::int64_t numbers = 0;
  for (const UnitIndex unit : graph.order()) {
    std::int64_t& of_group = number[static_cast<std::size_t>(group[static_cast<std::size_t>(unit)])];
    if (of_group < 0) of_group = numbers++;
    result[static_cast<std::size_t>(unit)] = of_group;
  }
  return result;
}

HierarchicalOptions ReadHierarchicalOptions(const Settings& read) {
  HierarchicalOptions options;
  options.groups = static_cast<int>(read.Int("groups"));
  options.placements = static_cast<int>(read.Int("placements"));
  options.clusters = read.Double("clusters");
  options.sequence = ReadSequenceOptions(read);
  options.sequence.placer.both_directions = true;
  return options;
}

HierarchicalPolicy::HierarchicalPolicy(const std::string& agent, const HierarchicalOptions& options,
                                       const std::vector<const Task*>& tasks, Rng& init)
    : options_(options),
      tasks_(tasks),
      groups_(GroupsFor(options, CommonDevices(agent, tasks))),
      devices_(CommonDevices(agent, tasks)),
      vocabulary_(tasks),
      grouper_(MakeGrouper(options.planner, groups_, init)),
      embedding_(GlorotMatrix(TypeVocabulary::kSize, kTypeEmbedding, at::kFloat, init)),
      placer_(PlacerSizes(options, groups_, devices_), at::kFloat, init),
      parameters_(grouper_) {
  if (!options.planner) parameters_.push_back(embedding_);
  Append(parameters_, placer_.parameters());
  ReadFeatures();
}

void HierarchicalPolicy::ReadFeatures() {
  types_.clear();
  units_.clear();
  describers_.clear();
  clusters_.clear();
  for (const Task* task : tasks_) {
    const at::Tensor counts = CountTypes(*task, vocabulary_);
    types_.push_back(counts / counts.sum(1, true));
    units_.push_back(options_.planner ? PlannerUnitVectors(*task, vocabulary_) : UnitVectors(*task));
    describers_.emplace_back(*task, vocabulary_, groups_, options_.planner);
    if (options_.clusters > 0) clusters_.push_back(TowardsClusters(*task, groups_, options_.clusters));
  }
}

at::Tensor HierarchicalPolicy::GroupLogits(std::size_t task) const {
  at::Tensor logits;
  if (options_.planner) {
    logits = units_[task].matmul(grouper_[0]).matmul(grouper_[1]);
  } else {
    const at::Tensor vectors = at::cat({types_[task].matmul(embedding_), units_[task]}, 1);
    logits = at::addmm(grouper_[3], at::addmm(grouper_[2], vectors, grouper_[0]).relu(), grouper_[1]);
  }
  return options_.clusters > 0 ? logits + clusters_[task] : logits;
}

at::Tensor HierarchicalPolicy::Used(const Decisions& grouping) const {
  if (options_.clusters == 0) return {};
  return at::zeros({grouping.actions.size(0), groups_}).scatter_(1, grouping.actions, 1.0);
}

Decisions HierarchicalPolicy::DrawGroups(std::size_t task, std::int64_t rows, double noise, Rng* rng) const {
  const at::Tensor logits = GroupLogits(task);
  const double deviation = noise * logits.square().mean().sqrt().item<double>();
  Tensors actions, log_probabilities, noises;
  for (std::int64_t row = 0; row < rows; ++row) {
    at::Tensor seen = logits;
    if (noise > 0 && rng != nullptr) {
      noises.push_back(DrawNormal(logits.sizes(), at::kFloat, *rng) * deviation);
      seen = logits + noises.back();
    }
    const DrawnActions drawn = DrawActions(seen, rng);
    actions.push_back(drawn.actions);
    log_probabilities.push_back(drawn.log_probability);
  }
  return {at::stack(actions), at::stack(log_probabilities), noises.empty() ? at::Tensor() : at::stack(noises),
          1};
}

SequencePlacer::Encoded HierarchicalPolicy::Encode(std::size_t task, const Decisions& grouping,
                                                   bool blind) const {
  const SequencePlacer::Sizes& placer = options_.sequence.placer;
  const GroupDescriber& describer = describers_[task];
  Tensors described, earlier, work;
  for (const at::Tensor& group : grouping.actions.unbind(0)) {
    const auto seen = [&](const at::Tensor& value, double nothing) {
      return blind ? at::full_like(value, nothing) : value;
    };
    described.push_back(seen(describer.Describe(group), 0));
    if (placer.stay > 0)
      earlier.push_back(seen(describer.EarlierGroups(group), static_cast<double>(groups_)));
    if (placer.offers) work.push_back(seen(describer.WorkOf(group), 0));
  }
  const auto stacked = [](const Tensors& rows) { return rows.empty() ? at::Tensor() : at::stack(rows); };
  return placer_.Encode(at::stack(described), stacked(earlier), {nullptr, stacked(work)});
}

// The devices of the last batch, with the probabilities that the present weights give them.
Decisions HierarchicalPolicy::Frozen(const SequencePlacer::Encoded& encoded) const {
  Decisions devices{last_devices_, {}, {}, 1, Offers::MetBy(encoded.haste, last_devices_)};
  devices.log_probability =
      TermsOf(placer_.Logits(encoded, devices.actions, devices.delays), devices).log_probability;
  return devices;
}

UnitPlacement HierarchicalPolicy::PlacementOf(std::size_t task, const at::Tensor& group,
                                              const at::Tensor& slot) const {
  const at::Tensor slots = slot.index_select(0, group);
  return PlacementOfSlots(*tasks_[task],
                          {slots.data_ptr<std::int64_t>(), static_cast<std::size_t>(slots.numel())});
}

Draws HierarchicalPolicy::Draw(std::size_t task, std::int64_t count, const Moment& moment, Rng* rng) {
  const at::NoGradGuard no_grad;
  const std::int64_t each = rng == nullptr ? 1 : options_.placements;
  const double noise = options_.sequence.NoiseAt(moment.update);
  // The last batch of a budget may be smaller: it has no devices to go on with.
  const bool frozen = rng != nullptr && options_.freeze > 0 && moment.update >= options_.freeze &&
                      last_devices_.defined() && last_devices_.size(0) == count;
  const auto draw = [&](bool blind) {
    Decisions grouping = DrawGroups(task, count / each, noise, rng);
    grouping.draws_per_row = each;
    const SequencePlacer::Encoded encoded = Encode(task, grouping, blind);
    return std::vector<Decisions>{grouping,
                                  frozen ? Frozen(encoded) : placer_.Draw(encoded, each, noise, rng)};
  };
  Draws draws;
  draws.kinds = draw(false);
  for (std::int64_t i = 0; i < count; ++i) {
    draws.placements.push_back(
        PlacementOf(task, draws.kinds[0].actions[i / each], draws.kinds[1].actions[i]));
  }
  if (rng != nullptr) last_devices_ = draws.kinds[1].actions;
  if (options_.as_shipped && rng != nullptr) draws.kinds = draw(true);
  return draws;
}

std::vector<ActionTerms> HierarchicalPolicy::Evaluate(std::size_t task, const Draws& draws) const {
  const Decisions &grouping = draws.kinds[0], &devices = draws.kinds[1];
  const at::Tensor logits = GroupLogits(task).expand({grouping.actions.size(0), -1, -1});
  const SequencePlacer::Encoded encoded = Encode(task, grouping, options_.as_shipped);
  std::vector<ActionTerms> terms = {
      TermsOf(logits, grouping), TermsOf(placer_.Logits(encoded, devices.actions, devices.delays), devices)};
  if (const at::Tensor used = Used(grouping); used.defined()) {
    const at::Tensor counts = used.repeat_interleave(grouping.draws_per_row, 0);
    terms[1].log_probability =
        at::where(counts > 0, terms[1].log_probability, devices.log_probability.to(at::kFloat));
    terms[1].entropy = terms[1].entropy * counts;
  }
  return terms;
}

void HierarchicalPolicy::Save(StateWriter& out) const {
  vocabulary_.Save(out);
  SaveTensors(parameters_, out);
}

void HierarchicalPolicy::Load(StateReader& in) {
  vocabulary_.Load(in);
  LoadTensors(in, parameters_);
  ReadFeatures();
}

void HierarchicalPolicy::SaveRun(StateWriter& out) const {
  out.Put<std::uint8_t>(last_devices_.defined());
  if (!last_devices_.defined()) return;
  out.Put(last_devices_.size(0));
  SaveTensor(last_devices_, out);
}

void HierarchicalPolicy::LoadRun(StateReader& in) {
  if (in.Get<std::uint8_t>() == 0) return;
  const auto rows = in.Get<std::int64_t>();
  if (rows < 1 || rows > 1'000'000) in.Fail("a batch has an impossible size");
  last_devices_ = at::empty({rows, groups_}, at::kLong);  // no memory is touched before sizes are checked
  LoadTensor(in, last_devices_);
  if ((last_devices_ < 0).logical_or(last_devices_ >= devices_).any().item<bool>())
    in.Fail("a group is on no device");
}

}  // namespace stowplan::agents::rl
