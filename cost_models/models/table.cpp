// table(file=PATH): ops that were measured, by signature (op_work.h) and device kind, from a stowplan.cost_model
// file. Answers exactly what the file holds, with tier A and the spread of the repeats; anything else it
// leaves to the next model of a chain. Without a file it answers nothing.

#include <unordered_map>

#include "cost_models/models/models.h"
#include "cost_models/ops/op_work.h"

namespace stowplan::cost_models {
namespace {

class Table : public sim::CostModel, public ParameterUser {
 public:
  Table(const Spec& spec, const Catalogue& catalogue) {
    const Settings read(spec, FileSettings());
    const std::string file = read.Text("file");
    name_ = read.Canonical();
    if (file.empty()) return;
    parameters_ = std::make_shared<const Parameters>(ReadParameters(file, catalogue));
    for (const TableEntry& entry : parameters_->table) by_kind_[entry.kind].emplace(entry.signature, &entry);
  }

  std::string name() const override { return name_; }

  std::vector<std::shared_ptr<const Parameters>> UsedParameters() const override {
    if (parameters_ == nullptr) return {};
    return {parameters_};
  }

  std::optional<sim::Price> Predict(const sim::OpGraph& graph, sim::OpIndex op,
                                    const sim::Device& device) const override {
    const auto kind = by_kind_.find(device.kind);
    if (kind == by_kind_.end()) return std::nullopt;
    const auto found = kind->second.find(Signature(graph, op));
    if (found == kind->second.end()) return std::nullopt;
    const TableEntry& entry = *found->second;
    return sim::Price{entry.us, sim::Tier::kMeasured, entry.low_us, entry.high_us};
  }

 private:
  std::string name_;
  std::shared_ptr<const Parameters> parameters_;
  std::unordered_map<std::string, std::unordered_map<std::string, const TableEntry*>> by_kind_;
};

}  // namespace

std::unique_ptr<sim::CostModel> MakeTable(const Spec& spec, const Catalogue& catalogue) {
  return std::make_unique<Table>(spec, catalogue);
}

}  // namespace stowplan::cost_models
