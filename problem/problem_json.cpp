#include "problem/problem_json.h"

#include <array>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "sim/base/error.h"

namespace stowplan::problem {
namespace {

constexpr std::array kTexts = {std::pair{"graph", &ProblemSource::graph},
                               std::pair{"cluster", &ProblemSource::cluster},
                               std::pair{"cost_model", &ProblemSource::cost_model},
                               std::pair{"rules", &ProblemSource::rules},
                               std::pair{"interconnect", &ProblemSource::interconnect},
                               std::pair{"reserve", &ProblemSource::reserve},
                               std::pair{"host", &ProblemSource::host},
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
  std::error_code ignored;
  if (const auto folder = std::filesystem::current_path(ignored); !ignored) json["folder"] = folder.string();
  return json;
}

namespace {

// A relative path means a file of the folder that the run was made in, unless it is one of this folder.
void FindFile(std::string& path, const std::filesystem::path& folder) {
  std::error_code ignored;
  if (path.empty() || folder.empty() || std::filesystem::exists(path, ignored)) return;
  if (std::filesystem::is_regular_file(folder / path, ignored)) path = (folder / path).string();
}

}  // namespace

ProblemSource ReadProblemJson(const nlohmann::json& json, const std::string& place) {
  ProblemSource source;
  try {
    for (const auto& [key, member] : kTexts) {
      if (json.contains(key)) source.*member = json.at(key).get<std::string>();
    }
    for (const auto& [key, member] : kLists) {
      if (json.contains(key)) source.*member = json.at(key).get<std::vector<std::string>>();
    }
    const std::filesystem::path folder = json.value("folder", "");
    for (std::string* path : {&source.graph, &source.cluster, &source.cost_model}) {
      FindFile(*path, folder);
      if (*path != "-") RefuseSpecialFile(*path, place);  // which the search read
    }
    for (std::string& path : source.sheets) {
      FindFile(path, folder);
      RefuseSpecialFile(path, place);
    }
  } catch (const nlohmann::json::exception&) {
    throw InputError(place + " is not what stowplan place writes there; give --graph and --cluster.");
  }
  if (source.graph.empty() || source.cluster.empty())
    throw InputError(place + " names no graph and cluster; give --graph and --cluster.");
  return source;
}

}  // namespace stowplan::problem
