// stowplan validate: simulated against measured step times; measures with --record.
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/reference.h"
#include "cli/validate/placements.h"
#include "cli/validate/recorder.h"
#include "cli/validate/recording.h"
#include "cli/validate/score.h"
#include "cli/validate/timelines.h"
#include "cost_models/cost_models.h"
#include "cost_models/parameters/parameters.h"
#include "output/console.h"
#include "output/interrupt.h"
#include "problem/loaded_problem.h"
#include "problem/options.h"
#include "scenarios/scenarios.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"

namespace stowplan::cli {
namespace {

constexpr std::int64_t kMostSteps = 10'000'000;
constexpr double kLeastSeconds = 0.001, kMostSeconds = 1e6;

class ValidateCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_flag(
        "--record", record_,
        "measure now, on two cores of this machine: ops alone, copies, then steps of many placements; "
        "goes on where it was stopped");
    app.add_flag(
        "--choose", choose_,
        "write what `stowplan-profile graph` measures elsewhere to --out DIR: the one workload's graph, the "
        "cluster, placements of all families");
    app.add_option("--cluster", cluster_, "the devices of --choose: a cluster or a cluster file")
        ->option_text("C");
    problem::DeclareSheets(app, sheets_);
    app.add_option("--recordings", recordings_, "score what was recorded in this folder, and measure nothing")
        ->option_text("DIR");
    app.add_option(
           "--out", out_,
           "where --record keeps its recordings; scores are written beside them or, with --recordings, "
           "here: report.txt, scores.json, rows.csv")
        ->option_text("DIR");
    app.add_option("--workloads", workloads_,
                   "names from `stowplan list workloads` or graph files; else small ones")
        ->option_text("W...");
    problem::Whole(app.add_option("--placements", options_.placements, "of each workload"), 2, 100'000)
        ->capture_default_str()
        ->option_text("N");
    problem::Whole(app.add_option("--steps", options_.steps, "undisturbed ones wanted of each placement"), 1,
                   kMostSteps)
        ->capture_default_str()
        ->option_text("N");
    problem::Whole(
        app.add_option("--at-most", options_.at_most, "steps of each placement, disturbed ones included"), 1,
        kMostSteps)
        ->capture_default_str()
        ->option_text("N");
    problem::Real(app.add_option("--seconds", options_.seconds, "for the steps of one placement"),
                  kLeastSeconds, kMostSeconds)
        ->capture_default_str()
        ->option_text("S");
    problem::Real(
        app.add_option("--probe-seconds", options_.probe_seconds, "for the probes of a workload, at most"),
        kLeastSeconds, kMostSeconds)
        ->capture_default_str()
        ->option_text("S");
    problem::Real(
        app.add_option(
            "--memory-share", options_.memory_share,
            "give each device of --record so much of the memory that the whole program takes on one, so that "
            "some placements do not fit; 0 = no limit"),
        0, 100)
        ->capture_default_str()
        ->option_text("X");
    problem::Real(
        app.add_option(
            "--again-seconds", options_.again_seconds,
            "of each workload, at most, for placements that were disturbed and are measured again; 0 = none"),
        0, kMostSeconds)
        ->capture_default_str()
        ->option_text("S");
    problem::Whole(
        app.add_option("--pause-us", options_.pause_us,
                       "asleep before each step: on a busy machine more steps then run undisturbed"),
        0, 10'000'000)
        ->capture_default_str()
        ->option_text("N");
    problem::Whole(app.add_option("--seed", options_.seed, "of the placements"), 0, problem::kMaxSeed)
        ->capture_default_str()
        ->option_text("K");
    app.add_option(
           "--again", again_,
           "recordings of another time: how far the machine agrees with itself on placements that both "
           "measured")
        ->option_text("DIR");
    app.add_option(
           "--timelines", timelines_,
           "compare each recording's traced step op by op: NAME.difference.txt, and the measured and the "
           "simulated one as Chrome/Perfetto traces, in this folder")
        ->option_text("DIR");
    app.add_option(
           "--cost-model", cost_model_,
           "what prices ops: a name or a parameter file; else, with --recordings, the stowplan.cost_model "
           "beside each recording")
        ->option_text("M");
    app.add_flag("--force", force_, "write scores into --out whatever it holds");
    problem::JsonFile(app.add_option("--json", json_, "write the scores to this file; - is standard output"))
        ->option_text("FILE");
    AddExamples(app, {"stowplan validate --record --out recordings --workloads rnnlm --placements 10",
                      "stowplan validate --recordings recordings --json scores.json",
                      "stowplan validate --choose --workloads nmt --cluster 'h100(gpus=2)' --out chosen"});
  }

