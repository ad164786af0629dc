// The queues of the rules `published` and the choice of the next event. Internal to sim/.
//
// Devices and channels serve first in, first out, and how long each op and each sending takes is known. So
// when something joins a queue its end is known too, pauses included: it is max(now, end of the last pause) +
// duration. Starts are therefore no events; what is left of a queue is a row of ends that never decrease, and
// the next event is the least of the 2 D heads.
//
// All queues lie in one array, devices first. A key is time * 2^bits + place in it: its order is the
// tie-break of docs/model.md section 8, because of each queue only the head is looked at.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/units.h"

namespace stowplan::sim {

template <typename KeyType>
class PublishedQueues {
 public:
  using Key = KeyType;
  static constexpr Key kIdle = ~Key{0};

  // A device or a channel; its queue begins at place `first`, and what joins next gets place `tail`.
  struct Server {
    Picos free = 0;  // end of the last pause
    std::uint32_t tail = 0;
    std::uint32_t first = 0;
  };
  struct Entry {
    Key key = kIdle;  // kIdle at the tail
    std::uint32_t item = 0;
    std::uint32_t server = 0;
  };

  // `places`: for all that can join, and one more for each server.
  static int PlaceBits(std::size_t places) { return static_cast<int>(std::bit_width(places)); }

  PublishedQueues(std::size_t servers, std::size_t places)
      : bits_(PlaceBits(places)),
        servers_(servers),
        entries_(places),
        heads_((servers + kGroup - 1) / kGroup * kGroup),
        least_((heads_.size() / kGroup + kGroup - 1) / kGroup * kGroup) {}

  // All queues empty; most[s] is how many may join the queue of server s.
  void Reset(const std::uint32_t* most) {
    std::fill(heads_.begin(), heads_.end(), kIdle);
    std::fill(least_.begin(), least_.end(), kIdle);
    std::uint32_t place = 0;
    for (Server& server : servers_) {
      server = {0, place, place};
      entries_[place].key = kIdle;
      place += *most++ + 1;
    }
  }

  // What a run changes, by pointers that a loop can hold in registers.
  struct View {
    int bits;
    std::size_t groups;
    Server* servers;
    Entry* entries;
    Key* heads;
    Key* least;

    Picos TimeOf(Key key) const { return static_cast<Picos>(key >> bits); }
    std::uint32_t PlaceOf(Key key) const { return static_cast<std::uint32_t>(key & ((Key{1} << bits) - 1)); }

    // The next event; kIdle at the end.
    Key Next() const {
      Key next = kIdle;
      for (const Key* k = least; k != least + groups; k += kGroup) next = std::min(next, Least(k));
      return next;
    }

    // Takes the head with this key from its queue.
    const Entry& Pop(Key key) const {
      const Entry* const entry = entries + PlaceOf(key);
      const std::size_t s = entry->server;
      heads[s] = entry[1].key;
      least[s / kGroup] = Least(heads + s / kGroup * kGroup);
      return *entry;
    }

    Key KeyAt(Picos time, std::uint32_t place) const { return (static_cast<Key>(time) << bits) | place; }
    // The key of what would join a queue now and take so long.
    Key KeyOf(std::size_t s, Picos now, Picos duration) const {
      const Server& server = servers[s];
      return KeyAt(std::max(now, server.free) + duration, server.tail);
    }
    void Join(std::size_t s, Key key, std::uint32_t item, Picos pause) const {
      Server& server = servers[s];
      server.free = TimeOf(key) + pause;
      Entry* const entry = entries + server.tail++;
      *entry = {key, item, static_cast<std::uint32_t>(s)};
      entry[1].key = kIdle;
      heads[s] = std::min(heads[s], key);
      least[s / kGroup] = std::min(least[s / kGroup], key);
    }

    // Puts a queue into the state in which places [head, tail) wait, after HaveNone().
    void Restore(std::size_t s, std::uint32_t head, std::uint32_t tail, Picos free) const {
      servers[s].tail = tail;
      servers[s].free = free;
      entries[tail].key = kIdle;
      heads[s] = entries[head].key;
      least[s / kGroup] = std::min(least[s / kGroup], heads[s]);
    }
    void HaveNone() const { std::fill(least, least + groups, kIdle); }

   private:
    static Key Least(const Key* k) { return std::min(std::min(k[0], k[1]), std::min(k[2], k[3])); }
  };
  View view() {
    return {bits_, least_.size(), servers_.data(), entries_.data(), heads_.data(), least_.data()};
  }

 private:
  static constexpr std::size_t kGroup = 4;  // heads are compared in groups, then the least of each group

  int bits_;
  std::vector<Server> servers_;
  std::vector<Entry> entries_;
  std::vector<Key> heads_;  // [server]
  std::vector<Key> least_;  // [group]
};

}  // namespace stowplan::sim
