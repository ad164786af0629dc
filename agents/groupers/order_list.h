// A list that answers "which of two comes first" at once and lets items be moved next to another: labels with
// gaps, spread anew when a gap is used up (Dietz and Sleator, Two algorithms for maintaining order in a list,
// STOC 1987).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stowplan::agents {

class OrderList {
 public:
  using Item = std::int32_t;

  // The items 0..size-1, in that order.
  explicit OrderList(Item size)
      : label_(static_cast<std::size_t>(size) + 1),
        next_(label_.size()),
        previous_(label_.size()),
        end_(size) {
    for (Item i = 0; i <= size; ++i) {
      next_[At(i)] = i == size ? 0 : i + 1;
      previous_[At(i)] = i == 0 ? size : i - 1;
    }
    Spread();
  }

  // Grows along the list.
  std::int64_t label(Item item) const { return label_[At(item)]; }

  void Remove(Item item) {
    next_[At(previous_[At(item)])] = next_[At(item)];
    previous_[At(next_[At(item)])] = previous_[At(item)];
  }

  // `items` must be in list order and must not hold `place`; they keep their order.
  void MoveBehind(const std::vector<Item>& items, Item place) {
    for (const Item item : items) Remove(item);
    Insert(items, place);
  }
  void MoveInFrontOf(const std::vector<Item>& items, Item place) {
    for (const Item item : items) Remove(item);
    Insert(items, previous_[At(place)]);
  }

 private:
  // The end mark closes the ring; its label is 0 as the start and taken for the largest as the end.
  static constexpr std::int64_t kLast = INT64_MAX;

  static std::size_t At(Item item) { return static_cast<std::size_t>(item); }

  void Insert(const std::vector<Item>& items, Item place) {
    Item at = place;
    for (const Item item : items) {
      const Item after = next_[At(at)];
      next_[At(at)] = previous_[At(after)] = item;
      previous_[At(item)] = at;
      next_[At(item)] = after;
      at = item;
    }
    const Item after = next_[At(at)];
    const std::int64_t low = label_[At(place)];
    const std::int64_t high = after == end_ ? kLast : label_[At(after)];
    const std::int64_t step = (high - low) / static_cast<std::int64_t>(items.size() + 1);
    if (step == 0) return Spread();
    std::int64_t next_label = low;
    for (const Item item : items) label_[At(item)] = next_label += step;
  }

  void Spread() {
    std::int64_t items = 0;
    for (Item i = next_[At(end_)]; i != end_; i = next_[At(i)]) ++items;
    std::int64_t next_label = 0;
    for (Item i = next_[At(end_)]; i != end_; i = next_[At(i)])
      label_[At(i)] = next_label += kLast / (items + 1);
  }

  std::vector<std::int64_t> label_;
  std::vector<Item> next_;
  std::vector<Item> previous_;
  Item end_;
};

}  // namespace stowplan::agents
