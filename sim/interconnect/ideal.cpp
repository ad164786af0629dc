// `ideal`: nothing is shared. Every transfer starts when it is queued and takes L + M. The specimen to copy:
// the shortest complete interconnect.
#include "sim/native_simulator.h"

namespace berth::sim {
namespace {

class IdealLinks {
 public:
  explicit IdealLinks(const Problem::Compiled&) {}

  void Reset() {
    waiting_.clear();
    due_.Clear();
  }
  void Queue(TransferIndex index, Transfer&) { waiting_.push_back(index); }
  void Start(Picos now, std::vector<Transfer>& transfers, std::vector<TransferIndex>& started) {
    for (const TransferIndex t : waiting_) {
      Transfer& transfer = transfers[static_cast<std::size_t>(t)];
      transfer.start = now;
      due_.Push(now + transfer.route->latency + transfer.move, t);
      started.push_back(t);
    }
    waiting_.clear();
  }
  Picos next() const { return due_.next(); }
  void End(Picos now, std::vector<Transfer>&, std::vector<TransferIndex>& ended) { due_.PopDue(now, ended); }

 private:
  std::vector<TransferIndex> waiting_;
  DueHeap due_;
};

}  // namespace

std::unique_ptr<Simulator> MakeIdealSimulator(const Problem& problem) {
  return std::make_unique<NativeSimulator<IdealLinks>>(problem);
}

}  // namespace berth::sim
