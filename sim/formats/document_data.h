// What the parsers build and Values read: one array of nodes, each node followed by what it holds.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/formats/document.h"

namespace stowplan::formats {

struct Document::Data {
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

// Takes the events of a parser in the order of the file. Throws InputError for keys given twice, too deep
// nesting and too many values. `line` is 1-based, 0 = not known.
class DocumentBuilder {
 public:
  // `size`: bytes of the file, by which the number of values is limited.
  DocumentBuilder(const std::string& source, std::size_t size, std::size_t nodes_hint);

  void Null(int line = 0) { Add(ValueKind::kNull, line); }
  void Bool(bool value) { Add(ValueKind::kBool, 0).boolean = value; }
  void Integer(std::int64_t value) { Add(ValueKind::kInteger, 0).integer = value; }
  void Real(double value, bool exact, std::string_view written);
  void String(std::string_view value, int line = 0) { AddText(ValueKind::kString, value, line); }
  void Plain(std::string_view value, int line) { AddText(ValueKind::kPlain, value, line); }
  void BeginList(int line = 0) { Begin(ValueKind::kList, line); }
  void BeginObject(int line = 0) { Begin(ValueKind::kObject, line); }
  void Key(std::string_view key, int line = 0);
  void End();

  bool InObject() const { return !open_.empty() && data_->nodes[open_.back()].kind == ValueKind::kObject; }
  bool WantsKey() const { return InObject() && pending_key_ == Document::Data::kNoKey; }
  bool empty() const { return data_->nodes.empty(); }
  Document Finish();

 private:
  Document::Data::Node& Add(ValueKind kind, int line);
  void AddText(ValueKind kind, std::string_view value, int line);
  void Begin(ValueKind kind, int line);
  void CheckKeys(std::uint32_t object) const;

  std::unique_ptr<Document::Data> data_;
  const std::size_t most_nodes_;
  std::unordered_map<std::string_view, std::uint32_t> key_index_;  // views of data_->keys
  std::vector<std::uint32_t> open_;                                // lists and objects that have not ended
  std::uint32_t pending_key_ = Document::Data::kNoKey;
  int pending_line_ = 0;
};

}  // namespace stowplan::formats
