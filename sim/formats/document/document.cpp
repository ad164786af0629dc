#include "sim/formats/document/document.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/base/spec.h"
#include "sim/formats/document/decimal.h"
#include "sim/formats/document/document_data.h"
#include "sim/formats/document/source.h"
#include "sim/formats/document/units_text.h"

namespace stowplan::formats {
namespace {

using Node = DocumentData::Node;

std::optional<double> ParseReal(std::string_view text) {
  if (!IsDecimal(text)) return std::nullopt;  // its grammar: no "nan", "inf" or hexadecimal
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// A number as messages show it: cut where it is long.
std::string Shortened(std::string_view number) {
  constexpr std::size_t kShown = 40;
  return std::string(number.substr(0, kShown)) + (number.size() > kShown ? "..." : "");
}

std::string Describe(const DocumentData& data, std::uint32_t index) {
  const Node& node = data.node(index);
  switch (node.kind) {
    case ValueKind::kNull:
      return "null";
    case ValueKind::kBool:
      return node.boolean ? "true" : "false";
    case ValueKind::kInteger:
      return fmt::format("{}", node.integer);
    case ValueKind::kReal:
      if (const auto written = data.long_numbers.find(index); written != data.long_numbers.end())
        return Shortened(written->second);
      return fmt::format("{}", node.real);
    case ValueKind::kPlain:
      if (IsDecimal(data.text(node))) return Shortened(data.text(node));
      [[fallthrough]];
    case ValueKind::kString:
      return Quoted(data.text(node));
    case ValueKind::kList:
      return "a list";
    case ValueKind::kObject:
      return "an object";
  }
  return {};
}

bool IsWord(std::string_view key) {
  return !key.empty() && key.size() <= 60 && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

void AppendStep(std::string& path, const DocumentData& data, const Node& child, std::size_t index) {
  if (child.key == DocumentData::kNoKey) {
    path += fmt::format("[{}]", index);
  } else if (const std::string& key = data.keys[child.key]; IsWord(key)) {
    if (!path.empty()) path += '.';
    path += key;
  } else {
    path += '[' + Quoted(key) + ']';
  }
}

// "ops[12].outputs[0].bytes"; empty for the root. Nodes stand before what they hold, so the way down is found
// by end.
std::string PathTo(const DocumentData& data, std::uint32_t target) {
  std::string path;
  std::uint32_t at = 0;
  while (at != target) {
    std::uint32_t child = at + 1;
    std::size_t index = 0;
    for (; data.node(child).end <= target; child = data.node(child).end) ++index;
    AppendStep(path, data, data.node(child), index);
    at = child;
  }
  return path;
}

// The place is told where it is needed alone: of an item it is found by walking along its list.
std::int64_t WithUnit(const Value& value, std::int64_t (*parse)(std::string_view, const std::string&)) {
  const std::string_view text = value.Text();
  try {
    return parse(text, {});
  } catch (const InputError&) {
    return parse(text, value.Place());
  }
}

}  // namespace

// ---- Document -----------------------------------------------------------------------------------

Document::Document(std::unique_ptr<const DocumentData> data) : data_(std::move(data)) {}
Document::~Document() = default;
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Value Document::root() const {
  return {data_.get(), 0};
}
const std::string& Document::source() const {
  return data_->source;
}

// ---- Value --------------------------------------------------------------------------------------

ValueKind Value::kind() const {
  return data_->node(node_).kind;
}
int Value::line() const {
  return static_cast<int>(data_->node(node_).line);
}

std::string Value::Place() const {
  std::string place = data_->source;
  if (line() != 0) place += fmt::format(":{}", line());
  const std::string path = PathTo(*data_, node_);
  return place + ": " + (path.empty() ? "the file" : path);
}

void Value::Fail(std::string_view what) const {
  throw InputError(fmt::format("{} {}", Place(), what));
}

void Value::FailKind(std::string_view wanted) const {
  Fail(fmt::format("must be {}, but is {}", wanted, Describe(*data_, node_)));
}

bool Value::IsNumber() const {
  const Node& node = data_->node(node_);
  return node.kind == ValueKind::kInteger || node.kind == ValueKind::kReal ||
         (node.kind == ValueKind::kPlain && ParseReal(data_->text(node)).has_value());
}

bool Value::Bool() const {
  const Node& node = data_->node(node_);
  if (node.kind == ValueKind::kBool) return node.boolean;
  if (node.kind == ValueKind::kPlain && data_->text(node) == "true") return true;
  if (node.kind == ValueKind::kPlain && data_->text(node) == "false") return false;
  FailKind("true or false");
}

std::int64_t Value::Int(std::int64_t low, std::int64_t high) const {
  const Node& node = data_->node(node_);
  std::optional<std::int64_t> value;
  if (node.kind == ValueKind::kInteger) value = node.integer;
  if (node.kind == ValueKind::kReal && node.exact) value = static_cast<std::int64_t>(node.real);
  if (node.kind == ValueKind::kPlain) {
    const auto decimal = ParseDecimal(data_->text(node));
    if (decimal) value = ToExactInteger(*decimal);
  }
  if (value && *value >= low && *value <= high) return *value;
  if (low == std::numeric_limits<std::int64_t>::min() && high == std::numeric_limits<std::int64_t>::max()) {
    FailKind("a whole number");
  }
  FailKind(fmt::format("a whole number between {} and {}", low, high));
}

double Value::Number(double low, double high) const {
  const Node& node = data_->node(node_);
  std::optional<double> value;
  if (node.kind == ValueKind::kInteger) value = static_cast<double>(node.integer);
  if (node.kind == ValueKind::kReal) value = node.real;
  if (node.kind == ValueKind::kPlain) value = ParseReal(data_->text(node));
  if (value && *value >= low && *value <= high) return *value;
  if (low == std::numeric_limits<double>::lowest() && high == std::numeric_limits<double>::max()) {
    FailKind("a finite number");
  }
  FailKind(fmt::format("a number between {} and {}", low, high));
}

std::string_view Value::Text() const {
  const Node& node = data_->node(node_);
  if (node.kind != ValueKind::kString && node.kind != ValueKind::kPlain) FailKind("text");
  return data_->text(node);
}

std::string Value::Label() const {
  // Labels stand in line-based files and on terminals.
  if (HasControl(Text())) FailKind("text without control characters");
  return std::string(Text());
}

std::string Value::Name() const {
  if (Text().empty() || HasControl(Text())) FailKind("a name: not empty, without control characters");
  return std::string(Text());
}

std::size_t Value::Choice(std::span<const std::string_view> choices) const {
  const Node& node = data_->node(node_);
  if (node.kind == ValueKind::kString || node.kind == ValueKind::kPlain) {
    const auto found = std::find(choices.begin(), choices.end(), data_->text(node));
    if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  }
  FailKind((choices.size() > 1 ? "one of " : "") + JoinNames({choices.begin(), choices.end()}));
}

sim::Bytes Value::ByteCount() const {
  return WithUnit(*this, ParseBytes);
}
sim::Picos Value::Time() const {
  return WithUnit(*this, ParseTime);
}
std::int64_t Value::Bandwidth() const {
  return WithUnit(*this, ParseBandwidth);
}

sim::Attribute Value::Free() const {
  const Node& node = data_->node(node_);
  switch (node.kind) {
    case ValueKind::kNull:
      return {nullptr};
    case ValueKind::kBool:
      return {node.boolean};
    case ValueKind::kInteger:
      return {node.integer};
    case ValueKind::kReal:
      return {node.real};
    case ValueKind::kString:
    case ValueKind::kPlain:
      return {std::string(data_->text(node))};
    case ValueKind::kList: {
      sim::Attribute::List list;
      list.reserve(size());
      for (const Value item : items()) list.push_back(item.Free());
      return {std::move(list)};
    }
    case ValueKind::kObject: {
      sim::Attribute::Object object;
      object.reserve(size());
      for (const auto [key, member] : members()) object.emplace_back(key, member.Free());
      return {std::move(object)};
    }
  }
  return {};
}

std::size_t Value::size() const {
  if (!IsList() && !IsObject()) FailKind("a list or an object");
  return static_cast<std::size_t>(data_->node(node_).children);
}

Value::ItemRange Value::items() const {
  if (!IsList()) FailKind("a list");
  return {{data_, node_ + 1}, {data_, data_->node(node_).end}};
}

Value::MemberRange Value::members() const {
  if (!IsObject()) FailKind("an object");
  return {{data_, node_ + 1}, {data_, data_->node(node_).end}};
}

Value::ItemRange::Iterator& Value::ItemRange::Iterator::operator++() {
  node_ = data_->node(node_).end;
  return *this;
}
Value::MemberRange::Iterator& Value::MemberRange::Iterator::operator++() {
  node_ = data_->node(node_).end;
  return *this;
}
Value::MemberRange::Member Value::MemberRange::Iterator::operator*() const {
  return {data_->keys[data_->node(node_).key], {data_, node_}};
}

// ---- Fields -------------------------------------------------------------------------------------

Fields::Fields(Value object, std::span<const std::string_view> known)
    : object_(object), known_(known), node_{} {
  STOWPLAN_CHECK_LE(known.size(), kMaxKeys);
  for (const auto [key, member] : object.members()) {
    const auto found = std::find(known.begin(), known.end(), key);
    if (found == known.end()) {
      // YAML without a value: {title: Local search (300, seed=2)} ends the title at its comma.
      const bool cut = member.IsNull() && member.line() != 0;
      member.Fail("is not known here; the known keys are " + JoinNames({known.begin(), known.end()}) +
                  (cut ? "; a text with commas needs quotes around it" : ""));
    }
    node_[static_cast<std::size_t>(found - known.begin())] = member.node_;
  }
}

std::optional<Value> Fields::Find(std::string_view key) const {
  const auto found = std::find(known_.begin(), known_.end(), key);
  STOWPLAN_CHECK(found != known_.end());
  const std::uint32_t node = node_[static_cast<std::size_t>(found - known_.begin())];
  return node == 0 ? std::nullopt : std::optional(Value(object_.data_, node));
}

Value Fields::Require(std::string_view key) const {
  const auto value = Find(key);
  if (!value) object_.Fail(fmt::format("has no \"{}\", which is required", key));
  return *value;
}

bool Fields::Bool(std::string_view key, bool fallback) const {
  const auto value = Find(key);
  return value ? value->Bool() : fallback;
}
std::int64_t Fields::Int(std::string_view key, std::int64_t fallback, std::int64_t low,
                         std::int64_t high) const {
  const auto value = Find(key);
  return value ? value->Int(low, high) : fallback;
}
double Fields::Number(std::string_view key, double fallback, double low, double high) const {
  const auto value = Find(key);
  return value ? value->Number(low, high) : fallback;
}
std::string Fields::String(std::string_view key, std::string_view fallback) const {
  const auto value = Find(key);
  return value ? value->Label() : std::string(fallback);
}
std::string Fields::Name(std::string_view key, std::string_view fallback) const {
  const auto value = Find(key);
  return value ? value->Name() : std::string(fallback);
}

std::int64_t CheckFormat(const Document& document, std::string_view format, std::int64_t newest) {
  const Value root = document.root();
  if (!root.IsObject()) root.Fail(fmt::format("must be an object with \"format\": \"{}\"", format));
  std::optional<Value> written, version;
  for (const auto [key, member] : root.members()) {
    if (key == "format") written = member;
    if (key == "version") version = member;
  }
  if (!written) root.Fail(fmt::format("has no \"format\", which must be \"{}\"", format));
  if (written->Text() != format) {
    written->Fail(fmt::format("is {}, but must be \"{}\" here", Quoted(written->Text()), format));
  }
  if (!version) root.Fail(fmt::format("has no \"version\", which must be {}", newest));
  const std::int64_t number = version->Int();
  if (number < 1 || number > newest) {
    version->Fail(
        fmt::format("is {}, but this program knows {} only up to version {}", number, format, newest));
  }
  return number;
}

}  // namespace stowplan::formats
