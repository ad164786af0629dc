// constant(us=10): every op takes the same time. The specimen: the shortest complete cost model, to copy for
// a new one.
//
// What it models: nothing. It is the control of an experiment (does a placement follow from costs, or from
// the shape of the graph alone?) and a stand-in where no number is known.
//
// A new model is a copy of this file under its own name, a declaration in models.h and a row in registry.cpp.
// Then `stowplan list cost-models` shows it, --cost-model takes it, and the conformance tests run on it.

#include "cost_models/models/models.h"

namespace stowplan::cost_models {
namespace {

class Constant : public sim::CostModel {
 public:
  // Canonical() is the round-trip name: making a model from it gives this model again.
  explicit Constant(const Settings& read) : us_(read.Double("us")), name_(read.Canonical()) {}

  std::string name() const override { return name_; }

  // Pure: the answer depends on the arguments and on what the constructor read, and on nothing else. A model
  // that knows nothing of an op or a device returns std::nullopt, so that a chain can ask the next one.
  std::optional<sim::Price> Predict(const sim::OpGraph& graph, sim::OpIndex op,
                                    const sim::Device&) const override {
    if (graph.ops[static_cast<std::size_t>(op)].IsSource()) return kFree;
    // The tier says how well the answer is founded, the interval where the truth lies nine times in ten. A
    // constant knows nothing: the last tier, and a decade to either side.
    return sim::Price{us_, sim::Tier::kStructural, us_ / 10, us_ * 10};
  }

 private:
  double us_ = 0;
  std::string name_;
};

}  // namespace

// The only export of the file.
std::unique_ptr<sim::CostModel> MakeConstant(const Spec& spec, const Catalogue&) {
  return std::make_unique<Constant>(Settings(spec, ConstantSettings()));
}

}  // namespace stowplan::cost_models
