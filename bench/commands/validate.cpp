// berth validate: simulated against measured step times; measures with --record.
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/commands/commands.h"
#include "bench/validate/recorder.h"
#include "bench/validate/score.h"
#include "bench/validate/timelines.h"
#include "sim/error.h"
#include "sim/formats/formats.h"

namespace berth::bench {
namespace {

class ValidateCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_flag(
        "--record", record_,
        "measure now, on two cores of this machine: ops alone, copies, then steps of many placements; "
        "goes on where it was stopped");
    app.add_option("--recordings", recordings_, "score what was recorded in this folder, and measure nothing")
        ->option_text("DIR");
    app.add_option(
           "--out", out_,
           "where --record keeps its recordings; scores are written beside them or, with --recordings, "
           "here: report.txt, scores.json, rows.csv")
        ->option_text("DIR");
    app.add_option("--workloads", workloads_,
                   "names from `berth list workloads` or graph files; else small ones")
        ->option_text("W...");
    app.add_option("--placements", options_.placements, "of each workload")
        ->capture_default_str()
        ->option_text("N");
    app.add_option("--steps", options_.steps, "undisturbed ones wanted of each placement")
        ->capture_default_str()
        ->option_text("N");
    app.add_option("--at-most", options_.at_most, "steps of each placement, disturbed ones included")
        ->capture_default_str()
        ->option_text("N");
    app.add_option("--seconds", options_.seconds, "for the steps of one placement")
        ->capture_default_str()
        ->option_text("S");
    app.add_option("--pause-us", options_.pause_us,
                   "asleep before each step: on a busy machine more steps then run undisturbed")
        ->capture_default_str()
        ->option_text("N");
    app.add_option("--seed", options_.seed, "of the placements")->capture_default_str()->option_text("K");
    app.add_option(
           "--timelines", timelines_,
           "compare each recording's traced step op by op: NAME.difference.txt, and the measured and the "
           "simulated one as Chrome/Perfetto traces, in this folder")
        ->option_text("DIR");
    app.add_option("--json", json_, "write the scores to this file; - is standard output")
        ->option_text("FILE");
  }

  void Run() override {
    if (record_ == !recordings_.empty())
      throw InputError(
          "either --record --out DIR (measure) or --recordings DIR (score what was measured) is wanted.");
    if (record_ && out_.empty()) throw InputError("--record needs --out DIR, the folder for its recordings.");
    if (options_.placements < 2 || options_.steps < 1 || options_.at_most < options_.steps ||
        !(options_.seconds > 0) || options_.pause_us < 0)
      throw InputError(
          "--placements from 2, --steps from 1, --at-most from --steps, --seconds above 0 and "
          "--pause-us from 0 are wanted.");
    if (record_ && !Record()) return;
    const std::vector<Score> scores = ScoreFolder(record_ ? out_ : recordings_);
    if (!out_.empty()) {
      const std::filesystem::path folder(out_);
      std::filesystem::create_directories(folder);
      formats::WriteFile((folder / "report.txt").string(), PrintScores(scores));
      formats::WriteFile((folder / "scores.json").string(), PrintScoresJson(scores));
      formats::WriteFile((folder / "rows.csv").string(), PrintScoresCsv(scores));
    }
    if (!timelines_.empty()) WriteTimelines(record_ ? out_ : recordings_);
    if (!json_.empty()) formats::WriteFile(json_, PrintScoresJson(scores));
    if (json_ != "-") fmt::print("{}", PrintScores(scores));
  }

 private:
  void WriteTimelines(const std::string& recordings) const {
    const std::filesystem::path folder(timelines_);
    std::filesystem::create_directories(folder);
    for (const std::string& path : FindRecordings(recordings)) {
      const Recording recording = ReadValidation(path);
      if (recording.traced_placement < 0) continue;  // as of a graph with one placement
      const Timelines timelines = CompareTimelines(recording, CostsBeside(path));
      const std::string stem = (folder / FileStem(recording.workload)).string();
      formats::WriteFile(stem + ".measured.trace.json", timelines.measured_trace);
      formats::WriteFile(stem + ".simulated.trace.json", timelines.simulated_trace);
      formats::WriteFile(stem + ".difference.txt", timelines.difference);
    }
  }

  // False if the user stopped it.
  bool Record() {
    options_.folder = out_;
    options_.quiet = json_ == "-";
    for (const std::string& workload : workloads_.empty() ? DefaultWorkloads() : workloads_) {
      if (!RecordWorkload(workload, options_)) {
        fmt::print(stderr, "stopped; the same command goes on with {}\n", workload);
        return false;
      }
    }
    return true;
  }

  RecorderOptions options_;
  bool record_ = false;
  std::string recordings_;
  std::string out_;
  std::vector<std::string> workloads_;
  std::string timelines_;
  std::string json_;
};

}  // namespace

std::unique_ptr<Command> MakeValidateCommand() {
  return std::make_unique<ValidateCommand>();
}

}  // namespace berth::bench
