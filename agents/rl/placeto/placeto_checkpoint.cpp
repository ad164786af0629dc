// What a run of Placeto writes down and how it goes on from it.
#include <memory>

#include "agents/rl/placeto/placeto_learner.h"
#include "sim/base/error.h"

namespace stowplan::agents::rl {

std::string PlacetoLearner::WriteWeights() const {
  StateWriter out;
  out.Put<std::int64_t>(network_.sizes().features);
  out.Put<std::int64_t>(network_.sizes().devices);
  SaveTensors(network_.parameters(), out);
  return out.Take();
}

void PlacetoLearner::ReadWeights(const std::string& bytes, const std::string& origin) {
  StateReader in(bytes, origin + ", weights");
  const auto features = in.Get<std::int64_t>();
  const auto devices = in.Get<std::int64_t>();
  if (features != network_.sizes().features || devices != network_.sizes().devices) {
    in.Fail("the policy is one for " + std::to_string(devices) + " devices and " + std::to_string(features) +
            " features, but " + std::to_string(network_.sizes().devices) + " devices and " +
            std::to_string(network_.sizes().features) + " features are needed");
  }
  LoadTensors(in, network_.parameters());
  in.Finish();
}

void PlacetoLearner::SaveState(StateWriter& out) const {
  out.Put(next_task_);
  out.Put(part_spent_);
  SaveRng(start_rng_, out);
  SaveRng(action_rng_, out);
  optimiser_.Save(out);
  out.Put<std::uint64_t>(batch_.size());
  for (const PlacetoEpisode& episode : batch_) episode.Save(out);
  for (const auto& state : states_) {
    state->baseline.Save(out);
    out.Put(state->stay);
    state->best.Save(out);
    out.Put(state->episodes);
    out.Put(state->greedy);
  }
}

void PlacetoLearner::LoadState(StateReader& in) {
  next_task_ = in.Get<std::int64_t>();
  if (next_task_ < 0 || next_task_ >= static_cast<std::int64_t>(size())) in.Fail("it goes on with no task");
  part_spent_ = in.Get<double>();
  start_rng_ = LoadRng(in);
  action_rng_ = LoadRng(in);
  optimiser_.Load(in);
  const auto episodes = in.Get<std::uint64_t>();
  if (episodes > static_cast<std::uint64_t>(options_.episodes)) in.Fail("it has too many episodes");
  batch_.resize(static_cast<std::size_t>(episodes));
  for (PlacetoEpisode& episode : batch_) {
    episode.Load(in);
    if (episode.task < 0 || static_cast<std::size_t>(episode.task) >= size() ||
        !states_[static_cast<std::size_t>(episode.task)]->view.Holds(episode))
      in.Fail("an episode in it is none of its task");
  }
  for (const PlacetoEpisode& episode : batch_) {
    // Those of a task that go on go in lockstep.
    const auto other = std::ranges::find_if(
        batch_, [&](const PlacetoEpisode& one) { return one.task == episode.task && !one.done(); });
    if (!episode.done() && (episode.steps != other->steps || episode.costs.size() != other->costs.size()))
      in.Fail("its episodes are at different steps");
  }
  for (const auto& state : states_) {
    state->baseline.Load(in, state->view.steps());
    state->stay = in.Get<double>();
    state->best.Load(in);
    if (!state->best.slots.empty() && !state->view.Holds(state->best))
      in.Fail("its best sample is none of its task");
    state->episodes = in.GetCount();
    state->greedy = in.GetCount();
  }
}

}  // namespace stowplan::agents::rl