  void Run() override {
    if (int{record_} + int{choose_} + int{!recordings_.empty()} != 1)
      throw InputError(
          "one of --record --out DIR (measure), --choose --out DIR (prepare what is measured elsewhere) and "
          "--recordings DIR (score what was measured) is wanted.");
    if (record_ && out_.empty()) throw InputError("--record needs --out DIR, the folder for its recordings.");
    if (record_ && !cost_model_.empty())
      throw InputError(
          "--cost-model is for --recordings and --choose; --record prices ops by its own probes.");
    if (choose_ && (out_.empty() || cluster_.empty() || workloads_.size() != 1))
      throw InputError("--choose needs one --workloads W, --cluster C and --out DIR.");
    if (options_.at_most < options_.steps)
      throw InputError(fmt::format("--at-most {}: at least the {} of --steps are wanted.", options_.at_most,
                                   options_.steps));
    if (!recordings_.empty() && (!workloads_.empty() || !cluster_.empty()))
      throw InputError(
          "--workloads and --cluster are for --record and --choose; --recordings scores all of its folder.");
    if (!choose_ && !sheets_.empty()) throw InputError("--sheet is for --cluster, which --choose takes.");
    if (record_ && !cluster_.empty())
      throw InputError("--cluster is for --choose; --record measures two cores of this machine.");
    if (!again_.empty() && (choose_ || record_))
      throw InputError("--again is for --recordings: both were measured before.");
    if (choose_) return Choose();
    if (!out_.empty()) CheckFolder();
    if (record_) Record();
    std::vector<Score> scores = ScoreFolder(record_ ? out_ : recordings_, cost_model_);
    if (!again_.empty()) CompareRepeats(again_, &scores);
    if (!out_.empty()) {
      const std::filesystem::path folder(out_);
      formats::WriteFile((folder / "scores.json").string(), PrintScoresJson(scores));
      formats::WriteFile((folder / "report.txt").string(), PrintScores(scores));
      formats::WriteFile((folder / "rows.csv").string(), PrintScoresCsv(scores));
    }
    if (!timelines_.empty()) WriteTimelines(record_ ? out_ : recordings_);
    if (!json_.empty()) formats::WriteFile(json_, PrintScoresJson(scores));
    if (json_ != "-") output::Print(PrintScores(scores));
  }

 private:
  // Scores are told by their first words; a report and rows may be those of a table or a comparison.
  void CheckFolder() const {
    const std::filesystem::path folder(out_);
    formats::MakeFolder(out_);
    const std::string scores = (folder / "scores.json").string();
    if (force_ ||
        (std::filesystem::exists(scores) && formats::ReadFile(scores).starts_with("{\"workloads\": [")))
      return;
    for (const char* file : {"scores.json", "report.txt", "rows.csv"}) {
      if (!std::filesystem::exists(folder / file)) continue;
      throw InputError(
          fmt::format("{}: holds {} and no scores of stowplan validate; give another --out, or --force to "
                      "replace what is there.",
                      out_, file));
    }
  }

  void WriteTimelines(const std::string& recordings) const {
    const std::filesystem::path folder(timelines_);
    formats::MakeFolder(folder.string());
    for (const std::string& path : FindRecordings(recordings)) {
      const Recording recording = ReadValidation(path);
      if (profiler::TracedPlacement(recording) < 0) continue;  // as of a graph with one placement
      const Timelines timelines =
          CompareTimelines(recording, cost_model_.empty() ? CostsBeside(path) : cost_model_, recordings);
      const std::string stem = (folder / FileStem(recording.workload)).string();
      formats::WriteFile(stem + ".measured.trace.json", timelines.measured_trace);
      formats::WriteFile(stem + ".simulated.trace.json", timelines.simulated_trace);
      formats::WriteFile(stem + ".difference.txt", timelines.difference);
    }
  }

  void Choose() const {
    const auto sheets = problem::LoadCatalogue(cluster_, sheets_);
    const auto model = cost_models::MakeCostModel(cost_model_, *sheets);
    const auto catalogue = cost_models::CalibratedCatalogue(cost_models::ParametersOf(*model), *sheets);
    const problem::LoadedProblem loaded(LoadMeasuredGraph(workloads_.front()),
                                        scenarios::LoadCluster(cluster_, *catalogue), *model);
    WriteChosen(loaded.problem(), ChoosePlacements(loaded.problem(), options_.placements, options_.seed),
                out_);
  }

  void Record() {
    options_.folder = out_;
    options_.quiet = json_ == "-";
    for (const std::string& workload : workloads_.empty() ? DefaultWorkloads() : workloads_) {
      if (!RecordWorkload(workload, options_)) {
        throw output::Interrupted(
            fmt::format("stopped in {}; what was measured is kept in {}, the same call goes on with it.",
                        workload, out_));
      }
    }
  }

  RecorderOptions options_;
  bool record_ = false;
  bool choose_ = false;
  std::string cluster_;
  std::vector<std::string> sheets_;
  std::string cost_model_;
  std::string recordings_, again_;
  std::string out_;
  std::vector<std::string> workloads_;
  std::string timelines_;
  std::string json_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeValidateCommand() {
  return std::make_unique<ValidateCommand>();
}

}  // namespace stowplan::cli
