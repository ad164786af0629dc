#include "cost_models/parameters/parameters.h"

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>

#include "cost_models/embedded_data.h"
#include "cost_models/ops/roofline.h"
#include "sim/base/error.h"
#include "sim/base/fnv.h"
#include "sim/formats/document/compression.h"

namespace stowplan::cost_models {

const KindParameters* Parameters::Find(const std::string& kind) const {
  const auto found = std::ranges::find(kinds, kind, &KindParameters::kind);
  return found != kinds.end() ? &*found : nullptr;
}

void CheckSameMachine(const Parameters& a, const Parameters& b) {
  const auto kinds_of = [](const Parameters& parameters) {
    std::set<std::string> kinds;
    for (const KindParameters& kind : parameters.kinds) kinds.insert(kind.kind);
    for (const LinkParameters& link : parameters.links) kinds.insert(link.kind);
    for (const TableEntry& entry : parameters.table) kinds.insert(entry.kind);
    return kinds;
  };
  const std::set<std::string> left_kinds = kinds_of(a), right_kinds = kinds_of(b);
  const auto both =
      std::ranges::find_if(left_kinds, [&](const std::string& kind) { return right_kinds.contains(kind); });
  if (both == left_kinds.end()) return;
  const auto compare = [&](const char* what, const std::string& left, const std::string& right) {
    if (left == right) return;
    throw InputError(
        fmt::format("{} and {} both have numbers for '{}', but were measured with different {} ('{}' and "
                    "'{}'); numbers of two "
                    "machines are not mixed: use one of the files, or calibrate again",
                    a.source, b.source, *both, what, left, right));
  };
  compare("machines", a.provenance.machine, b.provenance.machine);
  compare("drivers", a.provenance.driver, b.provenance.driver);
  compare("libraries", a.provenance.library, b.provenance.library);
}

std::vector<std::shared_ptr<const Parameters>> ParametersOf(const sim::CostModel& model) {
  const auto* user = dynamic_cast<const ParameterUser*>(&model);
  return user != nullptr ? user->UsedParameters() : std::vector<std::shared_ptr<const Parameters>>();
}

namespace {

// The entry of a line of the shipped file, an object; empty where the line begins otherwise. PrintParameters() gives each
// kind, and each table of any GPU, a line of its own.
std::string_view EntryOf(std::string_view line, std::string_view begins) {
  constexpr std::size_t kIndent = 2;
  return line.substr(std::min(kIndent, line.size())).starts_with(begins)
             ? line.substr(kIndent, line.rfind('}') + 1 - kIndent)
             : std::string_view();
}

// A shipped file cut into its kinds, since reading all of it takes longer than most simulations.
class Shipped {
 public:
  explicit Shipped(const EmbeddedFile& file) : name_(file.name) {
    constexpr std::string_view kKind = R"({"kind":")", kTable = R"({"family":")";
    std::string any;
    const std::string json = formats::Decompressed(std::string(file.bytes), file.name);
    std::string_view rest = json;
    for (std::size_t end = 0; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
      const std::string_view line = rest.substr(0, end);
      if (const auto kind = EntryOf(line, kKind); !kind.empty()) {
        parts_[std::string(kind.substr(kKind.size(), kind.find('"', kKind.size()) - kKind.size()))].entries =
            kind;
      } else if (const auto table = EntryOf(line, kTable); !table.empty()) {
        any.append(any.empty() ? "" : ",").append(table);
      } else if (parts_.empty() && !line.ends_with('[')) {
        head_.append(line);
      }
    }
    if (!any.empty()) parts_[""].entries = std::move(any);
  }

  std::vector<std::string> Kinds() const {
    std::vector<std::string> kinds;
    for (const auto& [kind, part] : parts_)
      if (!kind.empty()) kinds.push_back(kind);
    return kinds;
  }
  // Null where the file has none of this kind.
  const Parameters* Of(const std::string& kind) {
    const auto found = parts_.find(kind);
    if (found == parts_.end()) return nullptr;
    Part& part = found->second;
    std::call_once(part.once, [&] {
      const char* const list = kind.empty() ? R"("any_gpu": [)" : R"("kinds": [)";
      part.parameters = ParseParameters(head_ + list + part.entries + "]}", name_, BuiltinCatalogue());
    });
    return &part.parameters;
  }

 private:
  struct Part {
    std::string entries;
    std::once_flag once;
    Parameters parameters;
  };
  std::string name_;
  std::string head_;                   // what stands in front of the list of kinds
  std::map<std::string, Part> parts_;  // that of any GPU under ""
};

std::list<Shipped>& ShippedFiles() {
  static std::list<Shipped> files = [] {
    std::list<Shipped> made;
    for (const EmbeddedFile& file : EmbeddedPrices()) made.emplace_back(file);
    return made;
  }();
  return files;
}

}  // namespace

std::vector<std::string> ShippedKinds() {
  std::set<std::string> kinds;
  for (const Shipped& file : ShippedFiles())
    for (const std::string& kind : file.Kinds()) kinds.insert(kind);
  return {kinds.begin(), kinds.end()};
}

std::vector<const Parameters*> ShippedPrices(const std::string& kind) {
  std::vector<const Parameters*> found;
  for (Shipped& file : ShippedFiles())
    if (const Parameters* one = file.Of(kind)) found.push_back(one);
  return found;
}

std::string PriceOrigin(const sim::CostModel& model, const sim::OpGraph& graph, sim::OpIndex op,
                        const sim::Device& device) {
  const auto* teller = dynamic_cast<const OriginTeller*>(&model);
  return teller != nullptr ? teller->OriginOf(graph, op, device) : "";
}

namespace {

std::string Hexadecimal(const std::string& text) {
  return fmt::format("{:016x}", Fnv1a(text));
}

}  // namespace

std::string SheetFingerprint(const DeviceSheet& sheet) {
  return Hexadecimal(fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", sheet.peak_f32, sheet.peak_f16,
                                 sheet.peak_f64, sheet.memory_bandwidth, sheet.multiprocessors,
                                 sheet.kernel_us, sheet.peak_tf32, sheet.peak_bf16, sheet.peak_f8,
                                 sheet.peak_f4, sheet.peak_i8, sheet.last_cache));
}

std::string StructuralFingerprint(const Catalogue& catalogue, const std::string& kind) {
  const DeviceSheet* sheet = catalogue.FindSheet(kind);
  STOWPLAN_CHECK(sheet != nullptr);
  std::string text =
      fmt::format("{} {} {} {} {} {} {} {} {} {}", sheet->peak_f32, sheet->peak_tf32, sheet->peak_f16,
                  sheet->peak_f64, sheet->memory_bandwidth, sheet->core_bandwidth, sheet->multiprocessors,
                  sheet->cores, sheet->kernel_us, sheet->ramp_us);
  if (sheet->peak_bf16 > 0) text += fmt::format(" {}", sheet->peak_bf16);
  for (const double share : DefaultEfficiency(catalogue, sheet->kind.device_class))
    text += fmt::format(" {}", share);
  for (const Tile& tile : catalogue.Tiles())
    text += fmt::format(" {} {} {}", tile.rows, tile.columns, tile.share);
  return Hexadecimal(text);
}

}  // namespace stowplan::cost_models
