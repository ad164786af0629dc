#include "cost_models/models/shape_prices.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "cost_models/ops/portable_math.h"
#include "cost_models/ops/roofline.h"

namespace stowplan::cost_models {
namespace {

// Queries of all heads that share a key: up to the first, decoding; from the second on (queries of a sequence), a prompt.
constexpr double kPackedOfDecode = 64;
constexpr double kQueriesOfPrompt = 512;

bool MovesBytes(std::string_view family) {
  return family == "elementwise" || family == "softmax" || family == "layer_norm";
}

// The format itself, then those whose tables stand for it.
std::vector<std::string_view> FormatsFor(std::string_view format, std::string_view family) {
  if (format == "f16")
    return MovesBytes(family) ? std::vector{format, std::string_view("bf16"), std::string_view("f32")}
                              : std::vector{format, std::string_view("bf16")};
  if (format == "bf16")
    return MovesBytes(family) ? std::vector{format, std::string_view("f16"), std::string_view("f32")}
                              : std::vector{format, std::string_view("f16")};
  if (format == "tf32") return {format, "bf16", "f16"};
  if (format == "f8_block") return {format, "f8"};
  if (format == "i8") return {format, "f8"};
  return {format};
}

// Cards without units for bf16 compute it as f32, which no table of bf16 says.
bool HasUnitsFor(const DeviceSheet& sheet, std::string_view format) {
  return !format.starts_with("bf16") || sheet.peak_bf16 == 0 || sheet.peak_bf16 >= sheet.peak_f16;
}

// What is known of another device of the same chip.
double Moved(const RatioTables& tables, const OpWork& work, const DeviceSheet& measured,
             const DeviceSheet& own) {
  const double bound = BoundMicros(tables, work, own);
  return std::max(bound, TablesMicros(tables, work, measured) + bound - BoundMicros(tables, work, measured));
}

// 0: decoding, 1: a prompt; in the logarithm of the queries between.
double ShareOfPrompt(const AttentionShape& of) {
  const double decode = std::max(1.0, kPackedOfDecode * of.key_heads / of.heads);
  if (of.queries >= std::min(kQueriesOfPrompt, of.keys))
    return of.queries * of.heads > kPackedOfDecode * of.key_heads ? 1 : 0;
  return std::clamp(PortableLog(of.queries / decode) / PortableLog(kQueriesOfPrompt / decode), 0.0, 1.0);
}

std::string_view FamilyOf(const AttentionShape& of) {
  return ShareOfPrompt(of) > 0 ? "attention" : "decode";
}

OpWork ForwardOf(const OpWork& gradient) {
  OpWork work = gradient;
  work.type = "Attention";
  work.flops = work.attention->Flops();
  work.elements = work.attention->ElementsOfQueries() / 2;
  work.bytes = work.flops > 0 ? 2 * (work.attention->ElementsOfQueries() + work.attention->ElementsOfKeys())
                              : work.bytes;
  return work;
}

// Rows of experts are of a layer, three products of which graphs hold one each, up from the model's width or down to it. The
// width is the longer side, but where that is longer than any model is wide.
OpWork LayerOf(const OpWork& product) {
  constexpr double kProducts = 3, kWidest = 8192;
  OpWork layer = product;
  const auto [less, more] = std::minmax(product.product->depth, product.product->columns);
  layer.product->depth = more <= kWidest ? more : less;
  layer.product->columns = kProducts * (more <= kWidest ? less : more);
  layer.flops *= kProducts;
  layer.bytes *= kProducts;
  return layer;
}

// What tables are asked for an op, and how many of that it takes.
struct Asked {
  OpWork work;
  double factor = 1;
};
Asked AskedFor(const OpWork& work) {
  if (work.attention && work.type != "Attention")
    return {ForwardOf(work), std::min(3.6, 2.8 + 400 / work.attention->keys)};
  if (work.experts && work.product) return {LayerOf(work), 1.0 / 3};
  return {work, 1};
}

}  // namespace

ShapePrices::ShapePrices(const Catalogue& catalogue, std::shared_ptr<const Parameters> parameters)
    : catalogue_(catalogue), parameters_(std::move(parameters)) {}

void ShapePrices::Add(const std::string& kind, Whose whose, std::vector<Source>* sources) const {
  const auto take = [&](const Parameters& from) {
    if (whose == Whose::kAll) {
      if (!from.any_gpu.empty()) sources->push_back({whose, nullptr, &from.any_gpu, &from});
    } else if (const KindParameters* found = from.Find(kind); found != nullptr && !found->tables.empty()) {
      sources->push_back({whose, catalogue_.FindSheet(kind), &found->tables, &from});
    }
  };
  if (parameters_ != nullptr) {
    take(*parameters_);
  } else {
    for (const Parameters* one : ShippedPrices(kind)) take(*one);
  }
}

const std::vector<ShapePrices::Source>& ShapePrices::SourcesOf(const std::string& kind) const {
  const std::lock_guard lock(mutex_);
  const auto [found, fresh] = sources_.try_emplace(kind);
  if (!fresh) return found->second;
  std::vector<Source>* sources = &found->second;
  const DeviceSheet* sheet = catalogue_.FindSheet(kind);
  if (sheet == nullptr || !sheet->HasRates() || sheet->multiprocessors == 0) return *sources;
  if (parameters_ == nullptr && sheet->structural) return *sources;
  Add(kind, Whose::kOwn, sources);
  for (const std::string& other : catalogue_.DeviceNames())
    if (other != kind && !sheet->chip.empty() && catalogue_.FindSheet(other)->chip == sheet->chip)
      Add(other, Whose::kChip, sources);
  for (const std::string& other : sheet->prices_from)
    if (catalogue_.FindSheet(other) != nullptr) Add(other, Whose::kNamed, sources);
  // A file of the user's own that has curves of the kind says more of it than tables of other GPUs.
  const bool has_own = parameters_ != nullptr && parameters_->Find(kind) != nullptr;
  if (!has_own || !sources->empty()) Add("", Whose::kAll, sources);
  return *sources;
}

bool ShapePrices::Serve(const std::string& kind) const {
  return !SourcesOf(kind).empty();
}

std::optional<ShapePrices::Found> ShapePrices::Find(const OpWork& work, std::string_view family,
                                                    const DeviceSheet& sheet) const {
  const std::string_view format = TableFormatOf(work, sheet);
  if (!HasUnitsFor(sheet, format)) return std::nullopt;
  const std::vector<std::string_view> formats = FormatsFor(format, family);
  const std::vector<Source>& sources = SourcesOf(sheet.kind.name);
  for (const bool near : {true, false}) {
    for (const std::string_view one : formats) {
      for (const Source& source : sources) {
        if ((source.whose <= Whose::kChip) != near) continue;
        if (source.whose == Whose::kAll && one == "tf32")
          continue;  // rows of cards without say nothing of them
        if (const RatioTables* tables = FindTables(*source.tables, family, one))
          return Found{&source, tables};
      }
    }
  }
  return std::nullopt;
}

std::optional<double> ShapePrices::Micros(const OpWork& given, std::string_view family,
                                          const DeviceSheet& sheet) const {
  const auto found = Find(given, family, sheet);
  if (!found) return std::nullopt;
  const OpWork work = parameters_ == nullptr ? PaddedToVectors(given) : given;
  const double us = found->source->whose == Whose::kChip
                        ? Moved(*found->tables, work, *found->source->sheet, sheet)
                        : TablesMicros(*found->tables, work, sheet);
  return std::max(
      {us, ColdMicros(work, sheet), IsUnaligned(given, sheet) ? UnalignedMicros(given, sheet) : 0});
}

std::optional<sim::Price> ShapePrices::Price(const OpWork& given, const sim::Device& device,
                                             bool near) const {
  const DeviceSheet* sheet = catalogue_.FindSheet(device.kind);
  const ShapeFamily family = ShapeFamilyOf(given);
  if (sheet == nullptr || family.family == nullptr || !Serve(device.kind)) return std::nullopt;
  const auto [work, factor] = AskedFor(given);
  const std::string_view name = work.attention ? FamilyOf(*work.attention) : family.name();
  const auto found = Find(work, name, *sheet);
  if (!found || (near && !IsNear(*found, work, family.borrowed))) return std::nullopt;
  auto us = Micros(work, name, *sheet);
  if (work.attention) {
    const double share = ShareOfPrompt(*work.attention);
    const auto decode = Micros(work, "decode", *sheet);
    if (share < 1 && decode) us = PortableExp((1 - share) * PortableLog(*decode) + share * PortableLog(*us));
    *us *= 1 + share * (SlownessOf(work.attention->kernel, sheet->chip) - 1);
  }
  *us *= factor;
  const double size = IsContraction(work.op_class) ? work.flops : work.bytes;
  const auto& range = found->tables->evidence.range;
  const bool inside = range && size >= range->first && size <= range->second;
  const bool exact =
      found->source->whose == Whose::kOwn && found->tables->dtype == TableFormatOf(work, *sheet);
  const bool measured = exact && inside && !family.borrowed && !IsUnaligned(given, *sheet);
  return sim::Price{*us, measured ? sim::Tier::kInterpolated : sim::Tier::kStructural,
                    *us * found->tables->low_ratio, *us * found->tables->high_ratio};
}

std::string ShapePrices::OriginOf(const OpWork& work, const sim::Device& device, bool near) const {
  const DeviceSheet* sheet = catalogue_.FindSheet(device.kind);
  const ShapeFamily family = ShapeFamilyOf(work);
  if (sheet == nullptr || family.family == nullptr || !Serve(device.kind)) return {};
  const auto found = Find(work, work.attention ? FamilyOf(*work.attention) : family.name(), *sheet);
  if (!found || (near && !IsNear(*found, work, family.borrowed))) return {};
  const Source& source = *found->source;
  const Provenance& from = source.from->provenance;
  std::vector<std::string> all;
  for (const KindParameters& kind : source.from->kinds) all.push_back(kind.kind);
  const std::string kind = source.sheet != nullptr  ? source.sheet->kind.name
                           : parameters_ != nullptr ? JoinNames(all)
                                                    : from.machine;
  static constexpr const char* kWhose[] = {"", ", the same chip", ", a card like it", ""};
  const bool derived = found->tables->dtype != TableFormatOf(work, *sheet) || IsUnaligned(work, *sheet);
  std::string error = family.borrowed ? "borrowed from ops like it, error not known"
                      : derived ? fmt::format("derived for {}, error not known", TableFormatOf(work, *sheet))
                                : fmt::format("error {:.0f} %", 100 * found->tables->held_out_error);
  if (!family.borrowed && !derived && (source.whose == Whose::kChip || source.whose == Whose::kNamed))
    error += " there";
  return fmt::format("{} {}{}{} ({}, {}): {} of {}, {}",
                     from.source.empty() ? "measured on" : "measured by others on",
                     source.whose == Whose::kAll ? "other GPUs: " : "", kind,
                     kWhose[static_cast<int>(source.whose)], from.source.empty() ? from.machine : from.source,
                     from.date, found->tables->family, found->tables->dtype, error);
}

}  // namespace stowplan::cost_models
