#include "sim/formats/document/document_builder.h"

#include <algorithm>
#include <limits>

#include "sim/base/error.h"

namespace stowplan::formats {

namespace {

// Of a document: so many, or one for so many bytes of the file where that is more. Graphs and traces have one for 5 bytes and
// more; what is made of a value takes up to 240 bytes.
constexpr std::size_t kValuesAlwaysAllowed = std::size_t{1} << 24, kBytesForAValue = 4;

}  // namespace

DocumentBuilder::DocumentBuilder(const std::string& source, std::size_t size, std::size_t nodes_hint)
    : data_(std::make_unique<DocumentData>()),
      most_nodes_(std::max(kValuesAlwaysAllowed, size / kBytesForAValue)) {
  // Offsets are 32 bits wide; ReadFile() lets nothing near this size through.
  if (size >= std::numeric_limits<std::uint32_t>::max())
    throw InputError(source + ": files of 4 GiB are not read");
  data_->source = source;
  data_->nodes.reserve(std::min(nodes_hint, most_nodes_));
  data_->texts.reserve(size / 4);
}

DocumentData::Node& DocumentBuilder::Add(ValueKind kind, int line) {
  if (!open_.empty()) ++data_->nodes[open_.back()].children;
  const auto index = static_cast<std::uint32_t>(data_->nodes.size());
  auto& node = data_->nodes.emplace_back();
  node.kind = kind;
  node.key = std::exchange(pending_key_, DocumentData::kNoKey);
  // A list below its key begins lines later: the key is where a reader looks.
  node.line = static_cast<std::uint32_t>(pending_line_ != 0 ? std::exchange(pending_line_, 0) : line);
  node.end = index + 1;
  if (index >= most_nodes_) {
    Value(data_.get(), index)
        .Fail("is one value more than the " + std::to_string(most_nodes_) +
              " that a file of this size may hold, one for every 4 bytes or 2^24; split the file");
  }
  return node;
}

void DocumentBuilder::Real(double value, bool exact, std::string_view written) {
  const auto index = static_cast<std::uint32_t>(data_->nodes.size());
  auto& node = Add(ValueKind::kReal, 0);
  node.real = value;
  node.exact = exact;
  const bool whole = written.find_first_of(".eE") == std::string_view::npos;
  if (whole && !exact) data_->long_numbers.emplace(index, written);
}

void DocumentBuilder::AddText(ValueKind kind, std::string_view value, int line) {
  const auto offset = static_cast<std::uint32_t>(data_->texts.size());
  data_->texts.append(value);
  Add(kind, line).text = {offset, static_cast<std::uint32_t>(value.size())};
}

void DocumentBuilder::Begin(ValueKind kind, int line) {
  const auto index = static_cast<std::uint32_t>(data_->nodes.size());
  Add(kind, line).end = DocumentData::kOpen;
  if (open_.size() >= kMaxDepth) {
    Value(data_.get(), index)
        .Fail("is nested deeper than " + std::to_string(kMaxDepth) + " lists and objects");
  }
  open_.push_back(index);
}

void DocumentBuilder::Key(std::string_view key, int line) {
  auto found = key_index_.find(key);
  if (found == key_index_.end()) {
    const auto index = static_cast<std::uint32_t>(data_->keys.size());
    found = key_index_.emplace(data_->keys.emplace_back(key), index).first;
  }
  pending_key_ = found->second;
  pending_line_ = line;
}

void DocumentBuilder::End() {
  const std::uint32_t index = open_.back();
  auto& node = data_->nodes[index];
  if (node.kind == ValueKind::kObject) CheckKeys(index);
  node.end = static_cast<std::uint32_t>(data_->nodes.size());
  open_.pop_back();
}

void DocumentBuilder::CheckKeys(std::uint32_t object) const {
  const auto& nodes = data_->nodes;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> members;  // key, node
  members.reserve(nodes[object].children);
  for (std::uint32_t at = object + 1; at < nodes.size(); at = nodes[at].end)
    members.emplace_back(nodes[at].key, at);
  std::sort(members.begin(), members.end());
  const auto twice = std::adjacent_find(members.begin(), members.end(),
                                        [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != members.end()) {
    Value(data_.get(), (twice + 1)->second).Fail("is there twice; every key must be given once");
  }
}

Document DocumentBuilder::Finish() {
  return Document(std::move(data_));
}

}  // namespace stowplan::formats
