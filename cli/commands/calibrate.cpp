// stowplan calibrate TRACE… --out PARAMETERS: parameters from probes. stowplan calibrate --table T: the testbed of a table.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/calibrate/fit_json.h"
#include "cli/calibrate/report.h"
#include "cli/calibrate/step_report.h"
#include "cli/commands/commands.h"
#include "cli/reference.h"
#include "cost_models/calibration/calibration.h"
#include "cost_models/calibration/measured_rows.h"
#include "cost_models/calibration/rows_fit.h"
#include "output/console.h"
#include "problem/loaded_problem.h"
#include "problem/options.h"
#include "problem/provenance.h"
#include "profiler/traces/kineto.h"
#include "profiler/traces/recording_stream.h"
#include "sim/base/error.h"
#include "sim/formats/document/source.h"
#include "sim/formats/formats.h"
#include "sim/formats/frames.h"
#include "sim/formats/outputs.h"
#include "tables/run/calibration.h"

namespace stowplan::cli {
namespace {

namespace fs = std::filesystem;
using cost_models::NamedRecording;

// A stowplan.trace, or what torch.profiler writes: that becomes a recording of steps that tells the GPU's name at most.
NamedRecording ReadTrace(const std::string& path) {
  formats::FrameReader frames(path);
  std::string text = frames.Next().value_or("");
  constexpr std::size_t kHead = 4096;
  if (std::string_view(text).substr(0, kHead).find("\"stowplan.") != std::string_view::npos) {
    profiler::RecordingReader reader(frames, std::move(text));
    return {path, profiler::ReadRecording(reader)};
  }
  while (const auto more = frames.Next()) text += *more;
  profiler::KinetoTrace read = profiler::ParseKineto(text, formats::SourceOf(path));
  if (read.cut)
    throw InputError(formats::SourceOf(path) +
                     ": ends in the middle of its events; a trace of whole steps is wanted.");
  profiler::Part part;
  part.activity = std::move(read.trace);
  profiler::Recording recording;
  if (!read.gpu.empty()) recording.machine = {{"gpu", {read.gpu}}};
  recording.kind = profiler::kActivityKind;
  recording.device = "cuda";
  recording.Put("kineto", std::move(part));
  return {path, std::move(recording)};
}

bool IsOfRows(const std::string& path) {
  return path.ends_with(".csv") || path.ends_with(".csv.zst") || path.ends_with(".csv.gz");
}

class CalibrateCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("TRACE", traces_,
                   "recordings of isolated probes: of `stowplan-profile run`, or copies, launch and ops of "
                   "profiler/pytorch/record.py; or .csv tables of ops that anybody measured; .zst too")
        ->option_text("TRACE...");
    app.add_option(
           "--out", out_,
           "the stowplan.cost_model to write, with STEM.report.txt and STEM.report.html, of tables of ops "
           "STEM.report.csv, beside it; with --table the folder for testbed.json and fit.md, else results/T")
        ->option_text("OUT");
    app.add_option(
           "--kind", kinds_,
           "what the machine's gpu or cpu, or a device of a .csv table, is in the catalogue, gpu=h200; "
           "else a GPU is told by its name and a CPU is cpu (may be repeated)")
        ->option_text("CLASS=KIND");
    problem::DeclareSheets(app, sheets_);
    app.add_option("--name", name_, "of the parameters; else the machine's")->option_text("NAME");
    problem::OneOf(
        app.add_option(
            "--tf32", tf32_,
            "which f32 ops of a GPU run in TF32: none, convolutions (as the executor of `stowplan-profile "
            "graph` and frameworks do unless told otherwise) or all contractions; else as the "
            "recording says"),
        {"none", "convolutions", "all"});
    app.add_flag("--cold", ops_.cold,
                 "operands come from memory, not from a cache: the probes' `cold` times");
    app.add_option(
           "--steps", steps_,
           "recordings of whole steps (`stowplan-profile record`, Kineto JSON) to hold predictions against; "
           "nothing is fitted to them; alone, without TRACE and --out: which of their ops are told")
        ->option_text("TRACE...");
    app.add_flag("--steps-in-table", steps_in_table_,
                 "take table entries from --steps for ops that no probe measured");
    app.add_option("--table", table_,
                   "fit the testbed of a table to its fitted cells instead, one of `stowplan list tables`")
        ->option_text("T");
    problem::Threads(app.add_option("--threads", threads_, "of --table; 0 = one per core"))
        ->capture_default_str()
        ->option_text("N");
    app.add_flag("--force", force_, "replace what --out names");
    problem::JsonFile(app.add_option("--json", json_,
                                     "write what was fitted and how well to this file; - is standard output"))
        ->option_text("FILE");
    AddExamples(app,
                {"stowplan calibrate ops.trace.json.zst copies.trace.json.zst --out h100.json",
                 "stowplan calibrate t4.csv --out t4.json",
                 "stowplan calibrate probes.json --kind gpu=h200 --steps step.json --out h200.json --json -",
                 "stowplan calibrate --steps trace.json.gz",
                 "stowplan calibrate --table hierarchical --out testbed"});
  }

