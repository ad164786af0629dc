#include "profiler/traces/activity_text.h"

#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "profiler/traces/record_fields.h"
#include "sim/formats/document/json_text.h"

namespace stowplan::profiler {
namespace {

using formats::Fields;
using formats::Value;

// Far from where sums and differences of two values could leave 64 bits.
constexpr std::int64_t kFarthest = std::int64_t{1} << 61;

// ---- reading ----------------------------------------------------------------------------------------------

template <typename Record>
std::vector<std::string_view> KeysOf() {
  std::vector<std::string_view> keys;
  Record record;
  VisitFields(record, [&](std::string_view key, auto&&...) { keys.push_back(key); });
  return keys;
}

// Takes the fields that are there; the others keep their defaults.
class FieldReader {
 public:
  explicit FieldReader(const Fields& fields) : fields_(fields) {}

  void operator()(std::string_view key, std::int64_t& member) const {
    member = fields_.Int(key, member, -kFarthest, kFarthest);
  }
  void operator()(std::string_view key, std::int32_t& member) const {
    member = static_cast<std::int32_t>(fields_.Int(key, member, INT32_MIN, INT32_MAX));
  }
  // Names are the recorded program's and may hold anything.
  void operator()(std::string_view key, std::string& member) const {
    if (const auto value = fields_.Find(key)) member = value->Text();
  }
  void operator()(std::string_view key, std::array<std::int32_t, 3>& member) const {
    const auto value = fields_.Find(key);
    if (!value) return;
    std::size_t index = 0;
    if (!value->IsList() || value->size() != member.size()) value->Fail("must be a list of three numbers");
    for (const Value item : value->items()) {
      member[index++] = static_cast<std::int32_t>(item.Int(0, INT32_MAX));
    }
  }
  void operator()(std::string_view key, sim::Attributes& member) const {
    const auto value = fields_.Find(key);
    if (!value) return;
    if (!value->IsObject()) value->Fail("must be an object");
    member = std::get<sim::Attributes>(value->Free().value);
  }
  template <typename Enum>
  void operator()(std::string_view key, Enum& member, std::span<const std::string_view> names) const {
    if (const auto value = fields_.Find(key)) member = static_cast<Enum>(value->Choice(names));
  }

 private:
  const Fields& fields_;
};

template <typename Record>
void ReadRecords(const Fields& top, std::string_view key, std::vector<Record>& records) {
  static const std::vector<std::string_view> keys = KeysOf<Record>();
  const auto list = top.Find(key);
  if (!list) return;
  records.reserve(list->size());
  for (const Value item : list->items()) {
    const Fields fields(item, keys);
    VisitFields(records.emplace_back(), FieldReader(fields));
  }
}

// ---- printing ---------------------------------------------------------------------------------------------

// Prints the members of a record that differ from those of a fresh one.
class FieldPrinter {
 public:
  explicit FieldPrinter(std::string& out) : out_(out) {}

  template <typename Record>
  void Print(const Record& record) {
    Record shown = record;
    Record fresh;
    std::vector<const void*> defaults;
    VisitFields(fresh, [&](std::string_view, auto& member, auto&&...) { defaults.push_back(&member); });
    std::size_t field = 0;
    out_ += '{';
    const char* separator = "";
    VisitFields(shown, [&](std::string_view key, auto& member, auto&&... names) {
      using Member = std::remove_reference_t<decltype(member)>;
      if (member == *static_cast<const Member*>(defaults[field++])) return;
      out_.append(std::exchange(separator, ", ")).append("\"").append(key).append("\": ");
      Append(member, names...);
    });
    out_ += '}';
  }

 private:
  void Append(std::int64_t value) { out_ += std::to_string(value); }
  void Append(const std::string& value) { formats::AppendJsonString(out_, value); }
  void Append(const std::array<std::int32_t, 3>& value) {
    out_ += "[" + std::to_string(value[0]) + ", " + std::to_string(value[1]) + ", " +
            std::to_string(value[2]) + "]";
  }
  void Append(const sim::Attributes& value) { formats::AppendJsonAttributes(out_, value); }
  template <typename Enum>
  void Append(Enum value, std::span<const std::string_view> names) {
    formats::AppendJsonString(out_, names[static_cast<std::size_t>(value)]);
  }

  std::string& out_;
};

}  // namespace

ActivityTrace ReadActivity(Value value) {
  ActivityTrace trace;
  std::vector<std::string_view> keys = {"base_ns", "buffers", "lost_records", "cut_records", "refused"};
  VisitLists(trace, [&](std::string_view key, auto&) { keys.push_back(key); });
  const Fields top(value, keys);
  trace.base_ns = top.Int("base_ns", 0, 0, kFarthest);
  trace.buffers = top.Int("buffers", 0, 0, kFarthest);
  trace.lost_records = top.Int("lost_records", 0, 0, kFarthest);
  trace.cut_records = top.Int("cut_records", 0, 0, kFarthest);
  if (const auto refused = top.Find("refused")) {
    for (const Value item : refused->items()) trace.refused.emplace_back(item.Text());
  }
  VisitLists(trace, [&](std::string_view key, auto& records) { ReadRecords(top, key, records); });
  return trace;
}

void AppendActivity(std::string& out, const ActivityTrace& trace) {
  out += "{\"base_ns\": " + std::to_string(trace.base_ns) +
         ", \"buffers\": " + std::to_string(trace.buffers) +
         ", \"lost_records\": " + std::to_string(trace.lost_records) +
         ", \"cut_records\": " + std::to_string(trace.cut_records);
  if (!trace.refused.empty()) {
    out += ", \"refused\": ";
    sim::Attribute::List list;
    for (const std::string& kind : trace.refused) list.push_back({kind});
    formats::AppendJsonAttribute(out, {list});
  }
  FieldPrinter printer(out);
  VisitLists(trace, [&](std::string_view key, const auto& records) {
    if (records.empty()) return;
    out.append(",\n    \"").append(key).append("\": [");
    const char* separator = "\n     ";
    for (const auto& record : records) {
      out += std::exchange(separator, ",\n     ");
      printer.Print(record);
    }
    out += ']';
  });
  out += '}';
}

}  // namespace stowplan::profiler
