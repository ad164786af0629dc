// Any program as an agent: lines of JSON on its standard input and output (docs/formats.md#agents-from-outside).
//   command  a line for /bin/sh, between two " where it holds commas or parentheses
//   timeout  seconds that it may think about a line
// It is told the task, asks for whole batches and ends when it says so or the budget is spent. Samples are counted, logged and
// resumed as those of any agent; the search is repeatable as far as the program is. Fails where the program does, in a sentence.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "agents/agents.h"
#include "agents/external/line_process.h"
#include "sim/base/error.h"

namespace stowplan::agents {
namespace {

using Json = nlohmann::json;
using sim::DeviceIndex;

constexpr int kVersion = 1;
// A line need hold no more than all samples of the budget, written generously.
constexpr std::size_t kLeastLine = std::size_t{1} << 20, kMostLine = std::size_t{1} << 30, kBytesAUnit = 16;
// Sizes whose lone transfers the program is told.
constexpr sim::Bytes kTransferSizes[] = {0, 1 << 20, 1 << 26};

std::string Quoted(std::string text, std::size_t most = 60) {
  if (text.size() > most) text = text.substr(0, most) + "…";
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Of a value in its place; a deep one is not walked through.
std::string Shown(const Json& value) {
  return value.is_structured() ? value.type_name()
                               : Quoted(value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

const std::string& OpName(const Task& task, sim::OpIndex op) {
  return task.problem->graph().ops[static_cast<std::size_t>(op)].name;
}

Json DescribeUnit(const Task& task, UnitIndex u) {
  const auto at = static_cast<std::size_t>(u);
  Json unit = {{"ops", Json::array()},
               {"types", Json::array()},
               {"cost_us", Json::array()},
               {"persistent_bytes", task.persistent[at]},
               {"output_bytes", task.output[at]}};
  for (const sim::OpIndex op : task.units.ops[at]) {
    unit["ops"].push_back(OpName(task, op));
    unit["types"].push_back(task.problem->graph().ops[static_cast<std::size_t>(op)].type);
  }
  for (const DeviceIndex d : task.devices) unit["cost_us"].push_back(sim::ToMicros(task.unit_cost(u, d)));
  if (task.stage[at] >= 0) unit["stage"] = task.stage[at];
  if (task.branch[at] >= 0) unit["branch"] = task.branch[at];
  return unit;
}

Json DescribeTransfers(const Task& task) {
  Json us = Json::array();
  for (const DeviceIndex from : task.devices) {
    us.push_back(Json::array());
    for (const DeviceIndex to : task.devices) {
      us.back().push_back(Json::array());
      for (const sim::Bytes bytes : kTransferSizes)
        us.back().back().push_back(from == to ? 0 : sim::ToMicros(task.TransferEstimate(bytes, from, to)));
    }
  }
  return {{"bytes", kTransferSizes}, {"us", us}};
}

std::string Hello(const Task& task, std::int64_t budget, std::uint64_t seed) {
  const sim::Problem& problem = *task.problem;
  Json hello = {{"format", "stowplan.agent"},
                {"version", kVersion},
                {"graph", problem.graph().name},
                {"cluster", problem.cluster().name},
                {"rules", sim::ToString(problem.cluster().rules)},
                {"cost_model", problem.costs().cost_model},
                {"grouper", task.units.grouper},
                {"seed", seed},
                {"budget", budget},
                {"reference_runtime_us", sim::ToMicros(task.reference_runtime)},
                {"devices", Json::array()},
                {"transfers", DescribeTransfers(task)},
                {"units", Json::array()},
                {"edges", Json::array()}};
  for (const DeviceIndex d : task.devices) {
    const sim::Device& device = task.device(d);
    hello["devices"].push_back({{"name", device.name},
                                {"kind", device.kind},
                                {"class", sim::ToString(device.device_class)},
                                {"capacity_bytes", device.capacity()}});
  }
  for (UnitIndex u = 0; u < task.units.size(); ++u) hello["units"].push_back(DescribeUnit(task, u));
  for (const UnitEdge& edge : task.edges) hello["edges"].push_back({edge.from, edge.to, edge.bytes});
  return hello.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// By hand: a document of each result would cost as much as its simulation.
std::string Answer(const Task& task, const Evaluator& evaluator, const std::vector<Evaluation>& evaluations) {
  std::string text = R"({"results":[)";
  auto out = std::back_inserter(text);
  const char* comma = "";
  for (const Evaluation& evaluation : evaluations) {
    fmt::format_to(out, R"({}{{"runtime_us":{},"peak_bytes":[)", std::exchange(comma, ","),
                   sim::ToMicros(evaluation.runtime));
    const char* between = "";
    for (const DeviceIndex d : task.devices)
      fmt::format_to(out, "{}{}", std::exchange(between, ","), evaluation.peak[static_cast<std::size_t>(d)]);
    text += R"(],"oom":)";
    if (const auto& oom = evaluation.oom) {
      const auto device = std::ranges::find(task.devices, oom->device) - task.devices.begin();
      fmt::format_to(out, R"({{"device":{},"op":{},"what":"{}","needed_bytes":{},"capacity_bytes":{}}})",
                     device, Json(OpName(task, oom->op)).dump(), sim::ToString(oom->what), oom->needed,
                     oom->capacity);
    } else {
      text += "null";
    }
    text += '}';
  }
  fmt::format_to(out, R"(],"samples":{},"remaining":{}}})", evaluator.samples(), evaluator.remaining());
  return text;
}

// What one of its lines asks for: nothing = it is done.
class Request {
 public:
  Request(const Task& task, std::int64_t number) : task_(task), line_(fmt::format("line {} ", number)) {}

  std::vector<UnitPlacement> Read(const std::string& text) const {
    const Json document = Json::parse(text, nullptr, false);
    if (!document.is_object() || document.size() != 1)
      throw InputError(line_ + "is " + Quoted(text) + ", but must be " + kWanted);
    const std::string key = document.begin().key();
    const Json& value = document.begin().value();
    if (key == "evaluate") return ReadBatch(value);
    if (key == "error" && value.is_string())
      throw InputError(line_ + "gives up: " + Quoted(value.get<std::string>(), 1000));
    if (key == "done" && value == true) return {};
    throw InputError(line_ + "has " + Quoted(key) + ": " + Shown(value) + ", but must be " + kWanted);
  }

 private:
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  static constexpr const char* kWanted =
      R"({"evaluate": [[device, …], …]}, {"done": true} or {"error": "why"})";

  std::vector<UnitPlacement> ReadBatch(const Json& batch) const {
    if (!batch.is_array() || batch.empty())
      throw InputError(line_ + "has evaluate: " + Shown(batch) +
                       ", but must have a list of at least one placement there");
    std::vector<UnitPlacement> placements;
    placements.reserve(batch.size());
    for (const Json& placement : batch) {
      const std::string place = fmt::format("has evaluate[{}]", placements.size());
      const auto units = static_cast<std::size_t>(task_.units.size());
      if (!placement.is_array() && !placement.is_string())
        throw InputError(line_ + place + ": " + Shown(placement) +
                         ", but must have a list of device numbers or a string of device letters there");
      const auto* letters = placement.get_ptr<const std::string*>();
      const std::size_t size = letters != nullptr ? letters->size() : placement.size();
      if (size != units)
        throw InputError(fmt::format("{}{} for {} units, but there are {}", line_, place, size, units));
      placements.push_back(letters != nullptr ? ReadLetters(*letters, place) : ReadNumbers(placement, place));
    }
    return placements;
  }

  UnitPlacement ReadNumbers(const Json& devices, const std::string& place) const {
    UnitPlacement placement;
    placement.reserve(devices.size());
    for (const Json& device : devices) {
      if (!device.is_number_unsigned() || device.get<std::uint64_t>() >= task_.devices.size())
        throw InputError(fmt::format("{}{}[{}]: {}, but must have the number of a device there, 0 to {}",
                                     line_, place, placement.size(), Shown(device),
                                     task_.devices.size() - 1));
      placement.push_back(task_.devices[device.get<std::size_t>()]);
    }
    return placement;
  }

  // As in the samples that `stowplan place --log-samples` writes, but without run lengths.
  UnitPlacement ReadLetters(const std::string& letters, const std::string& place) const {
    const std::size_t known = std::min(task_.devices.size(), kLetters.size());
    UnitPlacement placement;
    placement.reserve(letters.size());
    for (const char letter : letters) {
      const std::size_t device = kLetters.find(letter);
      if (device >= known)
        throw InputError(fmt::format("{}{}[{}]: {}, but must have the letter of a device there, a to {}",
                                     line_, place, placement.size(), Quoted({letter}), kLetters[known - 1]));
      placement.push_back(task_.devices[device]);
    }
    return placement;
  }

  const Task& task_;
  const std::string line_;
};

// The program, on the rank that runs it.
class Speaker {
 public:
  Speaker(const std::string& command, double timeout, const Task& task, const Evaluator& evaluator,
          std::uint64_t seed)
      : process_(command, {.timeout = std::chrono::nanoseconds(std::llround(timeout * 1e9)),
                           .longest_line = LongestLine(task, evaluator),
                           .stop = [&evaluator] { return evaluator.asked_to_stop(); }}),
        next_(Hello(task, evaluator.budget(), seed)) {}

  void Tell(std::string answer) { next_ = std::move(answer); }
  // Its next line; nothing where the search is to stop.
  std::optional<std::string> Ask() { return process_.Write(next_) ? process_.Read() : std::nullopt; }
  // The budget is spent: whatever it makes of that, what was found stands.
  void Finish() {
    try {
      process_.Write(next_);
    } catch (const InputError&) {
      return;
    }
    process_.Finish();
  }

 private:
  static std::size_t LongestLine(const Task& task, const Evaluator& evaluator) {
    const auto units = static_cast<std::size_t>(task.units.size()) + 1;
    const auto samples = static_cast<std::size_t>(evaluator.remaining());
    if (samples > kMostLine / units / kBytesAUnit) return kMostLine;
    return std::max(kLeastLine, units * samples * kBytesAUnit);
  }

  LineProcess process_;
  std::string next_;
};

class External final : public Agent {
 public:
  explicit External(const Settings& read) : Agent(read.Canonical()) {
    command_ = read.Text("command");
    timeout_ = read.Double("timeout");
    if (command_.empty())
      throw InputError(R"(external: give the program, as in 'external(command=python3 my_agent.py)')");
  }

  // Its failures are told with its command; all ranks hear what the first one heard, and so end alike.
  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) override {
    if (evaluator.remaining() == 0 || evaluator.stop_requested()) return;
    std::unique_ptr<Speaker> program;
    for (std::int64_t line = 1;; ++line) {
      const std::string heard = options.ranks->Exchange(Hear(program, task, evaluator, options)).front();
      if (heard.empty()) return evaluator.StopAll();
      const auto placements = Understand(task, line, heard);
      if (placements.empty() || evaluator.stop_requested()) return;
      const std::vector<Evaluation> evaluations = evaluator.EvaluateBatch(placements);
      for (std::size_t i = 0; i < evaluations.size(); ++i) evaluator.CountProposal();
      if (evaluator.stop_requested()) return;
      if (program) program->Tell(Answer(task, evaluator, evaluations));
      if (evaluator.remaining() > 0) continue;
      if (program) program->Finish();
      return;
    }
  }

 private:
  static constexpr char kSaid = '+', kFailed = '-';

  // "+" and a line of the program, "-" and how it failed, or nothing: the search is to stop. Nothing on further ranks.
  std::string Hear(std::unique_ptr<Speaker>& program, const Task& task, const Evaluator& evaluator,
                   const SearchOptions& options) const {
    if (!options.ranks->first()) return {};
    try {
      if (!program) program = std::make_unique<Speaker>(command_, timeout_, task, evaluator, options.seed);
      const std::optional<std::string> line = program->Ask();
      return line ? kSaid + *line : std::string();
    } catch (const InputError& error) {
      return kFailed + std::string(error.what());
    }
  }

  std::vector<UnitPlacement> Understand(const Task& task, std::int64_t line, const std::string& heard) const {
    try {
      if (heard.front() == kSaid) return Request(task, line).Read(heard.substr(1));
    } catch (const InputError& error) {
      throw InputError("external: " + Quoted(command_, 200) + ": " + error.what());
    }
    throw InputError("external: " + Quoted(command_, 200) + " " + heard.substr(1));
  }

  std::string command_;
  double timeout_ = 0;
};

}  // namespace

std::unique_ptr<Agent> MakeExternal(const Settings& read) {
  return std::make_unique<External>(read);
}

}  // namespace stowplan::agents
