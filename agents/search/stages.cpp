// The stages of a pipeline: contiguous pieces of the forward pass on accelerators, each once. The pieces are the task's units in
// program order (groupers/chain.h). An exact search by an estimate (stage_splits.h) makes fifty times as many splits as are wanted;
// those that its schedule finishes soonest are samples; then borders of the best in a row move by a piece, for as many samples again.
// Single samples before them tell how far stages are from their estimated memory. Where none fits, less room is given to the
// estimate's memory until one does or none is left.
//
// An op takes its price or, if longer, its issue. A micro-batch's activations are held from its forward to its backward pass. What an op needs
// beside them is that of the stage's largest op.
#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "agents/agents.h"
#include "agents/groupers/chain.h"
#include "agents/search/objective.h"
#include "agents/search/stage_splits.h"
#include "agents/timing.h"
#include "sim/analysis/layers.h"
#include "sim/base/error.h"

namespace stowplan::agents {
namespace {

using sim::Bytes;
using sim::DeviceIndex;
using sim::OpIndex;
using sim::Picos;

constexpr std::size_t kMostPieces = 512;

// A chain of units, and what its pieces cost.
class StagedTask {
 public:
  StagedTask(const Task& task, int fewest) : task_(task), graph_(task.problem->graph()) {
    FindPieces();
    for (const sim::Op& op : graph_.ops) {
      const double number = sim::FindNumber(op.attributes, "micro_batch").value_or(0);
      costs_.micro_batches = std::max(costs_.micro_batches, static_cast<std::int64_t>(number) + 1);
    }
    costs_.gpipe = sim::FindString(graph_.attributes, "schedule").value_or("") == "gpipe";
    FindKinds();
    costs_.fewest = static_cast<int>(
        std::min({static_cast<std::size_t>(fewest), pieces_.size(), Accelerators(task).size()}));
    costs_.pieces.resize(pieces_.size());
    for (PieceCost& piece : costs_.pieces)
      piece.forward = piece.backward = piece.update = std::vector<Picos>(costs_.kinds.size(), 0);
    AddTimes();
    AddMemory();
    AddLinks();
  }

  const ChainCosts& costs() const { return costs_; }

  UnitPlacement Place(const StageSplit& split) const {
    UnitPlacement placement(task_.units.ops.size());
    std::size_t stage = 0;
    for (std::size_t piece = 0; piece < pieces_.size(); ++piece) {
      if (stage + 1 < split.begins.size() && piece >= static_cast<std::size_t>(split.begins[stage + 1]))
        ++stage;
      for (const UnitIndex unit : pieces_[piece])
        placement[static_cast<std::size_t>(unit)] = split.devices[stage];
    }
    return placement;
  }

 private:
  std::size_t PieceOf(OpIndex op) const {
    return piece_of_unit_[static_cast<std::size_t>(task_.units.unit_of_op[static_cast<std::size_t>(op)])];
  }
  const sim::Op& Op(OpIndex op) const { return graph_.ops[static_cast<std::size_t>(op)]; }
  bool IsFirst(const sim::Op& op) const {
    return sim::FindNumber(op.attributes, "micro_batch").value_or(0) == 0;
  }

  // Of too many those that stand side by side are one piece.
  void FindPieces() {
    const std::vector<std::vector<UnitIndex>> chain = ChainOfUnits(task_);
    const std::size_t together = (chain.size() + kMostPieces - 1) / kMostPieces;
    piece_of_unit_.resize(task_.units.ops.size());
    for (std::size_t i = 0; i < chain.size(); ++i) {
      if (i % together == 0) pieces_.emplace_back();
      for (const UnitIndex unit : chain[i]) {
        piece_of_unit_[static_cast<std::size_t>(unit)] = pieces_.size() - 1;
        pieces_.back().push_back(unit);
      }
    }
  }

