#include "tests/formats/sample_catalogue.h"

#include <optional>
#include <string>
#include <vector>

namespace stowplan::formats {
namespace {

class Catalogue : public sim::HardwareCatalogue {
 public:
  Catalogue() {
    devices_ = {{"cpu-a", sim::DeviceClass::kCpu, sim::Bytes{64} << 30, 2, 0},
                {"cpu-bare", sim::DeviceClass::kCpu, std::nullopt, 2, 0},
                {"gpu-a", sim::DeviceClass::kGpu, sim::Bytes{12} << 30, 2, 3'000'000},
                {"gpu-one", sim::DeviceClass::kGpu, sim::Bytes{16} << 30, 1, 4'500'000}};
    links_ = {{"pcie", 12'500'000'000, 4'000'000, {{0, 4'000'000}, {1 << 20, 90'000'000}}, 710'000},
              {"wire", 1'000'000'000, 20'000'000, {}, sim::kPpm}};
  }
  const sim::DeviceKind* FindDevice(const std::string& kind) const override { return Find(devices_, kind); }
  const sim::LinkKind* FindLink(const std::string& kind) const override { return Find(links_, kind); }
  std::vector<std::string> DeviceNames() const override { return Names(devices_); }
  std::vector<std::string> LinkNames() const override { return Names(links_); }

 private:
  template <typename Kind>
  static const Kind* Find(const std::vector<Kind>& kinds, const std::string& name) {
    for (const Kind& kind : kinds) {
      if (kind.name == name) return &kind;
    }
    return nullptr;
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

const sim::HardwareCatalogue& SampleCatalogue() {
  static const Catalogue catalogue;
  return catalogue;
}

}  // namespace stowplan::formats
