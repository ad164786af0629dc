// `ideal`: nothing is shared. Every transfer starts when it is queued and takes L + M. The specimen to copy:
// the shortest complete interconnect.
#include "sim/native/incremental.h"
#include "sim/native/shortest_way.h"

namespace berth::sim {
namespace {

class IdealLinks {
 public:
  static constexpr bool kExclusive = false;
  IdealLinks(const Problem::Compiled& compiled, std::int32_t spare) : c_(compiled) {
    const std::size_t most = c_.most_transfers + static_cast<std::size_t>(spare);
    waiting_.reserve(most);
    due_.Reserve(most);
  }

  void Reset(const ById<Problem::Compiled::Id>&) {
    waiting_.clear();
    due_.Clear();
  }
  void Queue(TransferIndex index, const Transfer&) { waiting_.push_back(index); }
  void Start(Picos now, const Transfers& transfers, std::vector<TransferIndex>& started) {
    for (const TransferIndex t : waiting_) {
      const Transfer& transfer = transfers[t];
      due_.Push(now + c_.routes[transfer.route].latency + transfer.move, t);
      started.push_back(t);
    }
    waiting_.clear();
  }
  Picos next() const { return due_.next(); }
  void End(Picos now, const Transfers&, std::vector<TransferIndex>& ended) { due_.PopDue(now, ended); }

  using Live = DueHeap;
  void Save(Live& live) const { live = due_; }
  void Load(const Live& live, Picos shift) {
    due_ = live;
    due_.Shift(shift);
  }
  template <typename Same>
  bool Equals(const Live& live, Picos shift, Same& same) const {
    return due_.Equals(live, shift, same);
  }

 private:
  const Problem::Compiled& c_;
  std::vector<TransferIndex> waiting_;
  DueHeap due_;
};

}  // namespace

std::unique_ptr<Simulator> MakeIdealSimulator(const Problem& problem) {
  return std::make_unique<ShortestWay<IdealLinks>>(problem, false);
}

std::unique_ptr<IncrementalSimulator> MakeIdealIncremental(const Problem& problem) {
  return std::make_unique<NativeIncremental<IdealLinks>>(problem);
}

}  // namespace berth::sim
