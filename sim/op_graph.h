// The computation graph of one training step or inference: what is placed (stowplan.graph).
//
// Plain data, checked once by Finish(); afterwards read-only and safe to share between threads. Op order is
// file order everywhere and ops may stand in any order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/units.h"

namespace stowplan::sim {

using OpIndex = std::int32_t;
using DeviceIndex = std::int32_t;

// One output of one op.
struct TensorRef {
  OpIndex op = -1;
  std::int32_t output = 0;
  friend auto operator<=>(const TensorRef&, const TensorRef&) = default;
};

// Free-form JSON value of `attributes`; objects keep their key order.
struct Attribute {
  using List = std::vector<Attribute>;
  using Object = std::vector<std::pair<std::string, Attribute>>;
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, List, Object> value = nullptr;
  bool operator==(const Attribute&) const = default;
};
using Attributes = Attribute::Object;

// Null if absent. Numbers: FindNumber takes integers and reals.
const Attribute* FindAttribute(const Attributes& attributes, const std::string& key);
std::optional<double> FindNumber(const Attributes& attributes, const std::string& key);
std::optional<bool> FindBool(const Attributes& attributes, const std::string& key);
std::optional<std::string> FindString(const Attributes& attributes, const std::string& key);

// "conv0:1": a text that reads as an output, so no name of an op.
bool EndsLikeAnOutput(const std::string& text);

struct Output {
  // Whose storage the output shares: its own, one of the op's inputs (a view), or the op's persistent bytes.
  enum class Storage : std::uint8_t { kOwn, kInput, kPersistent };

  Bytes bytes = 0;                  // of the tensor; what a transfer moves, whoever owns the storage
  std::string dtype;                // "f32", "i64", …; empty = not known
  std::vector<std::int64_t> shape;  // empty with an empty dtype = not known
  Storage storage = Storage::kOwn;
  TensorRef alias;  // for kInput: the input whose storage it shares
};

struct Op {
  std::string name;
  std::string type;
  std::vector<TensorRef> inputs;  // as written: doubled inputs are kept
  std::vector<OpIndex> control;   // dependencies without data
  std::vector<Output> outputs;
  Bytes persistent_bytes = 0;      // live for the whole run on the op's device
  Bytes workspace_bytes = 0;       // live while it runs
  double flops = 0;                // 2 x multiply-adds of contractions
  std::int32_t framework_ops = 1;  // ops of a framework's graph that this op stands for
  // What dispatch charges in place of framework_ops, where a host's table says it (cost_models/ops/host_costs.h); in no file.
  std::optional<std::int32_t> host_units;
  std::string colocate;  // ops of one non-empty value must share a device
  // Ops of one number from 0 on are the members of one collective, by rank (collectives.h, docs/model.md section 11).
  std::int32_t collective = -1;
  std::string group;  // hint for groupers
  std::string phase;  // "forward", "backward", "update" or empty
  // Measured time alone on the device, dispatch excluded [us]: by device kind or class, or one number for
  // all.
  std::optional<double> cost_us;
  std::vector<std::pair<std::string, double>> cost_us_by_kind;
  Attributes attributes;

  // Variables, constants and placeholders: they pay no dispatch and, unless measured, take no time.
  bool IsSource() const;
  // Whether the host goes on only when it has ended, as behind a blocking copy or a synchronisation: its attribute `host_waits`.
  bool HostWaits() const { return FindBool(attributes, "host_waits").value_or(false); }
  // How many times the cluster's cost of dispatch is paid for it.
  std::int32_t DispatchUnits() const { return IsSource() ? 0 : host_units.value_or(framework_ops); }
  // Of the sources the variables: weights, with what else lives as long.
  bool IsVariable() const { return IsSource() && persistent_bytes > 0; }
};

class OpGraph {
 public:
  std::string name;
  Attributes attributes;
  std::vector<Op> ops;

  // Refuses everything that can be seen here to be wrong (no ops, duplicate or illegal names, dangling
  // references, cycles, negative, non-finite or huge numbers, aliases of what is no input) and derives what
  // the getters below return. Throws InputError that names the op. Must be called once after the ops are
  // filled in; ops must not be changed afterwards.
  void Finish();

  OpIndex size() const { return static_cast<OpIndex>(ops.size()); }
  std::int64_t edges() const { return edges_; }  // distinct (producer output or control, consumer) pairs

  // -1 if absent.
  OpIndex Find(const std::string& op_name) const;

  // Kahn's order with the smallest op index first: the program order of docs/model.md. Members of a collective come
  // together.
  const std::vector<OpIndex>& topological_order() const { return topological_order_; }

  // Hard colocation sets: a number from 0 for each op; ops without `colocate` are sets of their own. Sets are
  // numbered in the order of their first op.
  const std::vector<std::int32_t>& colocation_set() const { return colocation_set_; }
  std::int32_t colocation_sets() const { return colocation_sets_; }

  // The members of each collective, ascending.
  const std::vector<std::vector<OpIndex>>& collectives() const { return collectives_; }

  // Ops that read any output of `op` or wait for it, ascending, each once.
  const std::vector<OpIndex>& consumers(OpIndex op) const { return consumers_[static_cast<std::size_t>(op)]; }

  struct Totals {
    std::int64_t parameters = 0;  // elements of Variables but those with `trainable: false`
    double flops = 0;
    Bytes output_bytes = 0;  // sum of own storage of all outputs
    Bytes persistent_bytes = 0;
  };
  Totals totals() const;

 private:
  void FindCollectives();
  void SortTopologically();

  std::unordered_map<std::string, OpIndex> index_;
  std::vector<OpIndex> topological_order_;
  std::vector<std::vector<OpIndex>> consumers_, collectives_;
  std::vector<std::int32_t> colocation_set_;
  std::int32_t colocation_sets_ = 0;
  std::int64_t edges_ = 0;
};

}  // namespace stowplan::sim
