// stowplan collectives: how long collectives take on a cluster, and why.
#include "cost_models/collectives/collectives.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.h"
#include "cli/reference.h"
#include "output/console.h"
#include "problem/options.h"
#include "scenarios/scenarios.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/formats/document/units_text.h"
#include "sim/formats/formats.h"

namespace stowplan::cli {
namespace {

using cost_models::CollectivePrice;
using sim::CollectiveType;

struct Line {
  CollectiveType type;
  sim::Bytes bytes;
  std::vector<sim::DeviceIndex> ranks;
  CollectivePrice price;

  double bus() const {
    return cost_models::BusBandwidth(type, bytes, static_cast<std::int64_t>(ranks.size()), price.time);
  }
};

class CollectivesCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("CLUSTER", cluster_, "a cluster or a cluster file")->required()->option_text(" ");
    app.add_option(
           "--type", type_,
           fmt::format("{}; else the first four of them", JoinNames(cost_models::CollectiveTypeNames())))
        ->option_text("TYPE");
    problem::Whole(app.add_option("--ranks", ranks_, "how many ranks; else all accelerators"), 2, kMost)
        ->option_text("K");
    problem::Whole(app.add_option("--stride", stride_, "accelerators from one rank to the next"), 1, kMost)
        ->capture_default_str()
        ->option_text("S");
    app.add_option("--bytes", bytes_, "whole buffers, as nccl-tests counts them: 16MiB; else 64 KiB to 1 GiB")
        ->option_text("SIZE");
    app.add_option("--collectives", model_, "what prices them")->capture_default_str()->option_text("MODEL");
    problem::JsonFile(app.add_option("--json", json_, "write JSON to this file; - is standard output"))
        ->option_text("FILE");
    AddExamples(app, {"stowplan collectives 'h100_hosts(hosts=2)' --type all-reduce --bytes 512MiB",
                      "stowplan collectives a100 --ranks 4"});
  }

  void Run() override {
    const sim::Cluster cluster = scenarios::LoadCluster(cluster_, cost_models::BuiltinCatalogue());
    const auto model = cost_models::MakeCollectiveModel(model_, cluster);
    const std::vector<sim::DeviceIndex> ranks = Ranks(cluster);
    std::vector<Line> lines;
    for (const CollectiveType type : Types()) {
      for (const sim::Bytes bytes : Sizes())
        lines.push_back(
            {type, bytes, ranks, model->Explain({.type = type, .bytes = bytes, .devices = ranks})});
    }
    if (json_.empty()) {
      Print(cluster, lines);
    } else {
      Write(cluster, lines);
    }
  }

 private:
  static constexpr std::int64_t kMost = 1 << 20;

  std::vector<sim::DeviceIndex> Ranks(const sim::Cluster& cluster) const {
    std::vector<sim::DeviceIndex> accelerators;
    for (sim::DeviceIndex d = 0; d < cluster.size(); ++d) {
      if (cluster.devices[static_cast<std::size_t>(d)].device_class == sim::DeviceClass::kGpu)
        accelerators.push_back(d);
    }
    const auto there = static_cast<std::int64_t>(accelerators.size());
    const std::int64_t most = (there + stride_ - 1) / stride_;
    const std::int64_t ranks = ranks_ == 0 ? most : ranks_;
    if (ranks > most || ranks < 2) {
      throw InputError(
          fmt::format("--ranks {} --stride {}: cluster {} has {} accelerators; at most {} ranks fit.", ranks,
                      stride_, cluster.name, there, most));
    }
    std::vector<sim::DeviceIndex> chosen;
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      chosen.push_back(accelerators[static_cast<std::size_t>(rank * stride_)]);
    return chosen;
  }

  std::vector<CollectiveType> Types() const {
    if (type_.empty()) {
      return {CollectiveType::kAllReduce, CollectiveType::kReduceScatter, CollectiveType::kAllGather,
              CollectiveType::kAllToAll};
    }
    const auto type = cost_models::CollectiveTypeNamed(type_);
    if (type) return {*type};
    const std::vector<std::string> names = cost_models::CollectiveTypeNames();
    throw InputError(fmt::format("--type {}: there is no such collective{}; there are {}.", type_,
                                 DidYouMean(type_, names), JoinNames(names)));
  }

  std::vector<sim::Bytes> Sizes() const {
    std::vector<sim::Bytes> sizes;
    for (const std::string& text : bytes_) sizes.push_back(formats::ParseBytes(text, "--bytes"));
    if (sizes.empty())
      for (sim::Bytes bytes = 64 << 10; bytes <= 1 << 30; bytes *= 4) sizes.push_back(bytes);
    return sizes;
  }

  static void Print(const sim::Cluster& cluster, const std::vector<Line>& lines) {
    output::Print(fmt::format("{} ranks on {} ({} host{})\n", lines.front().ranks.size(), cluster.name,
                              lines.front().price.hosts, lines.front().price.hosts == 1 ? "" : "s"));
    output::TextTable table("lrrrl", {"collective", "bytes", "time", "bus", "algorithm"});
    std::map<std::string, std::vector<std::string>> evidence;
    for (const Line& line : lines) {
      const std::string type(cost_models::ToString(line.type));
      table.AddRow({type, formats::PrintBytes(line.bytes), output::TimeText(line.price.time),
                    output::BytesText(line.bus()) + "/s", line.price.algorithm});
      auto& types = evidence[line.price.evidence];
      if (types.empty() || types.back() != type) types.push_back(type);
    }
    output::Print(table.ToString());
    for (const auto& [what, types] : evidence) output::Print(fmt::format("{}: {}\n", JoinNames(types), what));
  }

  void Write(const sim::Cluster& cluster, const std::vector<Line>& lines) const {
    nlohmann::ordered_json json = {{"cluster", cluster.name}, {"rows", nlohmann::ordered_json::array()}};
    for (const Line& line : lines) {
      json["rows"].push_back({{"type", cost_models::ToString(line.type)},
                              {"ranks", line.ranks.size()},
                              {"hosts", line.price.hosts},
                              {"bytes", line.bytes},
                              {"us", sim::ToMicros(line.price.time)},
                              {"bus_bytes_per_s", line.bus()},
                              {"algorithm", line.price.algorithm},
                              {"evidence", line.price.evidence}});
    }
    formats::WriteFile(json_, json.dump(1) + "\n");
  }

  std::string cluster_, type_, json_;
  std::string model_ = "nccl";
  std::vector<std::string> bytes_;
  std::int64_t ranks_ = 0, stride_ = 1;
};

}  // namespace

std::unique_ptr<Command> MakeCollectivesCommand() {
  return std::make_unique<CollectivesCommand>();
}

}  // namespace stowplan::cli
