// What parsers call to make a document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/formats/document/document.h"
#include "sim/formats/document/document_data.h"

namespace stowplan::formats {

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
  bool WantsKey() const { return InObject() && pending_key_ == DocumentData::kNoKey; }
  bool empty() const { return data_->nodes.empty(); }
  Document Finish();

 private:
  DocumentData::Node& Add(ValueKind kind, int line);
  void AddText(ValueKind kind, std::string_view value, int line);
  void Begin(ValueKind kind, int line);
  void CheckKeys(std::uint32_t object) const;

  std::unique_ptr<DocumentData> data_;
  const std::size_t most_nodes_;
  std::unordered_map<std::string_view, std::uint32_t> key_index_;  // views of data_->keys
  std::vector<std::uint32_t> open_;                                // lists and objects that have not ended
  std::uint32_t pending_key_ = DocumentData::kNoKey;
  int pending_line_ = 0;
};

}  // namespace stowplan::formats