  void Run() override {
    const bool steps_alone = !steps_.empty() && traces_.empty() && out_.empty() && table_.empty();
    if (!steps_alone && traces_.empty() == table_.empty())
      throw InputError(
          "either TRACE... --out PARAMETERS (fit to probes), --table T (fit to a table) or --steps TRACE... "
          "alone (what "
          "they tell) is wanted.");
    if (steps_alone) {
      if (steps_in_table_ || !json_.empty() || !kinds_.empty() || !tf32_.empty() || !name_.empty())
        throw InputError(
            "--steps TRACE... alone says which ops are told; other options need TRACE... --out PARAMETERS.");
      return TellSteps();
    }
    const auto rows = std::ranges::count_if(traces_, IsOfRows);
    if (rows > 0 && static_cast<std::size_t>(rows) < traces_.size())
      throw InputError("tables of measured ops (.csv) and recordings are fitted apart; give either.");
    if (rows > 0) return CalibrateRows();
    table_.empty() ? CalibrateTraces() : CalibrateTestbed();
  }

 private:
  // What recordings of steps tell, before anything was measured to hold against them.
  void TellSteps() const {
    std::string text;
    for (const std::string& path : steps_) {
      const NamedRecording recording = ReadSteps(path);
      for (const auto& [name, part] : recording.recording.parts) {
        if (!part.activity) throw InputError(path + ": " + name + ": " + part.reason);
        text += PrintStepOps(path, cost_models::OpsOfSteps(path, *part.activity, 0));
      }
    }
    output::Print(text);
  }

  static NamedRecording ReadSteps(const std::string& path) {
    NamedRecording steps = ReadTrace(path);
    if (steps.recording.kind != profiler::kActivityKind) {
      throw InputError(path +
                       ": is no recording of steps with the device's records; --steps takes those of "
                       "`stowplan-profile record` and Kineto JSON");
    }
    return steps;
  }

  void CalibrateTestbed() {
    if (!steps_.empty() || !kinds_.empty())
      throw InputError("--steps and --kind belong to TRACE..., not to --table.");
    const tables::TableDefinition& table = tables::FindTable(table_);
    const fs::path folder = out_.empty() ? fs::path("results") / table.name : fs::path(out_);
    const fs::path testbed = folder / "testbed.json", text = folder / "fit.md";
    if (!out_.empty()) RefuseToReplace({testbed, text});
    formats::MakeFolder(folder.string());
    const tables::Calibration calibration = tables::CalibrateTable(table, {.threads = threads_});
    const std::string report = tables::PrintCalibration(table, calibration);
    cost_models::WriteParameters(testbed.string(), calibration.parameters);
    formats::WriteFile(text.string(), report);
    if (!json_.empty())
      return formats::WriteFile(json_, PrintFitJson(testbed.string(), table.name, calibration.fit));
    output::Print(fmt::format("{}\n{} and fit.md are written; `stowplan table run {}` uses them.\n", report,
                              testbed.string(), table.name));
  }

  // What is written: parameters, text and, with another ending, the same for a browser or a program. Looked at before
  // anything is read, so that nothing is worked out in vain.
  struct Outputs {
    fs::path parameters, text, more;
  };
  Outputs CheckedOutputs(const char* ending) const {
    if (out_.empty()) throw InputError("TRACE... needs --out PARAMETERS, the file to write.");
    if (const std::string wrong = problem::WrongJsonName(out_); !wrong.empty())
      throw InputError("--out: " + wrong);
    const fs::path path(out_);
    fs::path stem = path.filename();
    while (stem.extension() == ".zst" || stem.extension() == ".json") stem = stem.stem();
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    const Outputs outputs = {path, folder / (stem.string() + ".report.txt"),
                             folder / (stem.string() + ".report" + ending)};
    RefuseToReplace({outputs.parameters, outputs.text, outputs.more});
    return outputs;
  }

  void RefuseToReplace(std::initializer_list<fs::path> outputs) const {
    for (const fs::path& output : outputs) {
      if (!force_ && fs::is_regular_file(output)) {
        throw InputError(fmt::format(
            "--out: {} is there already; give another name, or --force to replace it.", output.string()));
      }
    }
  }

