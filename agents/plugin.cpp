#include "agents/plugin.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <dlfcn.h>

#include "sim/base/error.h"
#include "sim/base/plugin_interface.h"
#include "stowplan_interface.h"

namespace stowplan::agents {
namespace {

std::string& Folder() {
  static std::string folder;
  return folder;
}

std::filesystem::path Find(const Plugin& plugin) {
  if (const char* given = std::getenv(plugin.variable); given != nullptr && *given != '\0') return given;
  if (!plugin.built) {
    throw RunError(std::string("this build lacks ") + plugin.what + " (" + plugin.needs +
                   " was not found when it was configured)");
  }
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  std::string looked_in;
  for (const std::string& folder :
       {"../" + std::string(plugin.folder), std::string("../lib/stowplan"), Folder()}) {
    if (folder.empty()) continue;
    std::filesystem::path candidate = (program / folder / plugin.file).lexically_normal();
    if (std::error_code ignored; std::filesystem::exists(candidate, ignored)) return candidate;
    looked_in += (looked_in.empty() ? "" : ", ") + candidate.parent_path().string();
  }
  const std::filesystem::path tree = program.parent_path();
  const std::string where = std::filesystem::exists(tree / "CMakeCache.txt") ? tree.string() : "BUILD";
  throw RunError(std::string(plugin.what) + " cannot be used: " + plugin.file + " is in none of " +
                 looked_in + "; `cmake --build " + where + " --target " + plugin.target +
                 "` builds it, or set " + plugin.variable + " to its path");
}

}  // namespace

void SetPluginFolder(const std::string& folder) {
  Folder() = folder;
}

void* PluginSymbol(const Plugin& plugin) {
  const std::filesystem::path path = Find(plugin);
  CheckPlugin(path.string(), plugin.what, STOWPLAN_INTERFACE);
  // A name without a folder would be looked for where the loader looks for libraries.
  void* const library = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw RunError(std::string(plugin.what) + " cannot be opened: " + dlerror());
  void* const symbol = dlsym(library, plugin.symbol);
  if (symbol == nullptr) {
    throw RunError(std::string(plugin.what) + " cannot be opened: " + path.string() + " does not export " +
                   plugin.symbol);
  }
  return symbol;
}

}  // namespace stowplan::agents
