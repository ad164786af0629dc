// chain(table,fitted,analytic): asks its models in order and returns the first answer with its tier. Files of
// different machines for one device kind are refused.

#include "cost_models/models/models.h"
#include "sim/base/error.h"

namespace stowplan::cost_models {
namespace {

class Chain : public sim::CostModel, public ParameterUser, public OriginTeller {
 public:
  Chain(const Spec& spec, const Catalogue& catalogue) {
    if (!spec.named.empty()) {
      throw InputError("'" + spec.ToString() + "' has no setting '" + spec.named.front().first +
                       "'; it takes a list of cost models, as in chain(table,fitted,analytic)");
    }
    std::vector<std::string> members = spec.positional;
    if (members.empty()) members = {"table", "fitted", "analytic"};
    Spec name{spec.name, {}, {}};
    for (const std::string& link : members) {
      links_.push_back(MakeCostModel(link, catalogue));
      name.positional.push_back(links_.back()->name());
    }
    name_ = name.ToString();
    RefuseMixing();
  }

  std::string name() const override { return name_; }

  std::vector<std::shared_ptr<const Parameters>> UsedParameters() const override {
    std::vector<std::shared_ptr<const Parameters>> used;
    for (const auto& link : links_) {
      const auto* user = dynamic_cast<const ParameterUser*>(link.get());
      if (user == nullptr) continue;
      for (auto& parameters : user->UsedParameters()) used.push_back(std::move(parameters));
    }
    return used;
  }

  std::optional<sim::Price> Predict(const sim::OpGraph& graph, sim::OpIndex op,
                                    const sim::Device& device) const override {
    for (const auto& link : links_) {
      if (auto price = link->Predict(graph, op, device)) return price;
    }
    return std::nullopt;
  }

  std::string OriginOf(const sim::OpGraph& graph, sim::OpIndex op, const sim::Device& device) const override {
    for (const auto& link : links_) {
      if (link->Predict(graph, op, device)) return PriceOrigin(*link, graph, op, device);
    }
    return {};
  }

 private:
  void RefuseMixing() const {
    const auto used = UsedParameters();
    for (std::size_t i = 0; i < used.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) CheckSameMachine(*used[j], *used[i]);
    }
  }

  std::vector<std::unique_ptr<sim::CostModel>> links_;
  std::string name_;
};

}  // namespace

std::unique_ptr<sim::CostModel> MakeChain(const Spec& spec, const Catalogue& catalogue) {
  return std::make_unique<Chain>(spec, catalogue);
}

}  // namespace stowplan::cost_models
