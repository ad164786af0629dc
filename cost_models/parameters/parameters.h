// stowplan.cost_model files: fitted and measured numbers with where they come from. What `stowplan calibrate`
// writes, and what the models table, fitted and analytic read.
//
// Every number belongs to one machine, driver and library version. Numbers of two of them for one device kind
// are refused, never mixed: see CheckSameMachine().
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cost_models/cost_models.h"
#include "cost_models/ops/cpu_line.h"
#include "cost_models/ops/evidence.h"
#include "cost_models/parameters/ratio_tables.h"

namespace stowplan::cost_models {

// All but the last three are required, and none may be guessed: say "published" where a table of a paper was
// fitted.
struct Provenance {
  std::string machine;  // "NVIDIA H200, 2x Xeon …"
  std::string driver;   // "580.95.05"
  std::string library;  // framework and kernel libraries with versions
  std::string date;     // of the measurement, 2026-11-20
  std::string commit;   // of the stowplan that measured or fitted, as its --version prints it
  std::string command;  // that repeats it
  std::string
      source;  // who published the measurements, "sitar-lab/NeuSight@6945927"; empty: they are our own
  std::string licence;  // of those
};

struct FittedNumber {
  double value = 0;
  Evidence evidence;
};

// Measured against structural time of one class, increasing in both; see fitted.cpp.
struct RatioCurve {
  struct Knot {
    double structural_us = 0;
    double measured_us = 0;
  };
  OpClass op_class = OpClass::kElementwise;
  std::string dtype;        // of the op's output, "bf16"; empty = any
  std::vector<Knot> knots;  // at least 2; both coordinates positive, the first strictly increasing, the
                            // second not decreasing
  double low_ratio = 1;     // 5 % and 95 % quantile of measured / predicted on held-out samples
  double high_ratio = 1;
  Evidence evidence;
};

// rates[k-1]: the rate of each op while k run; the first is 1.
struct Concurrency {
  std::vector<double> rates;
  Evidence evidence;
};

struct KindParameters {
  std::string kind;
  Tf32Classes tf32;  // whose f32 ops were measured in TF32: what RooflineOptions::tf32 is for the curves
  std::map<OpClass, FittedNumber> efficiency;  // shares of the peak, as in efficiency.yaml
  std::optional<FittedNumber> dispatch_us;  // host time to issue one framework op, `dispatch: {cost: auto}`
  // Measured and reported; the simulator has no place for them (docs/calibration.md, "Limits").
  std::optional<FittedNumber> launch_to_start_us;  // start of the call to start of the kernel, device idle
  std::optional<FittedNumber> kernel_gap_us;  // between kernels of a full queue; every op's time holds one
  std::optional<FittedNumber> graph_node_us;  // one more node of a CUDA graph, an empty kernel included
  std::optional<Concurrency> concurrency;     // `concurrency: auto`
  std::optional<FittedNumber> overlap_copy;   // `overlap_copy: auto`
  std::string structural;           // StructuralFingerprint() the curves belong to; empty without curves
  std::vector<RatioCurve> curves;   // at most one for each class and dtype
  CpuLines cpu_lines;               // of a CPU; none of an accelerator
  std::string sheet;                // SheetFingerprint() the tables belong to; empty without tables
  std::vector<RatioTables> tables;  // at most one for each family and dtype
};

// A link kind that a cluster may name: the time of a lone copy, and what each direction keeps of its bandwidth
// while the other is busy.
struct LinkParameters {
  struct Knot {
    sim::Bytes bytes = 0;
    double us = 0;
  };
  std::string kind;            // "h200-pinned"; none of the catalogue's
  std::int64_t bandwidth = 0;  // [B/s] of large copies
  std::vector<Knot> knots;     // at least 2; bytes strictly increasing from 0, times not decreasing
  Evidence evidence;           // range in bytes
  std::optional<FittedNumber> both;
};

// One op as it was measured, dispatch excluded.
struct TableEntry {
  std::string kind;
  std::string signature;  // op_work.h
  double us = 0;          // median
  double low_us = 0;      // 5 % and 95 % quantile of the repeats
  double high_us = 0;
  std::int64_t samples = 0;
};

struct Parameters {
  std::string name;    // what reports call them
  std::string source;  // the file they came from; not written
  Provenance provenance;
  std::vector<KindParameters> kinds;
  std::vector<LinkParameters> links;
  std::vector<TableEntry> table;
  // Of all kinds that have tables together, for GPUs without. Their held-out errors are of GPUs left out.
  std::vector<RatioTables> any_gpu;

  const KindParameters* Find(const std::string& kind) const;  // null if absent
};

// Throws InputError: not well-formed, a kind that the catalogue does not have, numbers out of range, entries
// given twice, a missing provenance.
Parameters ReadParameters(const std::string& path, const Catalogue& catalogue);
Parameters ParseParameters(std::string_view json, const std::string& source, const Catalogue& catalogue);
std::string PrintParameters(const Parameters& parameters);  // reads back equal; one table entry a line
void WriteParameters(const std::string& path, const Parameters& parameters);

// Throws InputError naming both files if they speak of one device or link kind and come from different
// machines, drivers or libraries.
void CheckSameMachine(const Parameters& a, const Parameters& b);

// The catalogue with what the files measured in place of its own: dispatch cost, concurrency and overlap of
// device kinds, and the files' link kinds. For reading clusters; keeps a reference to `base`.
std::unique_ptr<sim::HardwareCatalogue> CalibratedCatalogue(
    std::vector<std::shared_ptr<const Parameters>> parameters, const Catalogue& base);

// A model whose answers rest on parameter files. A chain asks its members, and refuses files that must not be
// mixed.
class ParameterUser {
 public:
  virtual ~ParameterUser() = default;
  virtual std::vector<std::shared_ptr<const Parameters>> UsedParameters() const = 0;
};

// A model that can say what an op's price rests on. A chain asks its members.
class OriginTeller {
 public:
  virtual ~OriginTeller() = default;
  virtual std::string OriginOf(const sim::OpGraph& graph, sim::OpIndex op,
                               const sim::Device& device) const = 0;
};

// The files that a cost model's answers rest on; those of a chain in its order.
std::vector<std::shared_ptr<const Parameters>> ParametersOf(const sim::CostModel& model);

// The prices of real GPUs that ship with stowplan (compiled in from cost_models/data/prices, a file a source): the kinds that
// were measured, and the prices of one of them, or under "" those of any other GPU, of each file that has them. Read at the
// first use; any thread.
std::vector<std::string> ShippedKinds();
std::vector<const Parameters*> ShippedPrices(const std::string& kind);

// What an op's price rests on, in a few words: "measured by others on t4 (…): gemm of f32, error 10 %". Empty where the
// model has no more to say than the price's tier.
std::string PriceOrigin(const sim::CostModel& model, const sim::OpGraph& graph, sim::OpIndex op,
                        const sim::Device& device);

// Names the structural model that ratio curves of a kind were made for: all rates and efficiencies that price
// the kind, in 16 hexadecimal digits. Changes when any of them does.
std::string StructuralFingerprint(const Catalogue& catalogue, const std::string& kind);

// The same for tables by shape: the rates of the data sheet that bound and features are made of.
std::string SheetFingerprint(const DeviceSheet& sheet);

}  // namespace stowplan::cost_models
