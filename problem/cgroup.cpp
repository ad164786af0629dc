#include "problem/cgroup.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace stowplan::problem {
namespace {

// The first words of a file that holds numbers or "max"; 0 for what is no number.
template <std::size_t count>
std::array<double, count> NumbersIn(const std::filesystem::path& path) {
  std::array<double, count> numbers{};
  std::ifstream file(path);
  for (double& number : numbers) {
    std::string word;
    file >> word;
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (end != word.c_str() && *end == '\0' && value > 0) number = value;
  }
  return numbers;
}

void Lower(double& limit, double to) {
  if (to > 0) limit = limit > 0 ? std::min(limit, to) : to;
}

struct Found {
  double cpus = 0;
  double memory = 0;
};

void LookInVersion2(const std::filesystem::path& group, Found& found) {
  const auto [quota, period] = NumbersIn<2>(group / "cpu.max");  // "200000 100000" or "max 100000"
  if (period > 0) Lower(found.cpus, quota / period);
  Lower(found.memory, NumbersIn<1>(group / "memory.max")[0]);
}

void LookInVersion1(const std::filesystem::path& group, Found& found) {
  const double quota = NumbersIn<1>(group / "cpu.cfs_quota_us")[0];  // -1 = none
  const double period = NumbersIn<1>(group / "cpu.cfs_period_us")[0];
  if (period > 0) Lower(found.cpus, quota / period);
  const double memory = NumbersIn<1>(group / "memory.limit_in_bytes")[0];
  if (memory < 0x1p62) Lower(found.memory, memory);  // as much as a page counter holds: none
}

// The group's folder and those around it. A container sees the folders from its own group on, though the path may be the
// host's: what is not there is passed over.
template <typename Look>
void LookUpwards(const std::filesystem::path& mount, const std::string& path, const Look& look) {
  for (auto group = std::filesystem::path(path).relative_path(); !group.empty(); group = group.parent_path())
    look(mount / group);
  look(mount);
}

}  // namespace

CgroupLimits ReadCgroupLimits(const std::string& root) {
  const std::filesystem::path mounts = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  Found found;
  for (std::string line; std::getline(groups, line);) {  // "0::/a/b", or "4:cpu,cpuacct:/a/b" of version 1
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string path = line.substr(second + 1);
    if (second == first + 1) {
      for (const char* mount : {"", "unified"})  // alone, or beside version 1
        LookUpwards(mounts / mount, path, [&](const auto& group) { LookInVersion2(group, found); });
      continue;
    }
    std::istringstream controllers(line.substr(first + 1, second - first - 1));
    for (std::string controller; std::getline(controllers, controller, ',');) {
      if (controller != "cpu" && controller != "memory") continue;
      LookUpwards(mounts / controller, path, [&](const auto& group) { LookInVersion1(group, found); });
    }
  }
  return {.cpus = found.cpus,
          .memory =
              found.memory < static_cast<double>(sim::kMaxBytes) ? static_cast<sim::Bytes>(found.memory) : 0};
}

}  // namespace stowplan::problem
