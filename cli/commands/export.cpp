// stowplan export: a placement as other programs take it.
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/reference.h"
#include "output/console.h"
#include "problem/fingerprint.h"
#include "problem/loaded_problem.h"
#include "problem/options.h"
#include "problem/placement_source.h"
#include "problem/problem_json.h"
#include "problem/this_machine.h"
#include "scenarios/scenarios.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"
#include "sim/formats/outputs.h"

namespace stowplan::cli {
namespace {

std::string ExporterNames() {
  std::string names;
  for (const scenarios::ExporterRow& row : scenarios::Exporters())
    names += (names.empty() ? "" : "|") + std::string(row.name);
  return names;
}

class ExportCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option(
           "what", what_,
           "the folder of a run (stowplan place --out), a placement file (- is standard input), or an agent "
           "that needs no search")
        ->required()
        ->option_text("PLACEMENT|RUN");
    app.add_option("--to", to_, "what for: one of `stowplan list exporters`")
        ->required()
        ->option_text(ExporterNames());
    auto* graph = app.add_option("--graph", source_.graph, "a workload or a graph file; else the run's")
                      ->option_text("G");
    auto* cluster = app.add_option("--cluster", source_.cluster,
                                   "a cluster, a cluster file, or here: this machine; else the run's")
                        ->option_text("C");
    graph->needs(cluster);
    cluster->needs(graph);
    app.add_option("--out", out_, "the file to write; - is standard output")
        ->capture_default_str()
        ->option_text("FILE");
    problem::DeclareProblemOptions(app, source_);
    AddExamples(
        app,
        {"stowplan export runs/nmt --to device-map --out device_map.json",
         "stowplan export runs/nmt --to perfetto --out trace.json",
         "stowplan export expert --graph 'llama(mode=inference)' --cluster 'a100(gpus=2)' --to llama.cpp"});
  }

  void Run() override {
    const scenarios::ExporterRow& exporter = scenarios::FindExporter(to_);
    if (out_ != "-") formats::PrepareOutput(out_);
    Resolve();
    problem::CheckStandardInput(source_, what_);
    problem::ResolveHere(source_);
    const problem::LoadedProblem loaded(source_);
    if (!fingerprint_.empty() && problem::GraphFingerprint(loaded.graph()) != fingerprint_) {
      throw InputError(
          fmt::format("{}: is not the graph that was placed any more; place it anew, or give --graph and "
                      "--cluster to take it all the same.",
                      source_.graph));
    }
    const sim::Placement placement = problem::LoadPlacement(what_, loaded.problem());
    const scenarios::Exported exported =
        exporter.print({.problem = loaded.problem(), .placement = placement, .graph_file = source_.graph});
    formats::WriteFile(out_, exported.text);
    for (const std::string& note : exported.notes) output::TellSentence(fmt::format("{}: {}\n", to_, note));
  }

 private:
  // The folder of a run stands for its placement, and says what it is of.
  void Resolve() {
    if (std::filesystem::is_directory(what_)) {
      const std::filesystem::path folder = what_;
      what_ = (folder / "placement.json").string();
      if (source_.graph.empty()) TakeFrom((folder / "run.json").string());
      if (!std::filesystem::exists(what_))
        throw InputError(fmt::format("{}: the run found no placement that fits, so there is none to export.",
                                     folder.string()));
    }
    if (source_.graph.empty() && !std::filesystem::exists(what_)) {
      throw InputError(
          fmt::format("stowplan export {}: there is no such folder of a run or placement file; the placement "
                      "of an agent is "
                      "exported with --graph G --cluster C.",
                      what_));
    }
    if (source_.graph.empty()) {
      throw InputError(fmt::format(
          "stowplan export {}: a placement alone does not say what it is of; give --graph G --cluster C.",
          what_));
    }
  }

  void TakeFrom(const std::string& record) {
    const auto json = nlohmann::json::parse(formats::ReadFile(record), nullptr, false);
    if (!json.is_object() || !json.contains("source"))
      throw InputError(record + ": does not say what the run is of; give --graph and --cluster.");
    const problem::ProblemSource said = source_;
    source_ = problem::ReadProblemJson(json["source"], record + ": source");
    if (const auto told = json.find("graph_fingerprint"); told != json.end() && told->is_string())
      fingerprint_ = told->get<std::string>();
    if (source_.graph == "-")
      throw InputError(record + ": the graph came on standard input; give it with --graph.");
    // What the command line says wins.
    if (!said.cost_model.empty()) source_.cost_model = said.cost_model;
    if (!said.rules.empty()) source_.rules = said.rules;
    if (!said.interconnect.empty()) source_.interconnect = said.interconnect;
    source_.memory.insert(source_.memory.end(), said.memory.begin(), said.memory.end());
    source_.sheets.insert(source_.sheets.end(), said.sheets.begin(), said.sheets.end());
  }

  problem::ProblemSource source_;
  std::string fingerprint_;  // of the graph that the run placed; empty = not told
  std::string what_;
  std::string to_;
  std::string out_ = "-";
};

}  // namespace

std::unique_ptr<Command> MakeExportCommand() {
  return std::make_unique<ExportCommand>();
}

}  // namespace stowplan::cli
