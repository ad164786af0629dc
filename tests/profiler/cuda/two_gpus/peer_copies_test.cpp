// Copies between two GPUs as the plug-in measures them, on made-up ones.
#include "profiler/cuda/probe_table.h"
#include "tests/profiler/cuda/two_gpus/runtime.h"
#include "tests/testing.h"

namespace stowplan::profiler::cuda {
namespace {

constexpr Timing kThrice = {1, 3, 3, 0};

struct Row {
  sim::Attributes facts;

  template <typename T>
  T Get(const char* key) const {
    return std::get<T>(sim::FindAttribute(facts, key)->value);
  }
  double Median(const char* key) const {
    return std::get<double>(sim::FindAttribute(Get<sim::Attributes>(key), "median_us")->value);
  }
  double Bytes() const { return static_cast<double>(Get<std::int64_t>("bytes")); }
};

class PeerCopies : public ::testing::Test {
 protected:
  void SetUp() override { Gpus() = {}; }

  static std::vector<Row> Measure(const char* probe, bool quick = false) {
    const sim::Attribute measured =
        FindMeasurement(probe)(*FindProbe(probe), {.timing = kThrice, .quick = quick});
    std::vector<Row> rows;
    const auto& result = std::get<sim::Attributes>(measured.value);
    for (const sim::Attribute& row :
         std::get<sim::Attribute::List>(sim::FindAttribute(result, "rows")->value))
      rows.push_back({std::get<sim::Attributes>(row.value)});
    return rows;
  }
  // Alone, and in a queue of such copies.
  static void ExpectRates(const char* probe, double gigabytes, bool through_host) {
    const std::vector<Row> rows = Measure(probe);
    ASSERT_EQ(rows.size(), CopySizes(false).size());
    for (const Row& row : rows) {
      const double us = Gpus().latency_us + row.Bytes() / (gigabytes * 1e3);
      EXPECT_NEAR(row.Median("device"), us, 1e-4 * us) << probe << ' ' << row.Bytes();
      EXPECT_NEAR(row.Median("queued"), us, 1e-4 * us) << probe << ' ' << row.Bytes();
      EXPECT_EQ(row.Get<bool>("through_host"), through_host);
    }
  }
  static void ExpectShares(const char* probe, const char* there, double to, const char* back, double from) {
    const std::vector<Row> rows = Measure(probe, true);
    ASSERT_EQ(rows.size(), 2 * CopySizes(true).size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].Get<std::string>("direction"), i % 2 == 0 ? there : back);
      EXPECT_TRUE(rows[i].Get<bool>("covered"));
      const double gigabytes = (i % 2 == 0 ? to : from) * Gpus().both;
      EXPECT_NEAR(rows[i].Median("busy"), Gpus().latency_us + rows[i].Bytes() / (gigabytes * 1e3), 0.01);
    }
  }
};

TEST_F(PeerCopies, AreMeasuredInEachDirection) {
  ExpectRates("copy_peer_there", 20, false);
  ExpectRates("copy_peer_back", 25, false);
}

TEST_F(PeerCopies, GoThroughTheHostWhereGpusDoNotReachEachOther) {
  Gpus().reach = false;
  ExpectRates("copy_peer_there", 20 * Gpus().through_host, true);
  ExpectRates("copy_peer_back", 25 * Gpus().through_host, true);
}

TEST_F(PeerCopies, AreMeasuredInBothDirectionsAtOnce) {
  ExpectShares("copy_both_peer", "there", 20, "back", 25);
}

TEST_F(PeerCopies, OfPinnedMemoryAreMeasuredTheSameWay) {
  ExpectShares("copy_both_pinned", "h2d", Gpus().pinned_gigabytes, "d2h", Gpus().pinned_gigabytes);
}

TEST_F(PeerCopies, NeedTwoGpus) {
  Gpus().devices = 1;
  for (const char* probe : {"copy_peer_there", "copy_peer_back", "copy_both_peer"})
    EXPECT_THROW(Measure(probe), Unavailable) << probe;
}

}  // namespace
}  // namespace stowplan::profiler::cuda
