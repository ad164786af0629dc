// What is costly to find, found once: also that it cannot be found.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "profiler/backend.h"

namespace stowplan::profiler {

// For one thread at a time.
template <typename Key, typename Value>
class Memo {
 public:
  struct Entry {
    Value value{};
    std::string unavailable;  // the reason; empty where there is a value
  };

  // `make` is called once for a key. Throws Unavailable each time where it did.
  template <typename Make>
  const Value& Get(const Key& key, const Make& make) {
    auto found = entries_.find(key);
    if (found == entries_.end()) {
      Entry entry;
      try {
        entry.value = make();
      } catch (const Unavailable& reason) {
        entry.unavailable = reason.what();
      }
      found = entries_.emplace(key, std::move(entry)).first;
    }
    if (!found->second.unavailable.empty()) throw Unavailable(found->second.unavailable);
    return found->second.value;
  }
  const std::map<Key, Entry>& entries() const { return entries_; }

 private:
  std::map<Key, Entry> entries_;
};

}  // namespace stowplan::profiler
