#include "agents/plugin.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include <dlfcn.h>

#include "berth_interface.h"
#include "sim/error.h"

namespace berth::agents {
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
       {"../" + std::string(plugin.folder), std::string("../lib/berth"), Folder()}) {
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

void CheckInterface(void* library, const std::filesystem::path& path) {
  const auto* const interface = static_cast<const char*>(dlsym(library, kInterfaceSymbol));
  const std::string built_for = interface == nullptr ? "unknown" : interface;
  if (built_for == BERTH_INTERFACE) return;
  throw InputError(path.string() + ": belongs to another build than this program (interface " + built_for +
                   ", the program's is " BERTH_INTERFACE "); build both together.");
}

}  // namespace

void SetPluginFolder(const std::string& folder) {
  Folder() = folder;
}

void* PluginSymbol(const Plugin& plugin) {
  const std::filesystem::path path = Find(plugin);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw RunError(std::string(plugin.what) + " cannot be opened: " + dlerror());
  void* const symbol = dlsym(library, plugin.symbol);
  if (symbol == nullptr) {
    throw RunError(std::string(plugin.what) + " cannot be opened: " + path.string() + " does not export " +
                   plugin.symbol);
  }
  CheckInterface(library, path);
  return symbol;
}

}  // namespace berth::agents
