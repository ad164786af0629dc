// Cases of OnnxRules (rules_test.cpp), by family of ops: for each rule a node that is right beside one that is
// wrong.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "tests/scenarios/onnx/model_maker.h"

namespace stowplan::scenarios {

struct RuleCase {
  std::string name;
  GraphMaker right;
  GraphMaker wrong;
  std::vector<std::string> says;  // in the refusal of the wrong one
  int opset = 14;
};
void PrintTo(const RuleCase& row, std::ostream* out);

// One node of the type that reads floating inputs of these shapes, and gives y.
GraphMaker Node(const std::string& type, const std::vector<std::vector<std::int64_t>>& shapes,
                const std::vector<GraphMaker::Attribute>& attributes = {});
// The same with a last input of known whole numbers.
GraphMaker NodeWithInts(const std::string& type, const std::vector<std::int64_t>& shape,
                        const std::vector<std::int64_t>& numbers,
                        const std::vector<GraphMaker::Attribute>& attributes = {});

std::vector<RuleCase> WindowRuleCases();
std::vector<RuleCase> LayerRuleCases();
std::vector<RuleCase> MovementRuleCases();
std::vector<RuleCase> BroadcastRuleCases();

}  // namespace stowplan::scenarios
