// Ranks that are threads of one process: what MPI does between processes, for tests.
#pragma once

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include "agents/ranks.h"

namespace stowplan::agents::testing {

class ThreadedRanks {
 public:
  explicit ThreadedRanks(int size) : size_(size), said_(static_cast<std::size_t>(size)), barrier_(size) {}

  // Runs body(ranks) on every rank at once.
  void Run(const std::function<void(Ranks&)>& body) {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size_; ++rank) {
      threads.emplace_back([this, rank, &body] {
        One one(*this, rank);
        body(one);
      });
    }
  }

 private:
  class One final : public Ranks {
   public:
    One(ThreadedRanks& all, int rank) : all_(all), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return all_.size_; }
    std::vector<std::string> Exchange(const std::string& own) override {
      all_.said_[static_cast<std::size_t>(rank_)] = own;
      all_.barrier_.arrive_and_wait();
      std::vector<std::string> said = all_.said_;
      all_.barrier_.arrive_and_wait();
      return said;
    }
    void Sum(std::span<float> values) override { SumOf(values); }
    void Sum(std::span<double> values) override { SumOf(values); }
    void Abort(int) override { std::terminate(); }

   private:
    template <typename T>
    void SumOf(std::span<T> values) {
      const std::string own(reinterpret_cast<const char*>(values.data()), values.size_bytes());
      std::fill(values.begin(), values.end(), T{0});
      for (const std::string& bytes : Exchange(own)) {
        const auto* other = reinterpret_cast<const T*>(bytes.data());
        for (std::size_t i = 0; i < values.size(); ++i) values[i] += other[i];
      }
    }
    ThreadedRanks& all_;
    int rank_;
  };

  int size_;
  std::vector<std::string> said_;
  std::barrier<> barrier_;
};

}  // namespace stowplan::agents::testing
