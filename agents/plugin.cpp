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

std::filesystem::path Find(const Plugin& plugin) {
  if (const char* given = std::getenv(plugin.variable); given != nullptr && *given != '\0') return given;
  if (!plugin.built) {
    throw RunError(std::string("this build lacks ") + plugin.what + " (" + plugin.needs +
                   " was not found when it was configured)");
  }
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::string built = std::string("../") + plugin.folder;
  for (const std::string& place : {built, std::string("lib"), std::string("../lib")}) {
    std::filesystem::path candidate = folder / place / plugin.file;
    if (std::filesystem::exists(candidate, ignored)) return candidate;
  }
  const std::filesystem::path tree = folder.parent_path();
  const std::string where =
      std::filesystem::exists(tree / "CMakeCache.txt", ignored) ? tree.string() : "BUILD";
  throw RunError(std::string(plugin.what) + " cannot be used: " + plugin.file + " is in none of " + built +
                 ", lib and ../lib beside the program; `cmake --build " + where + " --target " +
                 plugin.target + "` builds it, or set " + plugin.variable + " to its path");
}

void CheckInterface(void* library, const std::filesystem::path& path) {
  const auto* const interface = static_cast<const char*>(dlsym(library, kInterfaceSymbol));
  const std::string built_for = interface == nullptr ? "unknown" : interface;
  if (built_for == BERTH_INTERFACE) return;
  throw InputError(path.string() + ": belongs to another build than this program (interface " + built_for +
                   ", the program's is " BERTH_INTERFACE "); build both together.");
}

}  // namespace

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
