#include "profiler/graph_inputs.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "profiler/backend.h"
#include "profiler/host_machine.h"
#include "sim/base/error.h"
#include "sim/formats/document/units_text.h"
#include "sim/formats/formats.h"

namespace stowplan::profiler {
namespace {

// "runs/blocks-03.json.zst" is "blocks-03".
std::string NameOf(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  return name.substr(0, name.find('.'));
}

std::string FamilyOf(const std::string& name) {
  const auto end = name.find_last_not_of("0123456789");
  const auto last = end == std::string::npos ? end : name.find_last_not_of("-_ ", end);
  std::string family = last == std::string::npos ? "given" : name.substr(0, last + 1);
  std::replace(family.begin(), family.end(), '_', ' ');
  return family;
}

void Limit(sim::Cluster* cluster, const std::string& cap) {
  const auto equals = cap.find('=');
  const sim::DeviceIndex index = equals == std::string::npos ? -1 : cluster->Find(cap.substr(0, equals));
  if (index < 0)
    throw InputError(
        fmt::format("--memory-cap {} must be DEVICE=BYTES with a device of the cluster, as in "
                    "{}=1GiB.",
                    cap, cluster->devices.front().name));
  sim::Device& device = cluster->devices[static_cast<std::size_t>(index)];
  device.memory = formats::ParseBytes(cap.substr(equals + 1), "--memory-cap " + cap) + device.reserve;
}

bool IsAccelerator(const sim::Device& device) {
  return device.device_class != sim::DeviceClass::kCpu;
}

// All accelerators have a share, or none.
std::vector<double> ReadShares(const sim::Cluster& cluster, const std::vector<std::string>& given) {
  std::vector<double> shares(given.empty() ? 0 : cluster.devices.size());
  double sum = 0;
  for (const std::string& one : given) {
    const auto equals = one.find('=');
    const sim::DeviceIndex index = equals == std::string::npos ? -1 : cluster.Find(one.substr(0, equals));
    char* end = nullptr;
    const double share = index < 0 ? 0 : std::strtod(one.c_str() + equals + 1, &end);
    if (index < 0 || *end != '\0' || !(share > 0 && share <= 1) ||
        !IsAccelerator(cluster.devices[static_cast<std::size_t>(index)]))
      throw InputError(fmt::format(
          "--sm-share {} must be DEVICE=SHARE with an accelerator of the cluster and a share above 0 and up "
          "to 1, as in gpu0=0.5.",
          one));
    shares[static_cast<std::size_t>(index)] = share;
    sum += share;
  }
  if (sum > 1 + 1e-9) throw InputError(fmt::format("--sm-share: the shares add up to {}, more than 1.", sum));
  for (std::size_t d = 0; d < shares.size(); ++d) {
    if (shares[d] == 0 && IsAccelerator(cluster.devices[d]))
      throw InputError(fmt::format("--sm-share: {} has no share, but others have.", cluster.devices[d].name));
  }
  return shares;
}

}  // namespace

std::string CapacityWarning(const sim::Cluster& cluster, sim::Bytes free) {
  sim::Bytes asked = 0;
  for (const sim::Device& device : cluster.devices) {
    if (!IsAccelerator(device)) continue;
    if (device.capacity() == 0)
      return fmt::format(
          "{} has no limit of memory; what needs more than the {} bytes that are free ends as "
          "out of memory (exhausted)",
          device.name, free);
    asked += device.capacity();
  }
  if (asked <= free) return {};
  return fmt::format(
      "the cluster's accelerators may ask for {} bytes, but {} are free: a placement that needs more ends as "
      "out of memory (exhausted), which is no verdict about the cluster; --memory-cap sets a limit",
      asked, free);
}

const sim::DeviceKind* BareCatalogue::FindDevice(const std::string& kind) const {
  static const sim::DeviceKind cpu = {.name = "cpu", .device_class = sim::DeviceClass::kCpu, .memory = {}};
  static const sim::DeviceKind other = {
      .name = "other", .device_class = sim::DeviceClass::kGpu, .memory = {}};
  return kind.starts_with("cpu") ? &cpu : &other;
}

LoadedGraph::LoadedGraph(const GraphInputs& inputs)
    : graph(formats::ReadGraph(inputs.graph)), cluster(formats::ReadCluster(inputs.cluster, catalogue)) {
  for (const std::string& cap : inputs.memory_caps) Limit(&cluster, cap);
  sm_shares = ReadShares(cluster, inputs.sm_shares);
  for (const std::string& path : inputs.placements) {
    const std::string name = NameOf(path);
    placements.push_back({name, FamilyOf(name), formats::ReadPlacement(path, graph, cluster)});
  }
}

CoresByDevice ChooseCores(const sim::Cluster& cluster, int cores) {
  const std::vector<int> available = AvailableCores();
  std::size_t cpus = 0;
  for (const sim::Device& device : cluster.devices)
    cpus += device.device_class == sim::DeviceClass::kCpu ? 1 : 0;
  const std::size_t accelerators = cluster.devices.size() - cpus;
  std::size_t each = static_cast<std::size_t>(cores);
  if (cores == 0 && cpus > 0 && available.size() > accelerators)
    each = (available.size() - accelerators) / cpus;
  if (cpus > 0 && each == 0) each = 1;
  if (cpus * each + accelerators > available.size())
    throw Unavailable(fmt::format("the cluster's devices want {} cores, but this process may use {}",
                                  cpus * each + accelerators, available.size()));
  CoresByDevice chosen;
  auto next = available.begin();
  for (const sim::Device& device : cluster.devices) {
    const bool cpu = device.device_class == sim::DeviceClass::kCpu;
    const auto end = next + static_cast<std::ptrdiff_t>(cpu ? each : 1);
    chosen.emplace_back(next, end);
    next = end;
  }
  return chosen;
}

}  // namespace stowplan::profiler
