#include "sim/native/moved_ops.h"

#include <algorithm>
#include <numeric>

namespace berth::sim {
namespace {

using Id = Problem::Compiled::Id;

// Groups values by op: those of an op stand from begin[op] to begin[op + 1].
template <typename Pairs>
void Group(const Pairs& pairs, OpIndex ops, ById<Id>& begin, std::vector<Id>& values) {
  begin.assign(static_cast<std::size_t>(ops) + 1, 0);
  for (const auto& [op, value] : pairs) ++begin[op + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  values.resize(pairs.size());
  ById<Id> next = begin;
  for (const auto& [op, value] : pairs) values[static_cast<std::size_t>(next[op]++)] = value;
}

}  // namespace

MovedOps::MovedOps(const Compiled& compiled)
    : c_(compiled), marks_(static_cast<std::size_t>(c_.ops)), mapped_(c_.edge_consumer.size()) {
  std::vector<std::pair<OpIndex, Id>> producers, views;
  ById<OpIndex> input_producer(static_cast<std::size_t>(c_.inputs));
  for (OpIndex op = 0; op < c_.ops; ++op) {
    for (Id i = c_.rows[op].consumer; i < c_.rows[op + 1].consumer; ++i)
      producers.push_back({c_.consumer[i], op});
    for (Id e = c_.rows[op].edge; e < c_.rows[op + 1].edge; ++e)
      if (c_.edge_input[e] != Compiled::kNone) input_producer[c_.edge_input[e]] = op;
  }
  for (const Id view : c_.views) views.push_back({input_producer[c_.output_shares[view]], view});
  Group(producers, c_.ops, producers_begin_, producers_);
  Group(views, c_.ops, views_begin_, views_);
  std::iota(mapped_.begin(), mapped_.end(), 0);
  for (auto* list : {&senders_, &receivers_}) list->reserve(static_cast<std::size_t>(c_.ops));
  moved_.reserve(static_cast<std::size_t>(c_.ops));
  old_transfers_.reserve(c_.edge_consumer.size());
  old_slots_.reserve(c_.edge_consumer.size());
}

void MovedOps::MarkAs(Mark mark, OpIndex op, std::vector<OpIndex>& list) {
  if ((marks_[op] & mark) != 0) return;
  marks_[op] |= mark;
  list.push_back(op);
}

void MovedOps::Apply(std::span<const Move> moves, Plan& plan, Counts& start) {
  for (auto move = moves.rbegin(); move != moves.rend(); ++move) {
    if (IsMoved(move->op)) continue;
    marks_[move->op] |= kMoved;
    moved_.push_back({move->op, start.ops[move->op].device, move->device});
  }
  const auto stays = [&](const Moved& moved) {
    if (moved.from == moved.to) marks_[moved.op] = 0;
    return moved.from == moved.to;
  };
  std::erase_if(moved_, stays);
  for (const Moved& moved : moved_) {
    MarkAs(kSender, moved.op, senders_);
    MarkAs(kReceiver, moved.op, receivers_);
    for (Id i = producers_begin_[moved.op]; i < producers_begin_[moved.op + 1]; ++i)
      MarkAs(kSender, producers_[static_cast<std::size_t>(i)], senders_);
    for (Id i = c_.rows[moved.op].consumer; i < c_.rows[moved.op + 1].consumer; ++i)
      MarkAs(kReceiver, c_.consumer[i], receivers_);
  }
  for (const OpIndex op : senders_) {
    for (Id slot = c_.rows[op].edge; slot < plan.transfers_end[op]; slot = plan.transfers[slot].readers_end) {
      old_transfers_.push_back(plan.transfers[slot]);
      old_slots_.push_back(slot);
    }
  }
  for (const OpIndex op : senders_) plan.Unmake(op, start);
  for (const Moved& moved : moved_) start.ops[moved.op].device = moved.to;
  Remake(plan, start);
  Map(plan);
}

void MovedOps::Revert(Plan& plan, Counts& start) {
  for (const OpIndex op : senders_) plan.Unmake(op, start);
  for (const Moved& moved : moved_) start.ops[moved.op].device = moved.from;
  Remake(plan, start);
  for (const OpIndex op : senders_) marks_[op] = 0;
  for (const OpIndex op : receivers_) marks_[op] = 0;
  for (const Id slot : old_slots_) mapped_[slot] = slot;
  moved_.clear();
  senders_.clear();
  receivers_.clear();
  old_transfers_.clear();
  old_slots_.clear();
}

void MovedOps::Remake(Plan& plan, Counts& start) {
  for (const OpIndex op : senders_) plan.MakeOp(op, start);
  for (const OpIndex op : senders_) {
    for (Id i = views_begin_[op]; i < views_begin_[op + 1]; ++i)
      ++start.holders[plan.input_storage[c_.output_shares[views_[static_cast<std::size_t>(i)]]]];
  }
}

// Both lists of an op are in the order of (output, destination).
void MovedOps::Map(const Plan& plan) {
  transfers_ = 0;
  std::size_t old = 0;
  for (const OpIndex op : senders_) {
    Id slot = c_.rows[op].edge;
    const auto before = [](const Transfer& a, const Transfer& b) {
      return a.output != b.output ? a.output < b.output : a.route < b.route;
    };
    for (Id s = slot; s < plan.transfers_end[op]; s = plan.transfers[s].readers_end) ++transfers_;
    for (; old < old_transfers_.size() && old_transfers_[old].producer == op; ++old) {
      const Transfer& transfer = old_transfers_[old];
      while (slot < plan.transfers_end[op] && before(plan.transfers[slot], transfer))
        slot = plan.transfers[slot].readers_end;
      const bool found = slot < plan.transfers_end[op] && !before(transfer, plan.transfers[slot]);
      mapped_[old_slots_[old]] = found ? slot : Compiled::kNone;
    }
  }
}

}  // namespace berth::sim
