#include "agents/rl/learner.h"

#include <algorithm>

#include "agents/rl/nn/tensors.h"
#include "sim/base/error.h"

namespace stowplan::agents::rl {
namespace {

std::string TaskSection(std::size_t task) {
  return "task " + std::to_string(task);
}

}  // namespace

Learner::Learner(std::string name, const std::vector<const Task*>& tasks,
                 const std::vector<Evaluator*>& evaluators, const SearchOptions& search)
    : name_(std::move(name)), tasks_(tasks), evaluators_(evaluators), search_(search) {
  STOWPLAN_CHECK_EQ(tasks.size(), evaluators.size());
}

void Learner::Run() {
  SetUpTorchThread();
  if (search_.resume && CheckpointExists(search_.checkpoint)) {
    Restore(search_.checkpoint);
  } else {
    const bool logs = !search_.checkpoint.empty() && search_.ranks->first();
    log_ = LearningLog(logs ? search_.checkpoint + ".log.csv" : "");
  }
  clock_.Restart();
  while (!StopRequested() && Step()) {
    if (clock_.Due()) Save();
  }
  Save();
}

void Learner::Log(UpdateRecord record) {
  record.update = ++updates_;
  record.samples = SamplesSpent();
  if (tasks_.size() == 1 && evaluators_.front()->has_best()) {
    record.best_us = sim::ToMicros(evaluators_.front()->best_runtime());
  }
  log_.Append(record);
  if (on_update) on_update(record);
}

void Learner::LogPretraining(double loss) {
  UpdateRecord record;
  record.samples = SamplesSpent();
  record.loss = loss;
  log_.Append(record);
  if (on_update) on_update(record);
}

std::int64_t Learner::SamplesSpent() const {
  std::int64_t samples = 0;
  for (const Evaluator* evaluator : evaluators_) samples += evaluator->samples();
  return samples;
}

double Learner::PartSpent() const {
  std::int64_t budget = 0;
  for (const Evaluator* evaluator : evaluators_) budget += evaluator->budget();
  return static_cast<double>(SamplesSpent()) / static_cast<double>(std::max<std::int64_t>(budget, 1));
}

bool Learner::StopRequested() const {
  return std::any_of(evaluators_.begin(), evaluators_.end(),
                     [](const Evaluator* evaluator) { return evaluator->stop_requested(); });
}

void Learner::Save() {
  if (search_.checkpoint.empty() || !search_.ranks->first()) return;
  Checkpoint checkpoint;
  checkpoint.agent = name_;
  checkpoint.sections["weights"] = WriteWeights();

  StateWriter run;
  run.Put<std::uint64_t>(search_.seed);
  run.Put<std::uint8_t>(search_.learn);
  run.Put<std::uint64_t>(tasks_.size());
  run.Put(updates_);
  run.Put(log_.size());
  checkpoint.sections["run"] = run.Take();

  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    StateWriter out;
    out.Put(tasks_[t]->units.size());
    out.PutText(evaluators_[t]->SaveState());
    checkpoint.sections[TaskSection(t)] = out.Take();
  }
  StateWriter state;
  SaveState(state);
  checkpoint.sections["state"] = state.Take();
  WriteCheckpoint(search_.checkpoint, checkpoint);
  clock_.Restart();
}

void Learner::Restore(const std::string& path) {
  const Checkpoint checkpoint = ReadCheckpoint(path);
  if (checkpoint.agent != name_) {
    throw InputError(path + ": is the checkpoint of '" + checkpoint.agent + "', not of '" + name_ +
                     "'; resume with that agent or give another file");
  }
  StateReader run(checkpoint.section("run", path), path + ", run");
  if (run.Get<std::uint64_t>() != search_.seed) run.Fail("it was started with another seed");
  if ((run.Get<std::uint8_t>() != 0) != search_.learn) run.Fail("learning was switched otherwise");
  if (run.Get<std::uint64_t>() != tasks_.size()) run.Fail("it has another number of tasks");
  updates_ = run.GetCount();
  const std::int64_t logged = run.GetCount();
  if (search_.ranks->first()) log_ = LearningLog(path + ".log.csv", logged);
  run.Finish();

  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    StateReader in(checkpoint.section(TaskSection(t), path), path + ", " + TaskSection(t));
    if (in.Get<UnitIndex>() != tasks_[t]->units.size()) in.Fail("the task has another number of units");
    evaluators_[t]->RestoreState(in.GetText());
    in.Finish();
  }
  ReadWeights(checkpoint.section("weights", path), path);
  StateReader state(checkpoint.section("state", path), path + ", state");
  LoadState(state);
  state.Finish();
}

std::int64_t CommonDevices(const std::string& agent, const std::vector<const Task*>& tasks) {
  const std::size_t devices = tasks.front()->devices.size();
  for (const Task* task : tasks) {
    if (task->devices.size() != devices) {
      throw InputError(agent + " learns on tasks with one number of devices, but is given some with " +
                       std::to_string(devices) + " and some with " + std::to_string(task->devices.size()));
    }
  }
  return static_cast<std::int64_t>(devices);
}

UnitPlacement PlacementOfSlots(const Task& task, std::span<const std::int64_t> slots) {
  UnitPlacement placement;
  placement.reserve(slots.size());
  for (const std::int64_t slot : slots) placement.push_back(task.devices[static_cast<std::size_t>(slot)]);
  return placement;
}

}  // namespace stowplan::agents::rl
