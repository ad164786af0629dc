// `ideal`: nothing is shared. Every transfer starts when it is queued and takes L + M. The specimen to copy:
// the shortest complete interconnect.
#include "sim/native/simulator.h"

namespace berth::sim {
namespace {

class IdealLinks {
 public:
  static constexpr bool kExclusive = false;
  explicit IdealLinks(const Problem::Compiled& compiled) : c_(compiled) {
    waiting_.reserve(c_.edge_consumer.size());
    due_.Reserve(c_.edge_consumer.size());
  }

  void Reset(const Plan&) {
    waiting_.clear();
    due_.Clear();
  }
  void Queue(TransferIndex index, const Parcel&) { waiting_.push_back(index); }
  void Start(Picos now, const Transfers& transfers, std::vector<TransferIndex>& started) {
    for (const TransferIndex t : waiting_) {
      const Parcel& parcel = transfers[t];
      due_.Push(now + c_.routes[parcel.route].latency + parcel.move, t);
      started.push_back(t);
    }
    waiting_.clear();
  }
  Picos next() const { return due_.next(); }
  void End(Picos now, const Transfers&, std::vector<TransferIndex>& ended) { due_.PopDue(now, ended); }

 private:
  const Problem::Compiled& c_;
  std::vector<TransferIndex> waiting_;
  DueHeap due_;
};

}  // namespace

std::unique_ptr<Simulator> MakeIdealSimulator(const Problem& problem) {
  return std::make_unique<NativeSimulator<IdealLinks>>(problem);
}

}  // namespace berth::sim
