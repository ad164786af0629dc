// The ranks of MPI_COMM_WORLD. The only file that knows MPI.
//
// A rank that dies takes the others with it: mpirun ends them and says which one it was. What the first rank has written
// by then (the checkpoint of a learner) is whole, and `--resume` goes on from it with any number of ranks.
#include <limits>
#include <numeric>

#include <mpi.h>

#include "agents/ranks.h"
#include "sim/base/error.h"
#include "sim/base/plugin_interface.h"
#include "stowplan_interface.h"

namespace stowplan::agents {
namespace {

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiRanks() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0) MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<std::string> Exchange(const std::string& own) override {
    const int bytes = Count(own.size());
    std::vector<int> sizes(static_cast<std::size_t>(size_)), begins(sizes.size());
    MPI_Allgather(&bytes, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD);
    std::exclusive_scan(sizes.begin(), sizes.end(), begins.begin(), 0);
    std::string all(static_cast<std::size_t>(begins.back()) + static_cast<std::size_t>(sizes.back()), '\0');
    MPI_Allgatherv(own.data(), bytes, MPI_BYTE, all.data(), sizes.data(), begins.data(), MPI_BYTE,
                   MPI_COMM_WORLD);
    std::vector<std::string> by_rank;
    for (std::size_t r = 0; r < sizes.size(); ++r)
      by_rank.push_back(all.substr(static_cast<std::size_t>(begins[r]), static_cast<std::size_t>(sizes[r])));
    return by_rank;
  }

  void Sum(std::span<float> values) override { SumOf(values, MPI_FLOAT); }
  void Sum(std::span<double> values) override { SumOf(values, MPI_DOUBLE); }

  void Abort(int status) override {
    if (size_ > 1) MPI_Abort(MPI_COMM_WORLD, status);
  }

 private:
  static int Count(std::size_t count) {
    STOWPLAN_CHECK_LE(count, static_cast<std::size_t>(std::numeric_limits<int>::max()));
    return static_cast<int>(count);
  }

  // Gathered and added in the order of the ranks: an all-reduce may add in another order on each rank.
  template <typename T>
  void SumOf(std::span<T> values, MPI_Datatype type) {
    const std::size_t count = values.size();
    std::vector<T> all(rank_ == 0 ? count * static_cast<std::size_t>(size_) : 0);
    MPI_Gather(values.data(), Count(count), type, all.data(), Count(count), type, 0, MPI_COMM_WORLD);
    if (rank_ == 0) {
      for (std::size_t i = 0; i < count; ++i) {
        T sum = 0;
        for (std::size_t r = 0; r < static_cast<std::size_t>(size_); ++r) sum += all[r * count + i];
        values[i] = sum;
      }
    }
    MPI_Bcast(values.data(), Count(count), type, 0, MPI_COMM_WORLD);
  }

  int rank_ = 0;
  int size_ = 1;
};

}  // namespace
}  // namespace stowplan::agents

STOWPLAN_EXPORT_INTERFACE(STOWPLAN_INTERFACE);

// Ends MPI when the process ends in order.
extern "C" __attribute__((visibility("default"))) stowplan::agents::Ranks* stowplan_mpi_ranks() {
  static stowplan::agents::MpiRanks ranks;
  return &ranks;
}
