// Prices of ops by the tables of their shapes (parameters/ratio_tables.h): whose tables stand for a device, and what is changed
// where they are another's or of another number format.
//
// In this order, for an op's family and number format:
//   1. the device's own kind; then kinds of its chip, whose times move by the difference of the two bounds
//   2. the same with a format that runs in the same units (f16 and bf16), or, of what moves bytes, with f32's tables where the
//      law for tensor cores (tensor_law.h) has nothing
//   3. kinds that its sheet names (`prices_from`), their ratios over its own bound
//   4. what all measured GPUs have in common, if leaving each of them out showed that it says more than the sheet
// Else nothing: the next model of a chain answers.
//
//   Weights are cold     Rows were timed again and again, so small operands were warm in the last cache; a step reads each
//                        weight once (ColdMicros()).
//   Unaligned products   of 16 bits are priced as padded to whole vectors, and no less than kernels for odd rows take
//                        (alignment.h).
//   Gradients            of attention take min(3.6, 2.8 + 400 / keys) times its forward pass: FlashAttention-3 (arXiv
//                        2407.08608) on H100, FlashAttention-2 on A5000, FlashAttention-4 on B200 report 2.6 to 3.7.
//   Products of experts  Rows are of a whole layer; each of its three products takes a third, with an error that is not known.
//   Chunks of a prompt   few queries over a long cache lie between decoding and a prompt, in the logarithm of the queries.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cost_models/models/alignment.h"
#include "cost_models/parameters/parameters.h"

namespace stowplan::cost_models {

class ShapePrices {
 public:
  // Without parameters those that ship with stowplan. Keeps a reference to the catalogue.
  ShapePrices(const Catalogue& catalogue, std::shared_ptr<const Parameters> parameters);

  // Whether tables say anything of this kind, whatever the op.
  bool Serve(const std::string& kind) const;
  // Nothing where they do not price it. `near`: by tables of its own kind or chip that hold such ops, and no others. Any thread.
  std::optional<sim::Price> Price(const OpWork& work, const sim::Device& device, bool near = false) const;
  // "measured by others on h100 (ai-dynamo/aiconfigurator@…, 2026-11-28): gemm of bf16, error 3 %"; empty where Price() has
  // nothing.
  std::string OriginOf(const OpWork& work, const sim::Device& device, bool near = false) const;

 private:
  enum class Whose { kOwn, kChip, kNamed, kAll };
  struct Source {
    Whose whose = Whose::kOwn;
    const DeviceSheet* sheet = nullptr;  // that the tables were fitted with; null of kAll
    const std::vector<RatioTables>* tables = nullptr;
    const Parameters* from = nullptr;
  };
  struct Found {
    const Source* source = nullptr;
    const RatioTables* tables = nullptr;
  };

  // Gradients of attention and products of experts have rules of their own upon the tables. What moves numbers of 16 bits is
  // bound by their count as well as by their bytes, of which tables of f32 know nothing.
  static bool IsNear(const Found& found, const OpWork& work, bool borrowed) {
    return found.source->whose <= Whose::kChip && (!borrowed || work.attention || work.experts) &&
           (found.tables->dtype != "f32" || work.dtype == "f32");
  }
  // Shipped rows of products are of whole vectors; a user's own say themselves what odd ones cost.
  bool IsUnaligned(const OpWork& work, const DeviceSheet& sheet) const {
    return parameters_ == nullptr && UnalignedMicros(work, sheet) > 0;
  }
  const std::vector<Source>& SourcesOf(const std::string& kind) const;
  void Add(const std::string& kind, Whose whose, std::vector<Source>* sources) const;
  std::optional<Found> Find(const OpWork& work, std::string_view family, const DeviceSheet& sheet) const;
  std::optional<double> Micros(const OpWork& given, std::string_view family, const DeviceSheet& sheet) const;

  const Catalogue& catalogue_;
  std::shared_ptr<const Parameters> parameters_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::vector<Source>> sources_;  // by kind, once asked
};

}  // namespace stowplan::cost_models
