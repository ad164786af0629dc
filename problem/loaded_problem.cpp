#include "problem/loaded_problem.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cost_models/collectives/collectives.h"
#include "cost_models/cost_models.h"
#include "cost_models/models/measured_elsewhere.h"
#include "cost_models/ops/host_costs.h"
#include "cost_models/parameters/parameters.h"
#include "output/console.h"
#include "problem/options.h"
#include "problem/plausibility.h"
#include "scenarios/clusters/framework.h"
#include "scenarios/parallel/layout.h"
#include "scenarios/scenarios.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/spec.h"
#include "sim/collectives.h"
#include "sim/formats/document/source.h"
#include "sim/formats/document/units_text.h"
#include "sim/formats/formats.h"
#include "sim/interconnect.h"

namespace stowplan::problem {
namespace {

bool Matches(const sim::Device& device, const std::string& selector) {
  return device.name == selector || device.kind == selector || sim::ToString(device.device_class) == selector;
}

// All words that Matches() some device.
std::vector<std::string> Selectors(const sim::Cluster& cluster) {
  std::vector<std::string> words;
  for (const sim::Device& device : cluster.devices) {
    for (const std::string& word :
         {device.name, device.kind, std::string(sim::ToString(device.device_class))}) {
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
    }
  }
  return words;
}

std::string DeviceList(const sim::Cluster& cluster) {
  std::vector<std::string> names;
  for (const sim::Device& device : cluster.devices) names.push_back(device.name);
  return JoinNames(names);
}

std::unique_ptr<sim::CostModel> LoadModel(const ProblemSource& source,
                                          const cost_models::Catalogue& catalogue) {
  return formats::CheckedAt(source.cost_model_place,
                            [&] { return cost_models::MakeCostModel(source.cost_model, catalogue); });
}

std::vector<cost_models::SheetText> ReadSheets(const std::vector<std::string>& paths) {
  std::vector<cost_models::SheetText> texts;
  for (const std::string& path : paths) texts.push_back({formats::ReadFile(path), formats::SourceOf(path)});
  return texts;
}

std::unique_ptr<cost_models::Catalogue> CatalogueOf(const ProblemSource& source) {
  if (source.cluster_text.empty()) return LoadCatalogue(source.cluster, source.sheets);
  std::vector<cost_models::SheetText> texts = ReadSheets(source.sheets);
  texts.push_back({source.cluster_text, source.cluster, true});
  return cost_models::CatalogueWith(cost_models::BuiltinCatalogue(), texts);
}

void OverrideMemory(sim::Cluster& cluster, const std::string& setting) {
  const auto equals = setting.find('=');
  if (equals == std::string::npos) {
    throw InputError(fmt::format("--memory {}: wanted DEVICE=SIZE, like gpu0=4GiB.", setting));
  }
  const std::string selector = setting.substr(0, equals);
  const sim::Bytes memory = formats::ParseBytes(setting.substr(equals + 1), "--memory " + selector);
  bool found = false;
  for (sim::Device& device : cluster.devices) {
    if (!Matches(device, selector)) continue;
    if (memory <= device.reserve) {
      throw InputError(fmt::format("--memory {}: device {} reserves {}, so more than that is needed.",
                                   setting, device.name, formats::PrintBytes(device.reserve)));
    }
    device.memory = memory;
    found = true;
  }
  if (!found) {
    throw InputError(fmt::format(
        "--memory {}: \"{}\" is no device, kind or class of cluster {}{}; its devices are {}.", setting,
        selector, cluster.name, DidYouMean(selector, Selectors(cluster)), DeviceList(cluster)));
  }
}

// Kinds are those of the catalogue, as far as the cost model's parameter files did not measure them.
sim::Cluster LoadOverridden(const ProblemSource& source, const sim::CostModel& model,
                            const cost_models::Catalogue& base) {
  const auto catalogue = cost_models::CalibratedCatalogue(cost_models::ParametersOf(model), base);
  sim::Cluster cluster = formats::CheckedAt(source.cluster_place, [&] {
    return source.cluster_text.empty()
               ? scenarios::LoadCluster(source.cluster, *catalogue)
               : formats::ParseCluster(source.cluster_text, source.cluster, *catalogue);
  });
  if (!source.rules.empty()) OverrideRules(cluster, source.rules);
  if (!source.interconnect.empty()) {
    sim::CheckInterconnect(source.interconnect);
    cluster.interconnect = source.interconnect;
  }
  for (const std::string& setting : source.memory) OverrideMemory(cluster, setting);
  if (cluster.links.empty() && cluster.size() > 1 && cluster.rules == sim::Rules::kNative) {
    output::TellSentence(fmt::format(
        "stowplan: warning: cluster '{}' has no links, so every transfer is free\n", cluster.name));
  }
  return cluster;
}

std::string InSmallLetters(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// Types that mean something here, by their small letters.
std::map<std::string, std::string> KnownTypes() {
  std::vector<std::string> types = sim::CollectiveTypeNames();
  types.emplace_back("Variable");
  for (int c = 0; c <= cost_models::kOpClasses; ++c) {
    for (std::string& type : cost_models::TypesOf(static_cast<cost_models::OpClass>(c)))
      types.push_back(std::move(type));
  }
  std::map<std::string, std::string> known;
  for (std::string& type : types) known.emplace(InSmallLetters(type), type);
  return known;
}

// Ops whose type is one that means something but for the case of its letters are taken for others, which their writer hardly
// wants.
std::vector<std::string> MiswrittenTypes(const sim::OpGraph& graph) {
  static const std::map<std::string, std::string> known = KnownTypes();
  std::map<std::string, int> ops;  // by type
  for (const sim::Op& op : graph.ops) ++ops[op.type];
  std::vector<std::string> notes;
  for (const auto& [type, count] : ops) {
    const auto found = known.find(InSmallLetters(type));
    if (found == known.end() || found->second == type) continue;
    notes.push_back(
        fmt::format("type {} of {} op{} is not listed (did you mean {}?) and priced as such types are", type,
                    count, count == 1 ? "" : "s", found->second));
  }
  return notes;
}

// Of a layout that a user may take for one that divides all the work.
std::vector<std::string> UncutWork(const sim::OpGraph& graph) {
  constexpr double kAlmostAll = 0.95;
  const double cut = sim::FindNumber(graph.attributes, "cut_share").value_or(1);
  if (cut >= kAlmostAll) return {};
  return {fmt::format("tensor parallelism cuts {:.0f} % of the FLOPs, and each rank does the rest whole",
                      100 * cut)};
}

}  // namespace

sim::OpGraph LoadGraph(const std::string& name_or_path) {
  std::vector<std::string> notes;
  sim::OpGraph graph = scenarios::LoadGraph(name_or_path, &cost_models::BuiltinCatalogue(), &notes);
  for (auto* const look : {&MiswrittenTypes, &ImplausibleWork, &UncutWork})
    for (std::string& note : look(graph)) notes.push_back(std::move(note));
  for (const std::string& note : notes) output::TellSentence(fmt::format("{}: {}\n", name_or_path, note));
  return graph;
}

std::unique_ptr<cost_models::Catalogue> LoadSheets(const std::vector<std::string>& paths) {
  return cost_models::CatalogueWith(cost_models::BuiltinCatalogue(), ReadSheets(paths));
}

std::unique_ptr<cost_models::Catalogue> LoadCatalogue(const std::string& cluster,
                                                      const std::vector<std::string>& sheets) {
  std::vector<cost_models::SheetText> texts = ReadSheets(sheets);
  std::error_code ignored;  // a cluster with its parameters may be longer than any path
  if (std::filesystem::is_regular_file(cluster, ignored))
    texts.push_back({formats::ReadFile(cluster), formats::SourceOf(cluster), true});
  return cost_models::CatalogueWith(cost_models::BuiltinCatalogue(), texts);
}

void DeclareSheets(CLI::App& app, std::vector<std::string>& sheets) {
  app.add_option(
         "--sheet", sheets,
         "data sheets of device kinds that the catalogue lacks, a stowplan.devices file (may be repeated)")
      ->option_text("FILE");
}

void RefuseSpecialFile(const std::string& name, const std::string& place) {
  std::error_code ignored;
  if (name == "-" || std::filesystem::is_other(std::filesystem::status(name, ignored)))
    throw InputError(fmt::format("{}: is {}, a device, a pipe or standard input; a file or a name is wanted.",
                                 place, name));
}

void DeclareParallel(CLI::App& app, CLI::Option* graph, ProblemSource& source) {
  // Behind --graph, whose value is there by then.
  app.add_option_function<std::string>(
         "--parallel",
         [&source](const std::string& layout) {
           source.graph = scenarios::LaidOutName(source.graph, layout);
         },
         "lays the graph out: settings of the workload `layout`, as "
         "tensor=2,pipeline=2,data=2,micro_batches=4")
      ->option_text("L")
      ->needs(graph);
}

void DeclareProblem(CLI::App& app, ProblemSource& source) {
  auto* graph =
      app.add_option("--graph", source.graph, "a workload or a graph file")->required()->option_text("G");
  DeclareParallel(app, graph, source);
  app.add_option("--cluster", source.cluster, "a cluster, a cluster file, or here: this machine")
      ->required()
      ->option_text("C");
}

void DeclareProblemOptions(CLI::App& app, ProblemSource& source) {
  app.add_option("--cost-model", source.cost_model,
                 "what prices ops without a measured time: a name or parameter file")
      ->option_text("M");
  DeclareSheets(app, source.sheets);
  app.add_option("--rules", source.rules, "rules of the simulator; else the cluster's")
      ->option_text("native|published");
  app.add_option("--interconnect", source.interconnect,
                 "how links are shared, ideal, fifo or fair; else the cluster's")
      ->option_text("I");
  app.add_option("--memory", source.memory,
                 "other memory for a device, kind or class: gpu=4GiB (may be repeated)")
      ->option_text("D=SIZE");
  app.add_option("--reserve", source.reserve,
                 fmt::format("what a framework keeps of each GPU, where the cluster does not say; else {}",
                             scenarios::kReserve))
      ->option_text("SIZE+P%");
  OneOf(
      app.add_option("--collectives", source.collectives,
                     "how long collectives take: as NCCL does them (stowplan collectives), or as rings over "
                     "the cluster's links; else nccl"),
      {"nccl", "ring"});
  OneOf(app.add_option(
            "--host", source.host,
            "how the host issues ops: as eager PyTorch, as CUDA graphs, at the cluster's one cost for "
            "each, or as a trace recorded it; else the cluster's, traced where a trace has host times, "
            "or eager where PyTorch's ops were captured"),
        {"eager", "graph", "flat", "traced"});
}

LoadedProblem::LoadedProblem(const ProblemSource& source)
    : LoadedProblem(formats::CheckedAt(source.graph_place, [&] { return LoadGraph(source.graph); }), source) {
}

LoadedProblem::LoadedProblem(sim::OpGraph graph, const ProblemSource& source)
    : catalogue_(CatalogueOf(source)), graph_(std::move(graph)) {
  model_ = LoadModel(source, *catalogue_);
  cluster_ = LoadOverridden(source, *model_, *catalogue_);
  // What is wrong now lies in how the files fit together.
  formats::CheckedAt(formats::SourceOf(source.graph) + " on " + formats::SourceOf(source.cluster),
                     [&] { Meet(*model_, source); });
  for (const cost_models::MovedTimes& moved : cost_models::MovedTimesOf(graph_, cluster_, *catalogue_)) {
    output::TellSentence(fmt::format(
        "stowplan: {} op{} of {} measured on {}: on {} {} that time by the ratio of what the cost "
        "model says of the two kinds\n",
        moved.ops, moved.ops == 1 ? "" : "s", graph_.name, moved.from, moved.to,
        moved.ops == 1 ? "it takes" : "they take"));
  }
}

LoadedProblem::LoadedProblem(sim::OpGraph graph, sim::Cluster cluster, const sim::CostModel& model)
    : graph_(std::move(graph)), cluster_(std::move(cluster)) {
  Meet(model, {});
}

void LoadedProblem::TellImplausibleTimes() const {
  const cost_models::Catalogue& catalogue = catalogue_ ? *catalogue_ : cost_models::BuiltinCatalogue();
  for (auto* const look : {&ImplausibleTimes, &SlowFormats})
    for (const std::string& note : look(*problem_, catalogue))
      output::TellSentence(fmt::format("{}: {}\n", graph_.name, note));
}

void LoadedProblem::Meet(const sim::CostModel& model, const ProblemSource& source) {
  scenarios::FillFromFramework(cluster_, graph_, source.reserve);
  cost_models::ChargeHost(cluster_, graph_, source.host);
  const cost_models::Catalogue& catalogue = catalogue_ ? *catalogue_ : cost_models::BuiltinCatalogue();
  std::shared_ptr<const sim::CollectivePrices> collectives;  // null = rings
  if (!graph_.collectives().empty() && source.collectives != "ring")
    collectives = cost_models::MakeCollectiveModel(source.collectives, cluster_, catalogue);
  problem_ = std::make_unique<sim::Problem>(
      graph_, cluster_, sim::PriceOps(graph_, cluster_, *cost_models::MovingMeasuredTimes(model, catalogue)),
      std::move(collectives));
}

void OverrideRules(sim::Cluster& cluster, const std::string& rules) {
  for (const sim::Rules known : {sim::Rules::kNative, sim::Rules::kPublished}) {
    if (rules == sim::ToString(known)) {
      cluster.rules = known;
      return;
    }
  }
  throw InputError(fmt::format("--rules {}: there are no such rules{}; there are native and published.",
                               rules, DidYouMean(rules, {"native", "published"})));
}

std::vector<std::string> SelectDevices(const sim::Cluster& cluster, const std::string& selection,
                                       const std::string& option) {
  std::vector<bool> chosen(cluster.devices.size(), false);
  for (std::size_t at = 0; at < selection.size();) {
    const std::size_t comma = std::min(selection.find(',', at), selection.size());
    const std::string selector = selection.substr(at, comma - at);
    bool found = false;
    for (std::size_t d = 0; d < cluster.devices.size(); ++d) {
      if (Matches(cluster.devices[d], selector)) found = chosen[d] = true;
    }
    if (!found) {
      throw InputError(fmt::format(
          "{} {}: \"{}\" is no device, kind or class of cluster {}{}; its devices are {}.", option, selection,
          selector, cluster.name, DidYouMean(selector, Selectors(cluster)), DeviceList(cluster)));
    }
    at = comma + 1;
  }
  std::vector<std::string> names;
  for (std::size_t d = 0; d < cluster.devices.size(); ++d) {
    if (chosen[d]) names.push_back(cluster.devices[d].name);
  }
  return names;
}

}  // namespace stowplan::problem
