// The search for stages: against every split of small chains, and on the pipeline whose splits are all known.
#include <algorithm>
#include <random>

#include "agents/search/stage_splits.h"
#include "agents/task.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

struct Chain {
  ChainCosts costs;
  std::vector<sim::Picos> link;  // by piece
};

// Up to two kinds of devices; the second twice as fast, with half the memory.
std::unique_ptr<Chain> RandomChain(unsigned seed) {
  std::mt19937 rng(seed);
  auto chain = std::make_unique<Chain>();
  ChainCosts& costs = chain->costs;
  const std::size_t kinds = 1 + rng() % 2;
  std::int32_t device = 0;
  for (std::size_t k = 0; k < kinds; ++k) {
    costs.kinds.push_back({.capacity = k == 0 ? 120 : 60, .devices = {}});
    for (std::size_t d = 0; d < 1 + rng() % 3; ++d) costs.kinds.back().devices.push_back(device++);
  }
  costs.micro_batches = std::vector<std::int64_t>{1, 2, 8}[rng() % 3];
  costs.gpipe = rng() % 2 == 0;
  costs.fewest = 1 + static_cast<int>(rng() % 2);
  for (std::size_t i = 0; i < 4 + rng() % 4; ++i) {
    const auto time = static_cast<sim::Picos>(2 + 2 * (rng() % 10));
    PieceCost piece;
    for (std::size_t k = 0; k < kinds; ++k) {
      piece.forward.push_back(time / (k + 1));
      piece.backward.push_back(2 * time / (k + 1));
      piece.update.push_back(static_cast<sim::Picos>(rng() % 3));
    }
    piece.held = static_cast<sim::Bytes>(rng() % 30);
    piece.saved = static_cast<sim::Bytes>(rng() % 5);
    piece.transient = static_cast<sim::Bytes>(rng() % 10);
    costs.pieces.push_back(piece);
    chain->link.push_back(static_cast<sim::Picos>(rng() % 12));
  }
  costs.forth = costs.back = [&link = chain->link](std::size_t piece, std::int32_t, std::int32_t) {
    return link[piece];
  };
  costs.quickest = [&link = chain->link](std::size_t piece) { return 2 * link[piece]; };
  return chain;
}

// The least estimate of all splits that fit, by the formula of stage_splits.h; -1 = none does.
class EverySplit {
 public:
  explicit EverySplit(const ChainCosts& costs) : costs_(costs), left_(costs.kinds.size()) {
    for (std::size_t k = 0; k < left_.size(); ++k) left_[k] = costs.kinds[k].devices.size();
    Go(0);
  }
  sim::Picos least() const { return least_; }
  std::size_t count() const { return count_; }

 private:
  void Go(std::size_t begin) {
    if (begin == costs_.pieces.size()) return Take();
    for (std::size_t k = 0; k < left_.size(); ++k) {
      if (left_[k] == 0) continue;
      --left_[k];
      for (std::size_t end = begin + 1; end <= costs_.pieces.size(); ++end) {
        stages_.push_back({begin, end, k});
        Go(end);
        stages_.pop_back();
      }
      ++left_[k];
    }
  }

  void Take() {
    if (stages_.size() < static_cast<std::size_t>(costs_.fewest)) return;
    sim::Picos before = 0, worst = 0;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const auto [begin, end, kind] = stages_[s];
      const auto last = static_cast<std::int64_t>(stages_.size() - s);
      const std::int64_t flying = costs_.gpipe ? costs_.micro_batches : std::min(costs_.micro_batches, last);
      sim::Bytes held = 0, transient = 0;
      sim::Picos time = 0, forward = 0, behind = 0;
      for (std::size_t i = begin; i < costs_.pieces.size(); ++i) {
        const PieceCost& piece = costs_.pieces[i];
        if (i >= end) {
          sim::Picos quickest = INT64_MAX;
          for (std::size_t k = 0; k < left_.size(); ++k)
            quickest = std::min(quickest, piece.forward[k] + piece.backward[k]);
          behind += quickest;
          continue;
        }
        held += piece.held + flying * piece.saved;
        transient = std::max(transient, piece.transient);
        time += piece.forward[kind] + piece.backward[kind];
        forward += piece.forward[kind];
        if (s == 0) before += piece.update[kind];
      }
      if (held + transient > costs_.kinds[kind].capacity) return;
      const sim::Picos link = s > 0 ? costs_.forth(begin, 0, 0) : 0;
      worst = std::max(worst, before + costs_.micro_batches * link);
      before += 2 * link;
      const sim::Picos waits = behind - (costs_.gpipe ? 0 : (flying - 1) * forward);
      worst = std::max(worst, before + costs_.micro_batches * time + std::max<sim::Picos>(0, waits));
      before += time;
    }
    ++count_;
    const sim::Picos estimate = worst;
    if (least_ < 0 || estimate < least_) least_ = estimate;
  }

  struct Stage {
    std::size_t begin, end, kind;
  };
  const ChainCosts& costs_;
  std::vector<std::size_t> left_;
  std::vector<Stage> stages_;
  sim::Picos least_ = -1;
  std::size_t count_ = 0;
};

TEST(StageSplits, TheFirstIsTheBestOfAll) {
  int none = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    const auto chain = RandomChain(seed);
    const EverySplit all(chain->costs);
    const std::vector<StageSplit> splits = BestSplits(chain->costs, 50, 1.0);
    EXPECT_EQ(splits.empty(), all.least() < 0);
    none += splits.empty();
    if (splits.empty()) continue;
    EXPECT_EQ(splits.front().estimate, all.least());
    EXPECT_TRUE(std::ranges::is_sorted(splits, {}, &StageSplit::estimate));
    EXPECT_EQ(splits.front().begins.front(), 0);
  }
  EXPECT_GT(none, 0);
  EXPECT_LT(none, 200);
}

TEST(StageSplits, TakesAllWhereThereAreFew) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const auto chain = RandomChain(seed);
    const EverySplit all(chain->costs);
    EXPECT_EQ(BestSplits(chain->costs, 100'000, 1.0).size(), all.count()) << seed;
  }
}

// By hand: two stages of 1 + 2 and 2 + 4, three micro-batches, links of 1.
TEST(StageSplits, TheScheduleIsTheOneOfThePapers) {
  ChainCosts costs;
  costs.kinds = {{.capacity = 1, .devices = {0, 1}}};
  costs.pieces = {{.forward = {1}, .backward = {2}, .update = {0}},
                  {.forward = {2}, .backward = {4}, .update = {5}}};
  costs.micro_batches = 3;
  costs.forth = costs.back = [](std::size_t, std::int32_t, std::int32_t) { return sim::Picos{1}; };
  const StageSplit split = {.begins = {0, 1}, .devices = {0, 1}, .kinds = {0, 0}};
  // The last stage is busy from 2 to 20 and then updates, the first ends its last backward pass at 20 + 1 + 2.
  EXPECT_EQ(ScheduleTime(costs, split), 25);
  costs.pieces[1].update = {0};
  EXPECT_EQ(ScheduleTime(costs, split), 23);
}

}  // namespace
}  // namespace stowplan::agents
