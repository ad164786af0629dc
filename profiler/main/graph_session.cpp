#include "profiler/main/graph_session.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <random>

#include <fmt/format.h>

#include "profiler/host_machine.h"
#include "profiler/main/commands.h"
#include "sim/base/error.h"
#include "sim/base/statistics.h"
#include "sim/formats/formats.h"

namespace stowplan::profiler {
namespace {

double LoadAverage() {
  double load[1] = {0};
  return ::getloadavg(load, 1) == 1 ? load[0] : 0;
}

// "AMD EPYC 9B45, 2 cores, AVX-512; NVIDIA H200": the host and, of an accelerator, its name.
std::string MachineText(const Backend& backend) {
  std::string text = HostText();
  for (const auto& [key, value] : backend.Machine()) {
    if (key == "gpu") text += "; " + std::get<std::string>(value.value);
  }
  return text;
}

StepOrigin Origin(const Backend& backend) {
  const std::string revision = Revision();
  constexpr std::string_view kDirty = "-dirty";
  const bool dirty = revision.ends_with(kDirty);
  return {.machine = MachineText(backend),
          .date = NowUtc(),
          .commit = revision.substr(0, revision.size() - (dirty ? kDirty.size() : 0)),
          .dirty = dirty,
          .command = CommandLine(),
          .software = backend.Software()};
}

// What is there already, if it is of this graph, these devices, this machine and these libraries.
StepRecording Resumed(const StepRecording& fresh, const LoadedGraph& loaded, const std::string& path) {
  if (!std::filesystem::exists(path)) return fresh;
  const auto other = [&path](const char* what) {
    return InputError(path + ": was recorded " + what +
                      ", and recordings are not mixed; give another --out.");
  };
  StepRecording old = ReadStepRecording(
      path,
      [&](const std::string& workload) -> const sim::OpGraph& {
        if (workload != fresh.workload) throw other("of another graph");
        return loaded.graph;
      },
      loaded.catalogue);
  if (old.cluster != fresh.cluster) throw other("on another cluster");
  if (old.origin.machine != fresh.origin.machine || old.origin.software != fresh.origin.software)
    throw other("on another machine or with other libraries");
  if (old.wanted_steps != fresh.wanted_steps) throw other("with another --steps");
  return old;
}

const MeasuredPlacement* Find(const StepRecording& recording, const sim::Placement& placement) {
  for (const MeasuredPlacement& measured : recording.placements) {
    if (measured.placement.device == placement.device && measured.placement.order == placement.order &&
        measured.placement.priority == placement.priority)
      return &measured;
  }
  return nullptr;
}

MeasuredPlacement Measure(Executor& executor, const sim::OpGraph& graph, const NamedPlacement& named,
                          StepPlan plan, Pace pace) {
  plan.pace = pace;
  return MeasurePlacement(executor, graph, {named.family, named.placement}, plan);
}

void Tell(const NamedPlacement& named, const MeasuredPlacement& made, const LoadedGraph& loaded) {
  const auto device = [&loaded](sim::DeviceIndex index) {
    return loaded.cluster.devices[static_cast<std::size_t>(index)].name;
  };
  if (made.oom) {
    fmt::print(stderr, "{:24} out of memory{}: {} needs {} bytes on {}, which has {}\n", named.name,
               made.exhausted ? " (exhausted: the machine had no more)" : "",
               loaded.graph.ops[static_cast<std::size_t>(made.oom->op)].name, made.oom->needed,
               device(made.oom->device), made.oom->capacity);
    return;
  }
  std::string peaks;
  for (std::size_t d = 0; d < made.peak_bytes.size(); ++d)
    peaks += fmt::format("{}{} {}", d == 0 ? "" : ", ", device(static_cast<sim::DeviceIndex>(d)),
                         made.peak_bytes[d]);
  fmt::print(stderr, "{:24} {:12.1f} us, {} of {} steps undisturbed, peak bytes: {}\n", named.name,
             Quantile(made.steps_us, 0.5), made.undisturbed, made.run, peaks);
}

// Why an accelerator runs stand-ins, while there is time to do something about it.
void TellReasons(const sim::Attributes& facts) {
  const sim::Attribute* const found = sim::FindAttribute(facts, "stand_in_reasons");
  if (found == nullptr) return;
  for (const sim::Attribute& one : std::get<sim::Attribute::List>(found->value)) {
    const auto& of = std::get<sim::Attributes>(one.value);
    fmt::print(stderr, "{} is run by a stand-in: {}\n", sim::FindString(of, "type").value_or(""),
               sim::FindString(of, "reason").value_or(""));
  }
}

std::int64_t NanosNow() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace

GraphSession::GraphSession(const GraphOptions& options, const LoadedGraph& loaded, Backend& backend,
                           Backend* cpu)
    : options_(options), loaded_(loaded), backend_(backend), cpu_(cpu) {
  StepRecording fresh;
  fresh.workload = options.inputs.workload.empty() ? options.inputs.graph : options.inputs.workload;
  fresh.origin = Origin(backend);
  fresh.load_before = LoadAverage();
  fresh.wanted_steps = options.plan.steps;
  fresh.cluster = formats::PrintCluster(loaded.cluster);
  recording_ = Resumed(fresh, loaded, options.out);
}

int GraphSession::Run() {
  std::vector<const NamedPlacement*> missing;
  for (const NamedPlacement& named : loaded_.placements) {
    if (Find(recording_, named.placement) == nullptr) missing.push_back(&named);
  }
  if (missing.empty()) return 0;
  if (options_.seed != 0) {
    std::mt19937_64 random(options_.seed);
    std::shuffle(missing.begin(), missing.end(), random);
  }
  Start();
  for (const NamedPlacement* named : missing) {
    if (Interrupted()) {
      fmt::print(stderr, "stopped before {}; the same command continues there\n", named->name);
      return 1;
    }
    if (Find(recording_, named->placement) != nullptr) continue;  // given twice
    if (!Add(*named)) return 1;
  }
  Repeat();
  return failed_ == 0 ? 0 : 1;
}

void GraphSession::Start() {
  if (const auto free = backend_.FreeMemory()) {
    if (const std::string warning = CapacityWarning(loaded_.cluster, *free); !warning.empty())
      fmt::print(stderr, "{}\n", warning);
  }
  const CoresByDevice cores = ChooseCores(loaded_.cluster, options_.inputs.cores);
  executor_ =
      backend_.MakeGraphExecutor(loaded_.graph, loaded_.cluster, cores, cpu_,
                                 {.stand_in_types = options_.stand_in_types, .sm_shares = loaded_.sm_shares});
  pace_ = backend_.FindPace(cores);
  const std::vector<std::string> stand_ins = TypesOf(loaded_.graph, executor_->stand_ins());
  const sim::Attributes& facts = executor_->facts();
  constexpr const char* kDivision = "multiprocessors";
  const auto division = [](const sim::Attributes& of) {
    const sim::Attribute* const found = sim::FindAttribute(of, kDivision);
    return found == nullptr ? sim::Attribute{} : *found;
  };
  if (!recording_.placements.empty() &&
      (recording_.stand_ins != stand_ins || division(recording_.execution) != division(facts)))
    throw InputError(options_.out +
                     ": was recorded with other stand-ins or another --sm-share, and recordings are not "
                     "mixed; give another --out.");
  recording_.stand_ins = stand_ins;
  recording_.execution = facts;
  recording_.pace_ns = pace_.ns;
  TellReasons(facts);
}

bool GraphSession::Add(const NamedPlacement& named) {
  ReadClocks();
  try {
    recording_.placements.push_back(Measure(*executor_, loaded_.graph, named, options_.plan, pace_));
  } catch (const RunError& error) {
    constexpr int kMostInARow = 3;  // then it is the device that fails and not the placement
    fmt::print(stderr, "{:24} failed: {}\n", named.name, error.what());
    ++failed_;
    return ++failed_in_a_row_ < kMostInARow;
  }
  failed_in_a_row_ = 0;
  Write();
  Tell(named, recording_.placements.back(), loaded_);
  return true;
}

// Reading takes the driver's tool a tenth of a second: not for every placement.
void GraphSession::ReadClocks() {
  constexpr std::int64_t kEvery = 5'000'000'000;
  const std::int64_t now = NanosNow();
  if (clocks_read_ != 0 && now - clocks_read_ < kEvery) return;
  clocks_read_ = now;
  sim::Attribute clocks = backend_.Clocks();
  if (clocks == sim::Attribute{}) return;
  recording_.clocks.push_back({static_cast<int>(recording_.placements.size()), std::move(clocks)});
}

void GraphSession::Repeat() {
  const TimeBudget budget(options_.again_seconds);
  MeasureDisturbedAgain(
      [this, &budget](std::size_t number) -> std::optional<MeasuredPlacement> {
        if (budget.Spent()) return std::nullopt;
        const sim::Placement& placement = recording_.placements[number].placement;
        for (const NamedPlacement& named : loaded_.placements) {
          if (Interrupted()) return std::nullopt;
          if (named.placement.device != placement.device || named.placement.order != placement.order ||
              named.placement.priority != placement.priority)
            continue;
          MeasuredPlacement again = Measure(*executor_, loaded_.graph, named, options_.plan, pace_);
          Tell(named, again, loaded_);
          return again;
        }
        return recording_.placements[number];  // of an earlier call with other placements
      },
      options_.plan.steps, &recording_.placements);
  Write();
}

void GraphSession::Write() {
  recording_.load_after = LoadAverage();
  formats::WriteFile(options_.out, PrintStepRecording(recording_));
}

}  // namespace stowplan::profiler
