#include "profiler/cpu/pace.h"

#include <algorithm>
#include <future>
#include <limits>
#include <mutex>

#include <oneapi/dnnl/dnnl.h>

#include "profiler/executor/device_thread.h"
#include "sim/base/statistics.h"

namespace stowplan::profiler {
namespace {

constexpr int kProducts = 6;  // of a measurement of the pace

}  // namespace

std::int64_t ClockCost() {
  std::vector<double> costs;
  for (int i = 0; i < 1001; ++i) {
    const std::int64_t start = Now();
    costs.push_back(static_cast<double>(Now() - start));
  }
  return static_cast<std::int64_t>(Quantile(std::move(costs), 0.5));
}

std::int64_t MeasurePace() {
  // A product by the library that the ops are of: wide vector instructions lower the clock for all that follows
  // within some hundred microseconds, so what is measured between others finds the clock that ops find in a step.
  constexpr int kSide = 64;
  static const std::vector<float> factor(kSide * kSide, 0.01F);
  thread_local std::vector<float> product(kSide * kSide);
  // The first ones after a pause are slow, until the wide units are powered.
  std::int64_t fastest = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < kProducts; ++i) {
    const std::int64_t start = Now();
    dnnl_sgemm('N', 'N', kSide, kSide, kSide, 1.F, factor.data(), kSide, factor.data(), kSide, 0.F,
               product.data(), kSide);
    fastest = std::min(fastest, Now() - start);
  }
  return fastest;
}

double ShareAtPace(std::int64_t products, const Pace& pace, std::int64_t elapsed_ns) {
  return std::min(1.0, static_cast<double>(products * pace.ns) / static_cast<double>(elapsed_ns));
}

double QuietShare(const CoresByDevice& cores, const Pace& pace, int milliseconds) {
  std::vector<std::future<double>> devices;
  for (const std::vector<int>& mine : cores) {
    devices.push_back(std::async(std::launch::async, [&, mine] {
      double share = 0;
      OnDevice(mine, [&] {
        const std::int64_t start = Now(), end = start + std::int64_t{1'000'000} * milliseconds;
        std::int64_t products = 0;
        do {
          MeasurePace();
          products += kProducts;
        } while (Now() < end);
        share = ShareAtPace(products, pace, Now() - start);
      });
      return share;
    }));
  }
  double least = 1;
  for (std::future<double>& device : devices) least = std::min(least, device.get());
  return least;
}

Pace FindPace(const CoresByDevice& cores, int milliseconds) {
  std::mutex mutex;
  std::vector<std::int64_t> all;
  std::vector<std::future<void>> devices;
  for (const std::vector<int>& mine : cores) {
    devices.push_back(std::async(std::launch::async, [&, mine] {
      OnDevice(mine, [&] {
        std::vector<std::int64_t> here;
        const std::int64_t end = Now() + std::int64_t{1'000'000} * milliseconds;
        do here.push_back(MeasurePace());
        while (Now() < end);
        const std::lock_guard lock(mutex);
        all.insert(all.end(), here.begin(), here.end());
      });
    }));
  }
  for (std::future<void>& device : devices) device.get();
  std::sort(all.begin(), all.end());
  const std::size_t half = all.size() / 2;
  std::size_t first = 0;
  for (std::size_t i = 0; i + half < all.size(); ++i) {
    if (all[i + half] - all[i] < all[first + half] - all[first]) first = i;
  }
  return {.ns = all[first + half / 2]};
}

}  // namespace stowplan::profiler
