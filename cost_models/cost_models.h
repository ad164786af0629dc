// From measurement to prediction: how long an op takes. The table of cost models is in
// registry.cpp; docs/calibration.md explains models, classes, tiers and where each number comes from.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/settings.h"
#include "sim/cost_model.h"
#include "sim/hardware.h"

namespace stowplan::cost_models {

// What an op is bound by and how well its kernels use the machine: ops of one class share an efficiency.
enum class OpClass : std::uint8_t {
  kConvolution,
  kDilatedConvolution,
  kDepthwise,
  kGemm,
  kRecurrentGemm,
  kElementwise,
  kReduction,
  kNormalisation,
  kDataMovement,
  kOptimizer,
  kNothing,  // views, identities, synchronisation: no work of their own
};
inline constexpr int kOpClasses = static_cast<int>(OpClass::kNothing);  // classes with an efficiency
const char* ToString(OpClass op_class);                                 // "recurrent_gemm"
std::optional<OpClass> OpClassNamed(std::string_view name);             // not kNothing; empty if unknown

// Bound by arithmetic; the others move bytes.
bool IsContraction(OpClass op_class);

// Of contractions, by OpClass: those whose f32 ops run on TF32 units. Frameworks and our own executor run convolutions
// so and products not.
using Tf32Classes = std::bitset<kOpClasses>;
Tf32Classes AllContractions();
Tf32Classes Convolutions();  // dilated and depthwise ones, too

// By op type, refined by the attributes "recurrent" (true: a GEMM of a recurrent cell) and "dilations" (above
// 1: a dilated convolution). Unknown types are GEMMs where they have flops, else views where all their
// outputs are views, else element-wise.
OpClass ClassOf(const sim::Op& op);

// Every type that ClassOf knows, sorted by name within each class; for docs and tests.
std::vector<std::string> TypesOf(OpClass op_class);

// ---- the hardware catalogue -------------------------------------------------------------------------------

// One number of the catalogue as it stands in cost_models/data/*.yaml.
struct SourcedNumber {
  std::string key;     // "peak_f32"
  std::string value;   // "4.29TFLOP/s"
  std::string source;  // "data sheet: Tesla K40, …"
};

// One device kind: what the data sheet says and what is assumed. Rates of 0 are not known.
struct DeviceSheet {
  sim::DeviceKind kind;
  std::string description;
  double peak_f32 = 0;          // [FLOP/s]
  double peak_tf32 = 0;         // 0 = the device has none
  double peak_f16 = 0;          // dense; tensor cores where the kind has them
  double peak_bf16 = 0;         // where it differs from peak_f16: older cards compute bf16 in f32
  double peak_f8 = 0;           // 0 = no units for it: computed as f16
  double peak_f4 = 0;           // 0 = as f8
  double peak_i8 = 0;           // 0 = as f16
  double peak_f64 = 0;          // without tensor cores
  double memory_bandwidth = 0;  // [B/s]
  double core_bandwidth = 0;    // [B/s] of one CPU core alone
  double last_cache = 0;        // [B] shared by all multiprocessors (L2 of NVIDIA); 0 = not told
  int multiprocessors = 0;      // accelerators whose kernels run in waves; else 0
  int cores = 0;                // CPUs; else 0
  double kernel_us = 0;         // least time of an op [us]
  double ramp_us = 0;           // how long a kernel must last to reach half of its class's efficiency [us]
  std::string chip;             // "GA100"; kinds of one chip share what one of them measured. Empty: not told
  bool has_hbm = false;         // else GDDR, which reaches more of its sheet's bandwidth
  std::vector<std::string> prices_from;  // kinds whose measured prices stand for it where its chip has none
  bool structural = false;               // priced by this sheet alone, though others measured such a board
  std::vector<SourcedNumber> numbers;

  bool HasRates() const { return peak_f32 > 0 && memory_bandwidth > 0; }
};

// What kind of link it is. Links of a network join hosts, all others are within one.
enum class Fabric : std::uint8_t { kNvlink, kPcie, kSocket, kNetwork };

struct LinkSheet {
  sim::LinkKind kind;
  std::string description;
  std::optional<Fabric> fabric;  // empty: not told
  double line_rate = 0;          // [B/s] each way of a network's line; 0 = not told
  std::vector<SourcedNumber> numbers;
};

// A tile of output elements that one multiprocessor computes at a time.
struct Tile {
  int rows = 0;
  int columns = 0;
  double share = 1;  // of the class's efficiency
};

// Read-only; any thread. Pointers and references live as long as the catalogue.
class Catalogue : public sim::HardwareCatalogue {
 public:
  virtual const DeviceSheet* FindSheet(const std::string& kind) const = 0;  // null if absent
  virtual const LinkSheet* FindLinkSheet(const std::string& kind) const = 0;
  // Share of the peak that a class reaches at large sizes, before calibration; 1 for kNothing.
  virtual double Efficiency(OpClass op_class, sim::DeviceClass device_class) const = 0;
  virtual const std::vector<Tile>& Tiles() const = 0;
};

// The catalogue that ships with stowplan (compiled in from cost_models/data/*.yaml). Loaded once, thread-safe.
const Catalogue& BuiltinCatalogue();

// A catalogue of other files in the same formats. `source` is what messages call them. Throws InputError for
// what is not well-formed, for a number without a source, and for a kind given twice.
struct CatalogueText {
  std::string_view devices;     // stowplan.devices
  std::string_view links;       // stowplan.links
  std::string_view efficiency;  // stowplan.efficiency
};
std::unique_ptr<Catalogue> ParseCatalogue(const CatalogueText& text, const std::string& source);

// `base` with the device kinds of more files: of a stowplan.devices, or those that a stowplan.cluster describes under
// `kinds` in the same words. Keeps a reference to `base`. Throws InputError as ParseCatalogue(), and for a kind that
// is there already.
struct SheetText {
  std::string yaml;
  std::string source;       // what messages call it
  bool is_cluster = false;  // must be a stowplan.cluster; else either
};
std::unique_ptr<Catalogue> CatalogueWith(const Catalogue& base, const std::vector<SheetText>& more);

// ---- cost models ------------------------------------------------------------------------------------------

struct CostModelRow {
  const char* name;
  const char* what;  // one line: what it models and how realistic it is
  SettingTable settings;
  std::unique_ptr<sim::CostModel> (*make)(const Spec& spec, const Catalogue& catalogue);
};
const std::vector<CostModelRow>& CostModels();

// From a spec ("analytic", "chain(table(file=t.json),analytic)") or the path of a stowplan.cost_model parameter
// file, which stands for chain(table(file=…),fitted(file=…),analytic(file=…)). Empty = the default chain. The
// model keeps a reference to the catalogue. Throws InputError for unknown names and parameters.
std::unique_ptr<sim::CostModel> MakeCostModel(const std::string& spec,
                                              const Catalogue& catalogue = BuiltinCatalogue());

}  // namespace stowplan::cost_models
