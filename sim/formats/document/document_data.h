// What the parsers build and Values read: one array of nodes, each node followed by what it holds.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace stowplan::formats {

// How a value was written. A scalar of YAML that stands without quotes is kPlain: it is what its reader asks
// for.
enum class ValueKind : std::uint8_t { kNull, kBool, kInteger, kReal, kString, kPlain, kList, kObject };

struct DocumentData {
  static constexpr std::uint32_t kNoKey = UINT32_MAX;
  static constexpr std::uint32_t kOpen = UINT32_MAX;  // `end` while the list or object is being read

  struct Text {
    std::uint32_t offset;
    std::uint32_t size;
  };
  struct Node {
    ValueKind kind = ValueKind::kNull;
    bool exact = false;          // of a kReal: written without loss, and a whole number of 64 bits
    std::uint32_t key = kNoKey;  // of a member: index into keys
    std::uint32_t end = kOpen;   // one past the last node inside
    std::uint32_t line = 0;
    union {
      bool boolean;
      std::int64_t integer;
      double real;
      Text text;               // of kString and kPlain: in `texts`
      std::uint64_t children;  // of kList and kObject
    };
    Node() : children(0) {}
  };

  std::string source;
  std::vector<Node> nodes;       // nodes[0] is the root
  std::deque<std::string> keys;  // each once; a deque never moves them
  std::string texts;
  // Whole numbers that no node can hold, as the file writes them: for messages.
  std::unordered_map<std::uint32_t, std::string> long_numbers;

  const Node& node(std::uint32_t index) const { return nodes[index]; }
  std::string_view text(const Node& node) const {
    return std::string_view(texts).substr(node.text.offset, node.text.size);
  }
};

}  // namespace stowplan::formats
