#include "bench/problem_json.h"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "sim/error.h"

namespace berth::bench {
namespace {

constexpr std::array kTexts = {std::pair{"graph", &ProblemSource::graph},
                               std::pair{"cluster", &ProblemSource::cluster},
                               std::pair{"cost_model", &ProblemSource::cost_model},
                               std::pair{"rules", &ProblemSource::rules},
                               std::pair{"interconnect", &ProblemSource::interconnect},
                               std::pair{"cluster_text", &ProblemSource::cluster_text}};
constexpr std::array kLists = {std::pair{"memory", &ProblemSource::memory},
                               std::pair{"sheets", &ProblemSource::sheets}};

}  // namespace

nlohmann::ordered_json ProblemJson(const ProblemSource& source) {
  nlohmann::ordered_json json;
  for (const auto& [key, member] : kTexts) {
    if (!(source.*member).empty()) json[key] = source.*member;
  }
  for (const auto& [key, member] : kLists) {
    if (!(source.*member).empty()) json[key] = source.*member;
  }
  return json;
}

ProblemSource ReadProblemJson(const nlohmann::ordered_json& json, const std::string& place) {
  ProblemSource source;
  try {
    for (const auto& [key, member] : kTexts) {
      if (json.contains(key)) source.*member = json.at(key).get<std::string>();
    }
    for (const auto& [key, member] : kLists) {
      if (json.contains(key)) source.*member = json.at(key).get<std::vector<std::string>>();
    }
  } catch (const nlohmann::json::exception&) {
    throw InputError(place + " is not what berth place writes there; give --graph and --cluster.");
  }
  if (source.graph.empty() || source.cluster.empty())
    throw InputError(place + " names no graph and cluster; give --graph and --cluster.");
  return source;
}

}  // namespace berth::bench
