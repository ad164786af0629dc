// stowplan layouts: which tensor x pipeline x data parallel layout of a model is fastest on a cluster.
#include <algorithm>
#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/reference.h"
#include "output/console.h"
#include "problem/layouts/layout_search.h"
#include "problem/loaded_problem.h"
#include "problem/options.h"
#include "problem/provenance.h"
#include "problem/this_machine.h"
#include "sim/formats/formats.h"

namespace stowplan::cli {
namespace {

class LayoutsCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    problem::DeclareProblem(app, source_);
    problem::Whole(app.add_option("--simulate", options_.simulated,
                                  "of the layouts with the shortest estimates so many are simulated"),
                   0, 1000)
        ->capture_default_str()
        ->option_text("N");
    problem::Whole(app.add_option("--top", top_, "layouts that the table shows"), 1, 100'000)
        ->capture_default_str()
        ->option_text("N");
    problem::DeclareProblemOptions(app, source_);
    problem::JsonFile(
        app.add_option("--json", json_, "write all that fit to this file; - is standard output"))
        ->option_text("FILE");
    AddExamples(app, {"stowplan layouts --graph 'llama(batch=64)' --cluster 'h100(gpus=8)'",
                      "stowplan layouts --graph model.json --cluster 'h100_hosts(hosts=8)' --simulate 0"});
  }

  void Run() override {
    problem::ResolveHere(source_);
    const problem::LayoutSearchResult found = problem::FindLayouts(source_, options_);
    if (!json_.empty()) formats::WriteFile(json_, Json(found));
    if (json_ != "-") output::Print(Text(found));
  }

 private:
  static std::string Rate(const problem::LayoutSearchResult& found, const problem::FoundLayout& one) {
    const double each = found.tokens > 0 ? found.tokens : found.samples;
    return output::CountText(static_cast<std::int64_t>(each / (static_cast<double>(one.time()) / 1e12)));
  }

  std::string Text(const problem::LayoutSearchResult& found) const {
    output::TextTable table("lrrrrrl", {"layout", "step", found.tokens > 0 ? "tokens/s" : "samples/s", "peak",
                                        "MFU", "exchanging", ""});
    for (std::size_t i = 0; i < std::min(found.layouts.size(), static_cast<std::size_t>(top_)); ++i) {
      const problem::FoundLayout& one = found.layouts[i];
      table.AddRow({one.layout.Text(), output::TimeText(one.time()), Rate(found, one),
                    output::BytesText(static_cast<double>(one.peak)),
                    fmt::format("{:.1f} %", 100 * one.model_flops_use),
                    fmt::format("{:.0f} %", 100 * Communication(one)), one.simulated ? "" : "estimated"});
    }
    std::string text =
        fmt::format("{} layouts fit, {} do not\n\n", output::CountText(std::ssize(found.layouts)),
                    output::CountText(std::ssize(found.too_large)));
    if (!table.empty()) text += table.ToString();
    if (!found.too_large.empty()) text += "\n" + TooLarge(found);
    for (const problem::RefusedLayouts& refused : found.refused)
      text += fmt::format("{} more cannot be: {}\n", output::CountText(refused.count), refused.why);
    return text;
  }

  static double Communication(const problem::FoundLayout& one) {
    return one.estimate.time > 0
               ? static_cast<double>(one.estimate.communication) / static_cast<double>(one.estimate.time)
               : 0;
  }

  // Of the one that misses by least.
  static std::string TooLarge(const problem::LayoutSearchResult& found) {
    const problem::FoundLayout& one = found.too_large.front();
    const problem::MemoryParts& memory = one.estimate.memory;
    const auto bytes = [](sim::Bytes size) { return output::BytesText(static_cast<double>(size)); };
    return fmt::format(
        "of those that do not fit {} misses by least: rank {} needs {} of {}, {} for weights, {} for the "
        "optimizer, {} for "
        "gradients and {} for activations\n",
        one.layout.Text(), one.estimate.rank, bytes(one.peak), bytes(found.capacity), bytes(memory.weights),
        bytes(memory.optimizer), bytes(memory.gradients), bytes(memory.activations));
  }

  static std::string Json(const problem::LayoutSearchResult& found) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const problem::FoundLayout& one : found.layouts) {
      nlohmann::ordered_json row = {{"layout", one.layout.Text()},
                                    {"estimated_us", static_cast<double>(one.estimate.time) / 1e6},
                                    {"peak_bytes", one.peak},
                                    {"model_flops_use", one.model_flops_use},
                                    {"exchanging", Communication(one)}};
      if (one.simulated) row["simulated_us"] = static_cast<double>(*one.simulated) / 1e6;
      rows.push_back(std::move(row));
    }
    nlohmann::ordered_json all = {{"layouts", std::move(rows)}, {"too_large", found.too_large.size()}};
    return all.dump(1) + "\n";
  }

  problem::ProblemSource source_;
  problem::LayoutSearchOptions options_;
  int top_ = 20;
  std::string json_;
};

}  // namespace

std::unique_ptr<Command> MakeLayoutsCommand() {
  return std::make_unique<LayoutsCommand>();
}

}  // namespace stowplan::cli
