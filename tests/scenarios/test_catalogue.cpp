#include "tests/scenarios/test_catalogue.h"

#include <algorithm>

namespace stowplan::scenarios {
namespace {

class Catalogue final : public sim::HardwareCatalogue {
 public:
  Catalogue() {
    for (const char* cpu : {"cpu", "cpu-haswell", "cpu-broadwell"}) {
      devices_.push_back({.name = cpu, .device_class = sim::DeviceClass::kCpu, .memory = {}});
    }
    for (const char* gpu :
         {"gpu", "k40", "k80", "p100", "p100-12gb", "v100", "a100", "h100", "h200", "rtx4090", "rtx5090",
          "t4", "p100-pcie-16gb", "p100-sxm2", "b200", "a100-sxm-40gb"}) {
      devices_.push_back(
          {.name = gpu, .device_class = sim::DeviceClass::kGpu, .memory = sim::Bytes{16} << 30});
    }
    for (const char* link : {"pcie3-x16", "pcie4-x16", "pcie5-x16"}) {
      links_.push_back({.name = link, .bandwidth = 20'000'000'000, .latency = 5'000'000, .curve = {}});
    }
    for (const char* link : {"nvlink-v100", "nvswitch-v100", "nvswitch-a100", "nvswitch-h100",
                             "nvswitch-h200", "nvswitch-b200", "nvlink-c2c", "qpi", "infiniband-ndr",
                             "infiniband-hdr", "efa-100g", "ethernet-200g", "ethernet-10g"}) {
      links_.push_back({.name = link, .bandwidth = 300'000'000'000, .latency = 5'000'000, .curve = {}});
    }
  }

  const sim::DeviceKind* FindDevice(const std::string& kind) const override { return Find(devices_, kind); }
  const sim::LinkKind* FindLink(const std::string& kind) const override { return Find(links_, kind); }
  std::vector<std::string> DeviceNames() const override { return Names(devices_); }
  std::vector<std::string> LinkNames() const override { return Names(links_); }

 private:
  template <typename Kind>
  static const Kind* Find(const std::vector<Kind>& kinds, const std::string& name) {
    const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return k.name == name; });
    return kind == kinds.end() ? nullptr : &*kind;
  }
  template <typename Kind>
  static std::vector<std::string> Names(const std::vector<Kind>& kinds) {
    std::vector<std::string> names;
    for (const Kind& kind : kinds) names.push_back(kind.name);
    return names;
  }

  std::vector<sim::DeviceKind> devices_;
  std::vector<sim::LinkKind> links_;
};

}  // namespace

const sim::HardwareCatalogue& TestCatalogue() {
  static const Catalogue catalogue;
  return catalogue;
}

}  // namespace stowplan::scenarios
