#include "sim/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#if STOWPLAN_WITH_TBB
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#endif

namespace stowplan {
namespace {

// Keeps the exception of the lowest item, so that which error is reported does not depend on timing.
class FirstError {
 public:
  void Note(std::size_t item) {
    const std::lock_guard lock(mutex_);
    if (error_ == nullptr || item < item_) {
      item_ = item;
      error_ = std::current_exception();
    }
  }
  void Rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::size_t item_ = 0;
  std::exception_ptr error_;
};

}  // namespace

int ResolveThreads(int threads) {
  return threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

void ParallelFor(std::size_t items, int threads, const std::function<void(std::size_t, int)>& body) {
  threads = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(ResolveThreads(threads)), items));
  if (threads <= 1) {
    for (std::size_t item = 0; item < items; ++item) body(item, 0);
    return;
  }
  FirstError error;
  // One worker per slot that takes the next free item: even the unevenest items spread, and a slot is never
  // shared.
  std::atomic<std::size_t> next{0};
  const auto work = [&](int slot) {
    for (std::size_t item = next.fetch_add(1); item < items; item = next.fetch_add(1)) {
      try {
        body(item, slot);
      } catch (...) {
        error.Note(item);
      }
    }
  };
#if STOWPLAN_WITH_TBB
  oneapi::tbb::task_arena arena(threads);
  arena.execute([&] { oneapi::tbb::parallel_for(0, threads, work, oneapi::tbb::simple_partitioner()); });
#else
  std::vector<std::thread> workers;
  for (int slot = 1; slot < threads; ++slot) workers.emplace_back(work, slot);
  work(0);
  for (std::thread& worker : workers) worker.join();
#endif
  error.Rethrow();
}

}  // namespace stowplan
