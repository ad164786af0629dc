// What a run of Placeto writes down and how it goes on from it.
#include <memory>

#include "agents/rl/placeto_learner.h"
#include "sim/error.h"

namespace berth::agents::rl {

std::string WriteWeights(const PlacetoNetwork& network) {
  StateWriter out;
  out.Put<std::int64_t>(network.sizes().features);
  out.Put<std::int64_t>(network.sizes().devices);
  for (const at::Tensor& parameter : network.parameters()) SaveTensor(parameter, out);
  return out.Take();
}

void ReadWeights(const std::string& bytes, const std::string& path, PlacetoNetwork& network) {
  StateReader in(bytes, path + ", weights");
  const auto features = in.Get<std::int64_t>();
  const auto devices = in.Get<std::int64_t>();
  if (features != network.sizes().features || devices != network.sizes().devices) {
    in.Fail("the policy is one for " + std::to_string(devices) + " devices and " + std::to_string(features) +
            " features, but " + std::to_string(network.sizes().devices) + " devices and " +
            std::to_string(network.sizes().features) + " features are needed");
  }
  for (at::Tensor parameter : network.parameters()) LoadTensor(in, parameter);
  in.Finish();
}

void PlacetoLearner::SaveRun() {
  if (search_.checkpoint.empty()) return;
  Checkpoint checkpoint;
  checkpoint.agent = options_.name;
  checkpoint.sections["weights"] = WriteWeights(network_);

  StateWriter run;
  run.Put<std::uint64_t>(search_.seed);
  run.Put<std::uint8_t>(search_.learn);
  run.Put<std::uint64_t>(tasks_.size());
  run.Put(updates_);
  run.Put(next_task_);
  run.Put(log_.size());
  SaveRng(start_rng_, run);
  SaveRng(action_rng_, run);
  optimiser_.Save(run);
  run.Put<std::uint64_t>(batch_.size());
  for (const PlacetoEpisode& episode : batch_) episode.Save(run);
  checkpoint.sections["run"] = run.Take();

  for (std::size_t task = 0; task < tasks_.size(); ++task) {
    const TaskState& state = *tasks_[task];
    StateWriter out;
    out.Put(state.view.units());
    out.PutText(evaluators_[task]->SaveState());
    state.baseline.Save(out);
    out.PutList(state.start);
    out.Put(state.episodes);
    out.Put(state.greedy);
    checkpoint.sections["task " + std::to_string(task)] = out.Take();
  }
  WriteCheckpoint(search_.checkpoint, checkpoint);
  clock_.Restart();
}

void PlacetoLearner::RestoreRun(const std::string& path) {
  const Checkpoint checkpoint = ReadCheckpoint(path);
  if (checkpoint.agent != options_.name) {
    throw InputError(path + ": is the checkpoint of '" + checkpoint.agent + "', not of '" + options_.name +
                     "'; resume with that agent or give another file");
  }
  StateReader run(checkpoint.section("run", path), path + ", run");
  if (run.Get<std::uint64_t>() != search_.seed) run.Fail("it was started with another seed");
  if ((run.Get<std::uint8_t>() != 0) != search_.learn) run.Fail("learning was switched otherwise");
  if (run.Get<std::uint64_t>() != tasks_.size()) run.Fail("it has another number of tasks");
  ReadWeights(checkpoint.section("weights", path), path, network_);
  updates_ = run.Get<std::int64_t>();
  next_task_ = run.Get<std::int64_t>();
  log_ = LearningLog(path + ".log.csv", run.Get<std::int64_t>());
  start_rng_ = LoadRng(run);
  action_rng_ = LoadRng(run);
  optimiser_.Load(run);
  batch_.resize(static_cast<std::size_t>(run.Get<std::uint64_t>()));
  for (PlacetoEpisode& episode : batch_) episode.Load(run);
  run.Finish();

  for (std::size_t task = 0; task < tasks_.size(); ++task) {
    TaskState& state = *tasks_[task];
    const std::string name = "task " + std::to_string(task);
    StateReader in(checkpoint.section(name, path), path + ", " + name);
    if (in.Get<std::int64_t>() != state.view.units()) in.Fail("the task has another number of units");
    evaluators_[task]->RestoreState(in.GetText());
    state.baseline.Load(in);
    state.start = in.GetList<std::int32_t>();
    state.episodes = in.Get<std::int64_t>();
    state.greedy = in.Get<std::int64_t>();
    in.Finish();
  }
}

}  // namespace berth::agents::rl