  void FindKinds() {
    for (const DeviceIndex device : Accelerators(task_)) {
      const auto known = std::ranges::find_if(costs_.kinds, [&](const DeviceKind& kind) {
        const sim::Device &one = task_.device(kind.devices.front()), &other = task_.device(device);
        return one.kind == other.kind && one.capacity() == other.capacity();
      });
      if (known != costs_.kinds.end()) {
        known->devices.push_back(device);
      } else {
        costs_.kinds.push_back({.capacity = task_.device(device).capacity(), .devices = {device}});
      }
    }
  }

  void AddTimes() {
    for (OpIndex op = 0; op < graph_.size(); ++op) {
      PieceCost& piece = costs_.pieces[PieceOf(op)];
      const std::string& phase = Op(op).phase;
      auto& times = phase == "update" ? piece.update : phase == "backward" ? piece.backward : piece.forward;
      for (std::size_t k = 0; k < costs_.kinds.size(); ++k) {
        const DeviceIndex device = costs_.kinds[k].devices.front();
        times[k] += std::max(task_.problem->costs().at(op, device),
                             DispatchCost(task_.problem->cluster(), Op(op), device));
      }
    }
    for (PieceCost& piece : costs_.pieces) {
      for (std::vector<Picos>* times : {&piece.forward, &piece.backward}) {
        for (Picos& time : *times) time /= costs_.micro_batches;
      }
    }
  }

  // The output whose storage this one shares.
  sim::TensorRef Storage(sim::TensorRef tensor) const {
    for (;;) {
      const sim::Output& output = Op(tensor.op).outputs[static_cast<std::size_t>(tensor.output)];
      if (output.storage != sim::Output::Storage::kInput) return tensor;
      tensor = output.alias;
    }
  }
  Bytes OwnBytes(sim::TensorRef tensor) const {
    if (Op(tensor.op).IsVariable()) return 0;
    const sim::Output& output = Op(tensor.op).outputs[static_cast<std::size_t>(tensor.output)];
    return output.storage == sim::Output::Storage::kOwn ? output.bytes : 0;
  }

  void AddMemory() {
    std::set<sim::TensorRef> saved, gradients;
    for (OpIndex op = 0; op < graph_.size(); ++op) {
      PieceCost& piece = costs_.pieces[PieceOf(op)];
      piece.held += Op(op).persistent_bytes;
      Bytes working = Op(op).workspace_bytes;
      for (std::size_t o = 0; o < Op(op).outputs.size(); ++o)
        working += OwnBytes({op, static_cast<std::int32_t>(o)});
      for (const sim::TensorRef input : Op(op).inputs) {
        const sim::TensorRef storage = Storage(input);
        working += OwnBytes(storage);
        const sim::Op& producer = Op(storage.op);
        if (Op(op).phase == "backward" && sim::IsForward(producer) && IsFirst(producer))
          saved.insert(storage);
        if (Op(op).phase == "update" && producer.phase == "backward") gradients.insert(storage);
      }
      piece.transient = std::max(piece.transient, working);
    }
    for (const sim::TensorRef tensor : saved) costs_.pieces[PieceOf(tensor.op)].saved += OwnBytes(tensor);
    for (const sim::TensorRef tensor : gradients) costs_.pieces[PieceOf(tensor.op)].held += OwnBytes(tensor);
  }

