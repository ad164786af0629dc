// A strict view of a JSON or YAML file, whatever its schema: what json_reader.h and yaml_reader.h return.
//
// The parsers refuse what is not well-formed, keys given twice, nesting deeper than kMaxDepth, and numbers
// outside of double. A Value is asked for what its reader expects; anything else is an InputError that opens
// with the place: "graph.json: ops[12].outputs[0].bytes", or "cluster.yaml:7: devices[0].memory" where lines
// are known (YAML).
//
//   const Document document = ParseYaml(ReadFile(path), path);
//   CheckFormat(document, "stowplan.cluster", 1);
//   static constexpr std::string_view kKeys[] = {"format", "version", "name", "devices"};
//   const Fields top(document.root(), kKeys);              // refuses unknown keys and lists the known ones
//   const std::string name = top.Name("name", "box");
//   for (const Value device : top.Require("devices").items()) ...
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/units.h"
#include "sim/formats/document/document_data.h"
#include "sim/op_graph.h"

namespace stowplan::formats {

inline constexpr int kMaxDepth = 64;  // lists and objects inside one another

class Value;

// Owns the parsed file; Values and their texts live as long as it does. Immutable, any thread.
class Document {
 public:
  explicit Document(std::unique_ptr<const DocumentData> data);
  ~Document();
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;

  Value root() const;
  const std::string& source() const;  // what messages call the file

 private:
  std::unique_ptr<const DocumentData> data_;
};

// A place in a document: two words, pass by value. Every getter throws InputError where the value is not of
// its kind or out of [low, high].
class Value {
 public:
  Value(const DocumentData* data, std::uint32_t node) : data_(data), node_(node) {}

  ValueKind kind() const;
  bool IsNull() const { return kind() == ValueKind::kNull; }
  bool IsList() const { return kind() == ValueKind::kList; }
  bool IsObject() const { return kind() == ValueKind::kObject; }
  bool IsNumber() const;  // a plain scalar of YAML that reads as one, too

  bool Bool() const;  // true, false
  // Whole numbers; 1e3 and 2.0 are taken since they are exact, 1e-3 and 2^53 + 1 written as a real are not.
  std::int64_t Int(std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                   std::int64_t high = std::numeric_limits<std::int64_t>::max()) const;
  double Number(double low = std::numeric_limits<double>::lowest(),
                double high = std::numeric_limits<double>::max()) const;  // always finite
  std::string_view Text() const;                                          // a string, may be empty
  std::string Label() const;  // a string without control characters, may be empty
  std::string Name() const;   // a label that is not empty
  // One of `choices`: returns its index.
  std::size_t Choice(std::span<const std::string_view> choices) const;

  // Strings with units (units_text.h).
  sim::Bytes ByteCount() const;    // "12GiB"
  sim::Picos Time() const;         // "25us"
  std::int64_t Bandwidth() const;  // "7.6GB/s", [B/s]

  // Any JSON, for `attributes`.
  sim::Attribute Free() const;

  // Iteration: for (const Value item : value.items()); for (const auto [key, member] : value.members()).
  class ItemRange;
  class MemberRange;
  std::size_t size() const;     // of a list or object
  ItemRange items() const;      // of a list
  MemberRange members() const;  // of an object, in the order written

  std::string Place() const;                            // "graph.json: ops[12].type"
  int line() const;                                     // 1-based; 0 = not known (JSON)
  [[noreturn]] void Fail(std::string_view what) const;  // InputError: place, a space, what

 private:
  friend class Fields;
  [[noreturn]] void FailKind(std::string_view wanted) const;

  const DocumentData* data_;
  std::uint32_t node_;
};

class Value::ItemRange {
 public:
  class Iterator {
   public:
    Iterator(const DocumentData* data, std::uint32_t node) : data_(data), node_(node) {}
    Value operator*() const { return {data_, node_}; }
    Iterator& operator++();
    bool operator==(const Iterator& other) const { return node_ == other.node_; }

   private:
    const DocumentData* data_;
    std::uint32_t node_;
  };
  ItemRange(Iterator first, Iterator last) : first_(first), last_(last) {}
  Iterator begin() const { return first_; }
  Iterator end() const { return last_; }

 private:
  Iterator first_;
  Iterator last_;
};

class Value::MemberRange {
 public:
  struct Member {
    std::string_view key;
    Value value;
  };
  class Iterator {
   public:
    Iterator(const DocumentData* data, std::uint32_t node) : data_(data), node_(node) {}
    Member operator*() const;
    Iterator& operator++();
    bool operator==(const Iterator& other) const { return node_ == other.node_; }

   private:
    const DocumentData* data_;
    std::uint32_t node_;
  };
  MemberRange(Iterator first, Iterator last) : first_(first), last_(last) {}
  Iterator begin() const { return first_; }
  Iterator end() const { return last_; }

 private:
  Iterator first_;
  Iterator last_;
};

// The members of an object whose keys are known: refuses the others at once, listing the known ones. `known`
// must outlive it (a static array), at most kMaxKeys of them. Asking for a key that is not in `known` aborts.
class Fields {
 public:
  static constexpr std::size_t kMaxKeys = 32;
  Fields(Value object, std::span<const std::string_view> known);

  Value object() const { return object_; }
  bool Has(std::string_view key) const { return Find(key).has_value(); }
  std::optional<Value> Find(std::string_view key) const;
  Value Require(std::string_view key) const;

  // Shorthands for members that may be left out.
  bool Bool(std::string_view key, bool fallback) const;
  std::int64_t Int(std::string_view key, std::int64_t fallback, std::int64_t low, std::int64_t high) const;
  double Number(std::string_view key, double fallback, double low, double high) const;
  std::string String(std::string_view key, std::string_view fallback) const;  // a label
  std::string Name(std::string_view key, std::string_view fallback) const;

 private:
  Value object_;
  std::span<const std::string_view> known_;
  std::array<std::uint32_t, kMaxKeys> node_;  // by key; 0 (the root, no member) = left out
};

// Checks that the top is an object whose `format` is this one and whose `version` is 1 ... newest; returns
// the version.
std::int64_t CheckFormat(const Document& document, std::string_view format, std::int64_t newest);

}  // namespace stowplan::formats
