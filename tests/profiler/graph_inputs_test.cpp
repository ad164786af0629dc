#include "profiler/graph_inputs.h"

#include "profiler/backend.h"
#include "profiler/host_machine.h"
#include "tests/profiler/testing.h"
#include "tests/testing.h"

namespace stowplan::profiler {
namespace {

constexpr sim::Bytes kGiB = sim::Bytes{1} << 30;

// cpu0 and as many accelerators as there are numbers: their memory, of which `reserve` is not for ops.
sim::Cluster OneCpuAnd(const std::vector<sim::Bytes>& memory, sim::Bytes reserve = 0) {
  sim::Cluster cluster;
  cluster.devices.push_back(
      {.name = "cpu0", .kind = "cpu", .device_class = sim::DeviceClass::kCpu, .memory = 999 * kGiB});
  for (const sim::Bytes bytes : memory)
    cluster.devices.push_back({.name = "gpu" + std::to_string(cluster.devices.size() - 1),
                               .kind = "h200",
                               .memory = bytes,
                               .reserve = reserve});
  cluster.Finish();
  return cluster;
}

TEST(CapacityWarning, SilentWhereAllAcceleratorsTogetherFit) {
  EXPECT_THAT(CapacityWarning(OneCpuAnd({4 * kGiB, 4 * kGiB}), 8 * kGiB), IsEmpty());
  EXPECT_THAT(CapacityWarning(OneCpuAnd({5 * kGiB, 5 * kGiB}, kGiB), 8 * kGiB), IsEmpty());  // no reserve
  EXPECT_THAT(CapacityWarning(OneCpuAnd({}), 0), IsEmpty());                                 // no CPU
}

TEST(ChooseCores, EveryDeviceHasItsOwn) {
  if (AvailableCores().size() < 2) GTEST_SKIP() << "this process may use one core";
  const CoresByDevice cores = ChooseCores(OneCpuAnd({kGiB}), 1);
  EXPECT_THAT(cores, ElementsAre(SizeIs(1), SizeIs(1)));
  EXPECT_NE(cores[0], cores[1]);
}

TEST(ChooseCores, OfZeroAllThatTheAcceleratorsLeave) {
  const std::size_t all = AvailableCores().size();
  if (all < 2) GTEST_SKIP() << "this process may use one core";
  EXPECT_THAT(ChooseCores(OneCpuAnd({kGiB}), 0), ElementsAre(SizeIs(all - 1), SizeIs(1)));
  EXPECT_THAT(ChooseCores(OneCpuAnd({}), 0), ElementsAre(SizeIs(all)));
}

TEST(ChooseCores, MoreThanThereAreCannotRunHere) {
  const int more = static_cast<int>(AvailableCores().size()) + 1;
  EXPECT_THAT(tests::ErrorOf<Unavailable>([&] { ChooseCores(OneCpuAnd({}), more); }),
              HasSubstr("want " + std::to_string(more) + " cores"));
}

TEST(BareCatalogueTest, AKindIsACpuIfItIsCalledSo) {
  const BareCatalogue catalogue;
  EXPECT_EQ(catalogue.FindDevice("cpu_xeon")->device_class, sim::DeviceClass::kCpu);
  EXPECT_EQ(catalogue.FindDevice("h200")->device_class, sim::DeviceClass::kGpu);
}

}  // namespace
}  // namespace stowplan::profiler