  // Bytes of a micro-batch across the beginning of each piece, whether a stage begins there or not.
  void AddLinks() {
    std::vector<Bytes> forth(pieces_.size() + 1, 0), back(pieces_.size() + 1, 0);
    const auto add = [](std::vector<Bytes>& by_piece, std::size_t from, std::size_t to, Bytes bytes) {
      by_piece[from + 1] += bytes;
      by_piece[to + 1] -= bytes;
    };
    for (OpIndex op = 0; op < graph_.size(); ++op) {
      if (Op(op).IsSource() || !IsFirst(Op(op))) continue;
      std::vector<std::pair<std::size_t, std::size_t>> reach(Op(op).outputs.size(),
                                                             {PieceOf(op), PieceOf(op)});
      for (const OpIndex reader : graph_.consumers(op)) {
        for (const sim::TensorRef input : Op(reader).inputs) {
          if (input.op != op) continue;
          auto& [low, high] = reach[static_cast<std::size_t>(input.output)];
          low = std::min(low, PieceOf(reader));
          high = std::max(high, PieceOf(reader));
        }
      }
      for (std::size_t o = 0; o < reach.size(); ++o) {
        add(forth, PieceOf(op), reach[o].second, Op(op).outputs[o].bytes);
        add(back, reach[o].first, PieceOf(op), Op(op).outputs[o].bytes);
      }
    }
    for (std::vector<Bytes>* bytes : {&forth, &back}) {
      for (std::size_t piece = 1; piece < bytes->size(); ++piece) (*bytes)[piece] += (*bytes)[piece - 1];
    }
    const auto link = [this](std::vector<Bytes> bytes) {
      return [this, bytes = std::move(bytes)](std::size_t piece, DeviceIndex from, DeviceIndex to) {
        return bytes[piece] > 0 ? task_.TransferEstimate(bytes[piece], from, to) : 0;
      };
    };
    costs_.forth = link(std::move(forth));
    costs_.back = link(std::move(back));
    FindQuickest();
  }

  // Devices that may follow one another: those of a kind do in their order, the last of one and the first of another may.
  void FindQuickest() {
    std::vector<Picos> quickest(pieces_.size(), 0);
    for (std::size_t piece = 1; piece < pieces_.size(); ++piece) {
      Picos least = INT64_MAX;
      const auto take = [&](DeviceIndex a, DeviceIndex b) {
        least = std::min(least, costs_.forth(piece, a, b) + costs_.back(piece, b, a));
      };
      for (const DeviceKind& kind : costs_.kinds) {
        for (std::size_t d = 1; d < kind.devices.size(); ++d) take(kind.devices[d - 1], kind.devices[d]);
        for (const DeviceKind& other : costs_.kinds) {
          if (&kind == &other) continue;
          for (const DeviceIndex a : kind.devices)
            for (const DeviceIndex b : other.devices) take(a, b);
        }
      }
      if (least < INT64_MAX) quickest[piece] = least;
    }
    costs_.quickest = [quickest = std::move(quickest)](std::size_t piece) { return quickest[piece]; };
  }

  const Task& task_;
  const sim::OpGraph& graph_;
  std::vector<std::vector<UnitIndex>> pieces_;
  std::vector<std::size_t> piece_of_unit_;
  ChainCosts costs_;
};

class StageSearch {
 public:
  StageSearch(const Task& task, Evaluator& evaluator, int fewest)
      : task_(task), evaluator_(evaluator), staged_(task, fewest), costs_(staged_.costs()) {}

  void Run(std::int64_t best) {
    const std::vector<StageSplit> first = Probe(static_cast<std::size_t>(best));
    Sample(first);
    for (int tries = 0; tries < kTries && !evaluator_.has_best() && !done(); ++tries) {
      room_ *= kLess;
      Sample(Soonest(static_cast<std::size_t>(best)));
    }
    const std::int64_t last = evaluator_.samples() + best;
    while (best_ && evaluator_.samples() < last &&
           Sample(Neighbours(static_cast<std::size_t>(last - evaluator_.samples()))))
      ;
  }

 private:
  static constexpr int kTries = 6;
  static constexpr double kLess = 0.9, kMostRoom = 1e6;

  bool done() const { return evaluator_.remaining() == 0 || evaluator_.stop_requested(); }

  // What a sample's stages hold beside what they were taken to says how much room there is for the others.
  std::vector<StageSplit> Probe(std::size_t best) {
    std::vector<StageSplit> splits;
    for (int tries = 0; tries < kTries && !done(); ++tries) {
      splits = Soonest(best);
      if (splits.empty() && held_ > 0) break;
      const double before = held_;
      // The one that overflows least, as far as is known.
      for (double room = 1; splits.empty() && room < kMostRoom; room *= 1.25) splits = Soonest(best, room);
      if (splits.empty()) break;
      Sample({splits.front()});
      if (held_ == before || held_ == 0) break;
      room_ = 1 / held_;
    }
    return splits;
  }

