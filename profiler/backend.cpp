#include "profiler/backend.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <dlfcn.h>

#include "profiler/host_machine.h"
#include "sim/base/error.h"
#include "sim/base/plugin_interface.h"
#include "stowplan_interface.h"

namespace stowplan::profiler {
namespace {

// The loader's reason, which is there after a dlopen or dlsym that failed.
std::string LoaderReason() {
  const char* const reason = dlerror();
  return reason == nullptr ? "no reason given" : reason;
}

}  // namespace

MadeKernel Backend::MakeKernelOnCpu(const sim::OpGraph&, sim::OpIndex) {
  throw Unavailable("this plug-in runs no ops on a CPU");
}

sim::Attributes MachineOf(const Backend& backend) {
  sim::Attributes machine = DescribeHost();
  for (auto& [key, value] : backend.Machine()) machine.emplace_back(key, std::move(value));
  return machine;
}

const std::vector<BackendRow>& Backends() {
  static const std::vector<BackendRow> rows = {
      {"cpu", "CPU", "libstowplan_cpu.so", "cpu", "STOWPLAN_CPU_PLUGIN", nullptr, "oneDNN"},
      {"cuda", "CUDA", "libstowplan_cuda.so", "cuda", "STOWPLAN_CUDA_PLUGIN", "libcuda.so.1",
       "the CUDA toolkit"},
  };
  return rows;
}

std::string BackendNames() {
  std::string names;
  for (const BackendRow& row : Backends()) names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

const BackendRow& FindBackend(const std::string& name) {
  for (const BackendRow& row : Backends()) {
    if (name == row.name) return row;
  }
  throw InputError("there is no device \"" + name + "\" to measure; there are " + BackendNames() + ".");
}

std::string FindPlugin(const BackendRow& row) {
  if (const char* given = std::getenv(row.variable); given != nullptr && *given != '\0') return given;
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const std::string& place :
       {"../" + std::string(row.folder), std::string("."), std::string("../lib/stowplan")}) {
    const std::filesystem::path candidate = folder / place / row.plugin;
    if (std::filesystem::exists(candidate, ignored)) return candidate.lexically_normal().string();
  }
  throw Unavailable("the " + std::string(row.what) + " plug-in is missing: " + row.plugin +
                    " is not beside the program (it is built where " + row.needs + " is); " + row.variable +
                    " can name it");
}

std::string WhyNotLoaded(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return LoaderReason();
  dlclose(library);
  return "";
}

std::unique_ptr<Backend> OpenBackend(const BackendRow& row) {
  // Threads of an op wait for one another, by default some 15 ms before they let others have the core: on a busy machine
  // that is how long each op stalls behind one of its threads that lost its core. A tenth of a millisecond is more than
  // passes between two ops. The OpenMP runtime reads it when the CPU's plug-in brings it along.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) ::setenv("GOMP_SPINCOUNT", "2000", 0);
  if (row.driver != nullptr && dlopen(row.driver, RTLD_NOW | RTLD_LOCAL) == nullptr)
    throw Unavailable("there is no NVIDIA driver (" + LoaderReason() + ")");
  const std::string path = FindPlugin(row);
  try {
    CheckPlugin(path, "the " + std::string(row.what) + " plug-in", STOWPLAN_INTERFACE);
  } catch (const RunError& error) {
    throw Unavailable(error.what());
  }
  void* const plugin = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr)
    throw Unavailable("the " + std::string(row.what) + " plug-in cannot be opened (" + LoaderReason() + ")");
  void* const symbol = dlsym(plugin, kMakeBackendSymbol);
  if (symbol == nullptr) throw Unavailable(path + " is no plug-in of stowplan (" + LoaderReason() + ")");
  return reinterpret_cast<MakeBackend>(symbol)();
}

}  // namespace stowplan::profiler
