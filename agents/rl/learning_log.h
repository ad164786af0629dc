// The course of a learner as CSV text, one line for each update, readable while the run goes on.
#pragma once

#include <cstdint>
#include <string>

namespace stowplan::agents::rl {

// One update of the weights. With a learning rate of 0 there is no step: loss, gradient_norm and drift are NaN.
struct UpdateRecord {
  std::int64_t update = 0;    // 1-based; 0 = a step of pre-training, which has a loss and nothing else
  std::int64_t samples = 0;   // spent so far, all tasks together
  std::int64_t episodes = 0;  // learned from so far
  double mean_cost = 0;       // of the placements at the ends of its episodes
  double loss = 0;            // summed over its decisions
  double entropy = 0;         // mean over its decisions [nat]
  double entropy_weight = 0;
  double learning_rate = 0;
  double gradient_norm = 0;  // before the clip
  double drift = 0;          // largest |log-probability when learned - when drawn|: rounding alone
  double best_us = 0;        // best feasible runtime so far; 0 = none, or several tasks
};

class LearningLog {
 public:
  // An empty path keeps no log. Starts a new file, unless `resumed_at` (the size() in a checkpoint) is given:
  // then what was written after it is cut off. Throws RunError if the file cannot be written.
  explicit LearningLog(const std::string& path, std::int64_t resumed_at = -1);

  void Append(const UpdateRecord& record);
  std::int64_t size() const { return size_; }  // [B]

 private:
  void Write(const std::string& text);

  std::string path_;
  std::int64_t size_ = 0;
};

}  // namespace stowplan::agents::rl
