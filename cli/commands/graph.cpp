// stowplan graph info | import | convert.
#include <charconv>
#include <cstdio>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/reference.h"
#include "output/console.h"
#include "problem/explain/tier_shares.h"
#include "problem/loaded_problem.h"
#include "problem/options.h"
#include "scenarios/scenarios.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/rows.h"
#include "sim/base/spec.h"
#include "sim/formats/document/source.h"
#include "sim/formats/formats.h"

namespace stowplan::cli {
namespace {

struct TypeUse {
  std::int64_t ops = 0;
  double flops = 0;
  sim::Bytes output_bytes = 0;
};

std::vector<std::pair<std::string, TypeUse>> UseByType(const sim::OpGraph& graph) {
  std::map<std::string, TypeUse> by_type;
  for (const sim::Op& op : graph.ops) {
    TypeUse& use = by_type[op.type];
    ++use.ops;
    use.flops += op.flops;
    for (const sim::Output& output : op.outputs) {
      if (output.storage == sim::Output::Storage::kOwn) use.output_bytes += output.bytes;
    }
  }
  std::vector<std::pair<std::string, TypeUse>> sorted(by_type.begin(), by_type.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.flops, a.second.ops) > std::tie(b.second.flops, b.second.ops);
  });
  return sorted;
}

nlohmann::ordered_json Sizes(const sim::OpGraph& graph) {
  const auto totals = graph.totals();
  return {{"name", graph.name},
          {"ops", graph.size()},
          {"edges", graph.edges()},
          {"colocation_sets", graph.colocation_sets()},
          {"parameters", totals.parameters},
          {"flops", totals.flops},
          {"output_bytes", totals.output_bytes},
          {"persistent_bytes", totals.persistent_bytes}};
}

// Of a graph that was written: where to, its sizes, what the importer noted.
void WriteSummary(const std::string& json, const std::string& out, const sim::OpGraph& graph,
                  const nlohmann::ordered_json& more) {
  nlohmann::ordered_json summary = {{"out", out}};
  summary.update(Sizes(graph));
  summary.update(more);
  formats::WriteFile(json, summary.dump(1) + "\n");
}

class InfoCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("graph", source_.graph, "a workload or a graph file")->required()->option_text("G");
    app.add_option("--cluster", source_.cluster, "also price the ops on this cluster's device kinds")
        ->option_text("C");
    app.add_option("--cost-model", source_.cost_model, "what prices them")->option_text("M");
    problem::DeclareSheets(app, source_.sheets);
    problem::JsonFile(app.add_option("--json", json_, "write JSON to this file; - is standard output"))
        ->option_text("FILE");
    AddExamples(app, {"stowplan graph info nmt", "stowplan graph info model.onnx --cluster 'h100(gpus=2)'"});
  }

  void Run() override {
    if (source_.cluster.empty()) return Show(problem::LoadGraph(source_.graph), {});
    const problem::LoadedProblem loaded(source_);
    Show(loaded.graph(), problem::SharesByTier(loaded.problem()));
  }

 private:
  void Show(const sim::OpGraph& graph, const std::vector<problem::TierShare>& shares) const {
    if (json_.empty()) {
      Print(graph, shares);
    } else {
      formats::WriteFile(json_, ToJson(graph, shares));
    }
  }

  static std::string ToJson(const sim::OpGraph& graph, const std::vector<problem::TierShare>& shares) {
    nlohmann::ordered_json json = Sizes(graph);
    for (const auto& [type, use] : UseByType(graph)) {
      json["types"][type] = {{"ops", use.ops}, {"flops", use.flops}, {"output_bytes", use.output_bytes}};
    }
    for (const problem::TierShare& share : shares) {
      json["cost_us"][share.device] = {{"total", share.total_us},
                                       {"measured", share.by_tier[0]},
                                       {"interpolated", share.by_tier[1]},
                                       {"structural", share.by_tier[2]}};
    }
    return json.dump(1) + "\n";
  }

  static void Print(const sim::OpGraph& graph, const std::vector<problem::TierShare>& shares) {
    const auto totals = graph.totals();
    output::Print(fmt::format("{}: {} ops, {} edges, {} colocation sets\n", graph.name,
                              output::CountText(graph.size()), output::CountText(graph.edges()),
                              output::CountText(graph.colocation_sets())));
    output::Print(fmt::format("parameters {}, {:.4g} GFLOP, outputs {}, persistent {}\n\n",
                              output::CountText(totals.parameters), totals.flops / 1e9,
                              output::BytesText(static_cast<double>(totals.output_bytes)),
                              output::BytesText(static_cast<double>(totals.persistent_bytes))));
    output::TextTable types("lrrr", {"type", "ops", "GFLOP", "outputs"});
    for (const auto& [type, use] : UseByType(graph)) {
      types.AddRow({output::Shortened(type), output::CountText(use.ops),
                    fmt::format("{:.4g}", use.flops / 1e9),
                    output::BytesText(static_cast<double>(use.output_bytes))});
    }
    output::Print(types.ToString());
    if (shares.empty()) return;
    output::TextTable tiers("lrrrr",
                            {"all ops on", "time alone", "A measured", "B interpolated", "C structural"});
    for (const problem::TierShare& share : shares) {
      std::vector<std::string> cells = {share.device, output::TimeText(share.total_us)};
      for (const double us : share.by_tier)
        cells.push_back(fmt::format("{:.1f} %", share.total_us > 0 ? 100 * us / share.total_us : 0));
      tiers.AddRow(std::move(cells));
    }
    output::Print(fmt::format("\n{}", tiers.ToString()));
  }

  problem::ProblemSource source_;
  std::string json_;
};

