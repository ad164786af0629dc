#include "agents/learner_plugin.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <dlfcn.h>

#include "sim/error.h"

namespace berth::agents {
namespace {

constexpr char kPlugin[] = "libberth_rl.so";

std::filesystem::path FindPlugin() {
  if (const char* given = std::getenv("BERTH_RL_PLUGIN"); given != nullptr && *given != '\0') return given;
#if !BERTH_WITH_RL
  throw RunError("this build has no learning agents (libtorch was not found when it was configured)");
#endif
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* place : {"../agents/rl", "lib", "../lib"}) {
    std::filesystem::path candidate = folder / place / kPlugin;
    if (std::filesystem::exists(candidate, ignored)) return candidate;
  }
  throw RunError(std::string("the learning agents are missing: ") + kPlugin +
                 " is in none of ../agents/rl, lib and " +
                 "../lib beside the program; set BERTH_RL_PLUGIN to its path");
}

LearnerTable Open() {
  const std::filesystem::path path = FindPlugin();
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw RunError(std::string("the learning agents cannot be opened: ") + dlerror());
  void* const symbol = dlsym(library, kLearnerTableSymbol);
  if (symbol == nullptr) {
    throw RunError("the learning agents cannot be opened: " + path.string() + " does not export " +
                   kLearnerTableSymbol);
  }
  return reinterpret_cast<LearnerTable>(symbol);
}

}  // namespace

const std::vector<AgentRow>& Learners() {
  static const LearnerTable table = Open();
  return *table();
}

std::unique_ptr<Agent> MakeLearner(const Spec& spec) {
  for (const AgentRow& row : Learners()) {
    if (spec.name == row.name) return row.make(spec);
  }
  throw RunError("the plug-in with the learning agents has no " + spec.name +
                 "; it is of another version of berth");
}

}  // namespace berth::agents
