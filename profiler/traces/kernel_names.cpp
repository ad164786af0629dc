#include "profiler/traces/kernel_names.h"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <cxxabi.h>

namespace stowplan::profiler {
namespace {

std::string DemangledAnew(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && plain != nullptr ? std::string(plain.get()) : name;
}

}  // namespace

std::string Demangled(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  constexpr std::size_t kMostKept = 1 << 14;
  // Never freed: recorders ask until the process's last moment.
  static auto& mutex = *new std::mutex;
  static auto& kept = *new std::unordered_map<std::string, std::string>;
  const std::lock_guard lock(mutex);
  const auto [at, fresh] = kept.try_emplace(std::string(name));
  if (fresh) at->second = DemangledAnew(at->first);
  std::string plain = at->second;
  if (kept.size() > kMostKept) kept.clear();
  return plain;
}

std::string_view WithoutVersion(std::string_view runtime_call) {
  const std::size_t at = runtime_call.rfind("_v");
  if (at == std::string_view::npos || runtime_call.size() < at + 6)
    return runtime_call;  // cuMemAlloc_v2 is a name
  const bool number = runtime_call.find_first_not_of("0123456789", at + 2) == std::string_view::npos;
  return number ? runtime_call.substr(0, at) : runtime_call;
}

}  // namespace stowplan::profiler