  // The splits that their schedules finish soonest.
  std::vector<StageSplit> Soonest(std::size_t best) const { return Soonest(best, room_); }
  std::vector<StageSplit> Soonest(std::size_t best, double room) const {
    constexpr std::size_t kEstimates = 50;  // of each sample
    std::vector<StageSplit> splits = BestSplits(costs_, kEstimates * best, room);
    for (StageSplit& split : splits) split.estimate = ScheduleTime(costs_, split);
    std::ranges::stable_sort(splits, {}, &StageSplit::estimate);
    if (splits.size() > best) splits.resize(best);
    return splits;
  }

  // Whether one of those that are new is better than all before.
  bool Sample(const std::vector<StageSplit>& splits) {
    std::vector<UnitPlacement> fresh;
    std::vector<const StageSplit*> of;
    for (const StageSplit& split : splits) {
      UnitPlacement placement = staged_.Place(split);
      if (!seen_.insert(placement).second) continue;
      fresh.push_back(std::move(placement));
      of.push_back(&split);
      evaluator_.CountProposal();
    }
    if (fresh.empty() || done()) return false;
    const std::vector<Evaluation> made = evaluator_.EvaluateBatch(fresh);
    bool better = false;
    for (std::size_t i = 0; i < made.size(); ++i) {
      SeeMemory(*of[i], made[i]);
      const Objective value = ObjectiveOf(task_, made[i]);
      if (best_ && !(value < best_->first)) continue;
      best_ = {value, *of[i]};
      better = true;
    }
    return better;
  }

  // Stages that are half full or more tell.
  void SeeMemory(const StageSplit& split, const Evaluation& evaluation) {
    const std::vector<Bytes> taken = PeaksOf(costs_, split);
    for (std::size_t s = 0; s < taken.size(); ++s) {
      const Bytes peak = evaluation.peak[static_cast<std::size_t>(split.devices[s])];
      if (taken[s] > 0 && 2 * peak >= task_.device(split.devices[s]).capacity())
        held_ = std::max(held_, static_cast<double>(peak) / static_cast<double>(taken[s]));
    }
  }

  // Borders in a row moved by a piece, the fewest first.
  std::vector<StageSplit> Neighbours(std::size_t most) const {
    const StageSplit& split = best_->second;
    std::vector<StageSplit> neighbours;
    const std::size_t stages = split.begins.size();
    const auto pieces = static_cast<std::int32_t>(costs_.pieces.size());
    for (std::size_t moved = 1; moved < stages; ++moved) {
      for (std::size_t first = 1; first + moved <= stages; ++first) {
        for (const std::int32_t by : {-1, 1}) {
          StageSplit near = split;
          for (std::size_t s = first; s < first + moved; ++s) near.begins[s] += by;
          near.begins.push_back(pieces);
          if (std::ranges::adjacent_find(near.begins, std::greater_equal<>()) != near.begins.end()) continue;
          near.begins.pop_back();
          neighbours.push_back(std::move(near));
          if (neighbours.size() == most) return neighbours;
        }
      }
    }
    return neighbours;
  }

  const Task& task_;
  Evaluator& evaluator_;
  StagedTask staged_;
  const ChainCosts& costs_;
  double room_ = 1;  // of the memory, as far as estimates tell
  double held_ = 0;  // the most that a sample's stage held beside what it was taken to; 0 = none tells
  std::set<UnitPlacement> seen_;
  std::optional<std::pair<Objective, StageSplit>> best_;
};

class Stages final : public Agent {
 public:
  explicit Stages(const Settings& read)
      : Agent(read.Canonical()), best_(read.Int("best")), fewest_(static_cast<int>(read.Int("fewest"))) {}

  void Search(const Task& task, Evaluator& evaluator, const SearchOptions& /*options*/) override {
    StageSearch(task, evaluator, fewest_).Run(best_);
  }

 private:
  std::int64_t best_;
  int fewest_;
};

}  // namespace

std::unique_ptr<Agent> MakeStages(const Settings& read) {
  return std::make_unique<Stages>(read);
}

}  // namespace stowplan::agents