  cost_models::CalibrationOptions Options() const {
    cost_models::CalibrationOptions options{.name = name_,
                                            .command = problem::CurrentProvenance().command,
                                            .ops = ops_,
                                            .steps_in_table = steps_in_table_};
    if (tf32_ == "none") options.ops.tf32 = cost_models::Tf32Classes();
    if (tf32_ == "convolutions") options.ops.tf32 = cost_models::Convolutions();
    if (tf32_ == "all") options.ops.tf32 = cost_models::AllContractions();
    for (const std::string& kind : kinds_) {
      const auto equals = kind.find('=');
      if (equals == std::string::npos)
        throw InputError(fmt::format("--kind {}: wanted CLASS=KIND, like gpu=h200.", kind));
      options.kinds[kind.substr(0, equals)] = kind.substr(equals + 1);
    }
    return options;
  }

  void CalibrateRows() {
    if (!steps_.empty() || ops_.cold || !tf32_.empty() || !json_.empty())
      throw InputError(
          "--steps, --cold, --tf32 and --json belong to recordings, not to tables of measured ops.");
    const Outputs outputs = CheckedOutputs(".csv");
    cost_models::RowsFitOptions options{.kinds = {},
                                        .name = name_,
                                        .command = problem::CurrentProvenance().command,
                                        .commit = problem::CurrentProvenance().RevisionText(),
                                        .progress = {}};
    for (const auto& [device, kind] : Options().kinds) {
      (device == "gpu" ? options.kinds.only : options.kinds.of[device]) = kind;
    }
    options.progress = [](const std::string& what) { output::Tell(fmt::format("fitting {}\n", what)); };
    std::vector<cost_models::MeasuredRows> tables;
    for (const std::string& path : traces_)
      tables.push_back(cost_models::ParseMeasuredRows(formats::ReadFile(path), formats::SourceOf(path)));
    formats::PrepareOutput(out_);
    const cost_models::RowsFit fit = cost_models::FitRows(tables, options, *problem::LoadSheets(sheets_));
    const std::string text = cost_models::PrintRowsFit(fit);
    cost_models::WriteParameters(outputs.parameters.string(), fit.parameters);
    formats::WriteFile(outputs.text.string(), text);
    formats::WriteFile(outputs.more.string(), cost_models::PrintRowsFitCsv(fit));
    output::Print(fmt::format("{}\n{}, {} and {} are written.\n", text, outputs.parameters.string(),
                              outputs.text.filename().string(), outputs.more.filename().string()));
  }

  void CalibrateTraces() {
    if (steps_in_table_ && steps_.empty()) throw InputError("--steps-in-table needs --steps TRACE....");
    const Outputs outputs = CheckedOutputs(".html");
    const cost_models::CalibrationOptions options = Options();
    std::vector<NamedRecording> probes, steps;
    for (const std::string& path : traces_) {
      probes.push_back(ReadTrace(path));
      if (cost_models::IsOfSteps(probes.back().recording)) {
        throw InputError(
            path +
            ": records whole steps, and parameters come from isolated probes alone; give it behind "
            "--steps to hold predictions against it");
      }
    }
    for (const std::string& path : steps_) steps.push_back(ReadSteps(path));
    formats::PrepareOutput(out_);
    const cost_models::CalibrationResult result =
        cost_models::Calibrate(probes, steps, options, *problem::LoadSheets(sheets_));
    const output::ReportPage report = MakeFitReport(result);
    const std::string text = output::PrintReportText(report);
    cost_models::WriteParameters(outputs.parameters.string(), result.parameters);
    formats::WriteFile(outputs.text.string(), text);
    formats::WriteFile(outputs.more.string(), output::PrintReportHtml(report, FitPlotsHtml(result)));
    if (!json_.empty()) return formats::WriteFile(json_, PrintFitJson(outputs.parameters.string(), result));
    std::vector<std::string> kinds;
    for (const cost_models::KindParameters& kind : result.parameters.kinds) kinds.push_back(kind.kind);
    output::Print(
        fmt::format("{}\n{}, {} and {} are written; `--cost-model {}` uses them for devices of kind {}.\n",
                    text, outputs.parameters.string(), outputs.text.filename().string(),
                    outputs.more.filename().string(), outputs.parameters.string(), fmt::join(kinds, ", ")));
  }

  std::vector<std::string> traces_, steps_, kinds_, sheets_;
  std::string out_, name_, table_, tf32_;
  cost_models::OpFitOptions ops_;
  bool steps_in_table_ = false;
  bool force_ = false;
  std::string json_;
  int threads_ = 0;
};

}  // namespace

std::unique_ptr<Command> MakeCalibrateCommand() {
  return std::make_unique<CalibrateCommand>();
}

}  // namespace stowplan::cli