std::vector<std::string> ImporterNames() {
  return NamesOf(scenarios::Importers());
}

class ImportCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("file", file_, "a graph in another format")->required()->option_text("FILE");
    problem::JsonFile(
        app.add_option("--out", out_, "the stowplan.graph to write; .zst compresses, - is standard output"))
        ->required()
        ->option_text("G");
    app.add_option("--from", from_, "the format, else guessed from the content")
        ->option_text(fmt::format("{}", fmt::join(ImporterNames(), "|")));
    app.add_option("--dim", dims_, "ONNX: value of a symbolic dimension: batch=8 (may be repeated)")
        ->option_text("NAME=N");
    app.add_option("--training", options_.training,
                   "ONNX: add a loss, backward ops and the updates of this optimizer")
        ->option_text("sgd|momentum|adam|rmsprop");
    app.add_flag("--strict", options_.strict, "ONNX: refuse ops whose cost is not known");
    app.add_option("--memory-stats", options_.memory,
                   "ONNX: node memory statistics that ONNX Runtime collected of a run, taken instead of "
                   "what is worked out")
        ->option_text("FILE");
    app.add_option("--kineto", options_.kineto,
                   "execution traces: the Kineto trace of the same run, whose times the ops get")
        ->option_text("FILE");
    app.add_option(
           "--gpu", options_.gpu,
           "execution traces: the kind of the GPU that it was, `a100`; else its times count for every GPU")
        ->option_text("KIND");
    problem::JsonFile(
        app.add_option("--json", json_,
                       "write the graph's sizes and what was noted to this file; - is standard output"))
        ->option_text("FILE");
    AddExamples(app, {"stowplan graph import model.onnx --out model.json.zst --dim batch=8 --training adam",
                      "stowplan graph import bert_l-3_training.json --out bert.json --json -"});
  }

  void Run() override {
    problem::RefuseTwoDocuments({{"--json", json_}, {"--out", out_}});
    if (!options_.gpu.empty()) CheckGpu();
    for (const std::string& dim : dims_) options_.dims.push_back(ReadDim(dim));
    const std::string content = formats::ReadFile(file_);
    scenarios::RefuseForeign(content, formats::SourceOf(file_));
    for (const scenarios::ImporterRow& row : scenarios::Importers()) {
      if (from_.empty() ? row.recognises(content) : from_ == row.name) {
        const scenarios::ImportedGraph imported = row.import(content, file_, options_);
        formats::WriteGraph(out_, imported.graph);
        if (!json_.empty()) {
          return WriteSummary(json_, out_, imported.graph,
                              {{"file", file_}, {"format", row.name}, {"notes", imported.notes}});
        }
        // Beside a graph on standard output there is room on standard error alone.
        std::string report = fmt::format("{}: {} ops from {} ({})\n", out_,
                                         output::CountText(imported.graph.size()), file_, row.name);
        for (const std::string& note : imported.notes) report += fmt::format("  {}\n", note);
        out_ == "-" ? output::Tell(report) : output::Print(report);
        return;
      }
    }
    throw InputError(from_.empty()
                         ? fmt::format("{}: is in no format that can be imported; there are {}.", file_,
                                       JoinNames(ImporterNames()))
                         : fmt::format("--from {}: there is no such format{}; there are {}.", from_,
                                       DidYouMean(from_, ImporterNames()), JoinNames(ImporterNames())));
  }

 private:
  // "batch=8"; the name may hold anything.
  static std::pair<std::string, std::int64_t> ReadDim(const std::string& text) {
    const auto equals = text.rfind('=');
    std::int64_t size = 0;
    if (equals != std::string::npos && equals > 0) {
      const char* end = text.data() + text.size();
      const auto [stop, error] = std::from_chars(text.data() + equals + 1, end, size);
      if (error == std::errc() && stop == end) return {text.substr(0, equals), size};
    }
    throw InputError("--dim " + text + ": write the name of a dimension and a whole number: --dim batch=8");
  }

  void CheckGpu() const {
    const cost_models::Catalogue& catalogue = cost_models::BuiltinCatalogue();
    const sim::DeviceKind* kind = catalogue.FindDevice(options_.gpu);
    if (kind != nullptr && kind->device_class == sim::DeviceClass::kGpu) return;
    throw InputError(fmt::format("--gpu {}: is no kind of GPU{}; `stowplan list devices` has them.",
                                 options_.gpu, DidYouMean(options_.gpu, catalogue.DeviceNames())));
  }

  std::string file_;
  std::string out_;
  std::string from_;
  std::string json_;
  std::vector<std::string> dims_;
  scenarios::ImportOptions options_;
};

class ConvertCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("graph", graph_, "a workload or a graph file")->required()->option_text("G");
    problem::JsonFile(
        app.add_option("--out", out_, "the stowplan.graph to write; .zst compresses, - is standard output"))
        ->required()
        ->option_text("G2");
    problem::JsonFile(
        app.add_option("--json", json_, "write the graph's sizes to this file; - is standard output"))
        ->option_text("FILE");
    AddExamples(app, {"stowplan graph convert 'nmt(layers=4)' --out nmt.json.zst",
                      "stowplan graph convert g.json.zst --out -"});
  }

  void Run() override {
    problem::RefuseTwoDocuments({{"--json", json_}, {"--out", out_}});
    const sim::OpGraph graph = problem::LoadGraph(graph_);
    formats::WriteGraph(out_, graph);
    if (!json_.empty()) return WriteSummary(json_, out_, graph, nlohmann::ordered_json::object());
    if (out_ != "-") output::Print(fmt::format("{}: {} ops\n", out_, output::CountText(graph.size())));
  }

 private:
  std::string graph_;
  std::string out_;
  std::string json_;
};

}  // namespace

const std::vector<CommandRow>& GraphVerbs() {
  static const std::vector<CommandRow> rows = {
      {"info", "counts, sizes, work by op type", Make<InfoCommand>},
      {"import", "a graph of another program as stowplan.graph", Make<ImportCommand>},
      {"convert", "a workload or graph written out as stowplan.graph", Make<ConvertCommand>},
  };
  return rows;
}

}  // namespace stowplan::cli
