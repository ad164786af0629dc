// Operands that are broadcast, by the rules of old operator sets too.
#include "tests/scenarios/onnx/rule_cases.h"

namespace stowplan::scenarios {
namespace {

using Shape = std::vector<std::int64_t>;

}  // namespace

std::vector<RuleCase> BroadcastRuleCases() {
  const Shape image = {1, 4, 8, 8};
  return {
      {"AddOfOldModels",
       Node("Add", {{4, 6}, {6}}, {{"broadcast", std::int64_t{1}}}),
       Node("Add", {{4, 6}, {6}}),
       {"must have [4,6]"},
       6},
      {"AddAtAnAxis",
       Node("Add", {{4, 6, 2}, {6}}, {{"broadcast", std::int64_t{1}}, {"axis", std::int64_t{1}}}),
       Node("Add", {{4, 6, 2}, {6}}, {{"broadcast", std::int64_t{1}}, {"axis", std::int64_t{2}}}),
       {"cannot be laid over [4,6,2] at axis 2"},
       6},
      {"AddOfOldModelsStretchesNoAxis",
       Node("Add", {{2, 3, 4}, {1, 1}}, {{"broadcast", std::int64_t{1}}}),
       Node("Add", {{2, 3, 4}, {1, 4}}, {{"broadcast", std::int64_t{1}}}),
       {"[1,4] cannot be laid over [2,3,4]"},
       6},
      {"PReluSlope", Node("PRelu", {image, {4, 1, 1}}), Node("PRelu", {image, {5, 1, 1}}), {"slope [5,1,1]"}},
  };
}

}  // namespace stowplan::scenarios
