#include "profiler/backend.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <dlfcn.h>

namespace berth::profiler {
namespace {

constexpr char kPlugin[] = "libberth_cuda.so";
constexpr char kDriver[] = "libcuda.so.1";

// The loader's reason, which is there after a dlopen or dlsym that failed.
std::string LoaderReason() {
  const char* const reason = dlerror();
  return reason == nullptr ? "no reason given" : reason;
}

}  // namespace

std::string FindCudaPlugin() {
  if (const char* given = std::getenv("BERTH_CUDA_PLUGIN"); given != nullptr && *given != '\0') return given;
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* place : {"../cuda", ".", "lib", "../lib"}) {
    const std::filesystem::path candidate = folder / place / kPlugin;
    if (std::filesystem::exists(candidate, ignored)) return candidate.lexically_normal().string();
  }
  throw Unavailable(
      std::string("the CUDA plug-in is missing: ") + kPlugin +
      " is not beside the program (it is built where the CUDA toolkit is); BERTH_CUDA_PLUGIN can name it");
}

std::unique_ptr<Backend> OpenCuda() {
  if (dlopen(kDriver, RTLD_NOW | RTLD_LOCAL) == nullptr) {
    throw Unavailable("there is no NVIDIA driver (" + LoaderReason() + ")");
  }
  const std::string path = FindCudaPlugin();
  void* const plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) throw Unavailable("the CUDA plug-in cannot be opened (" + LoaderReason() + ")");
  void* const symbol = dlsym(plugin, kMakeBackendSymbol);
  if (symbol == nullptr) throw Unavailable(path + " is no plug-in of berth (" + LoaderReason() + ")");
  return reinterpret_cast<MakeBackend>(symbol)();
}

}  // namespace berth::profiler
