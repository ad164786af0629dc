// What slides over images.
#include "tests/scenarios/onnx/rule_cases.h"

namespace stowplan::scenarios {
namespace {

using Ints = std::vector<std::int64_t>;
using Shape = std::vector<std::int64_t>;
using Attributes = std::vector<GraphMaker::Attribute>;

}  // namespace

std::vector<RuleCase> WindowRuleCases() {
  const Attributes two_groups = {{"group", std::int64_t{2}}};
  const Attributes stride = {{"strides", Ints{2, 2}}};
  const Shape image = {1, 4, 8, 8};
  const auto pool = [&](std::int64_t kernel, Attributes more) {
    more.push_back({"kernel_shape", Ints{kernel, kernel}});
    more.push_back({"strides", Ints{2, 2}});
    return Node("MaxPool", {{1, 4, 3, 3}}, more);
  };
  return {
      {"ConvChannels",
       Node("Conv", {image, {6, 4, 3, 3}}),
       Node("Conv", {image, {6, 7, 3, 3}}),
       {"node 'y' (Conv)", "4 channels", "[6,7,3,3] reads 7"}},
      {"ConvChannelsOfGroups",
       Node("Conv", {image, {6, 2, 3, 3}}, two_groups),
       Node("Conv", {image, {6, 4, 3, 3}}, two_groups),
       {"reads 4 in each of its groups, of which there are 2"}},
      {"ConvGroupsOfItsOutput",
       Node("Conv", {image, {6, 2, 3, 3}}, two_groups),
       Node("Conv", {image, {5, 2, 3, 3}}, two_groups),
       {"gives 5 channels", "multiple of its group 2"}},
      {"ConvBias",
       Node("Conv", {image, {6, 4, 3, 3}, {6}}),
       Node("Conv", {image, {6, 4, 3, 3}, {4}}),
       {"its bias has the shape [4], but must have [6]"}},
      {"ConvKernelShape",
       Node("Conv", {image, {6, 4, 3, 3}}, {{"kernel_shape", Ints{3, 3}}}),
       Node("Conv", {image, {6, 4, 3, 3}}, {{"kernel_shape", Ints{5, 3}}}),
       {"[5,3]", "filter's is [3,3]"}},
      {"ConvReach",
       Node("Conv", {{1, 4, 3, 3}, {6, 4, 3, 3}}, stride),
       Node("Conv", {{1, 4, 2, 2}, {6, 4, 3, 3}}, stride),
       {"reaches over 3 along axis 2", "has 2 there"}},
      {"ConvReachOfDilations",
       Node("Conv", {{1, 4, 5, 5}, {6, 4, 3, 3}}, {{"dilations", Ints{2, 2}}}),
       Node("Conv", {{1, 4, 5, 4}, {6, 4, 3, 3}}, {{"dilations", Ints{2, 2}}, {"strides", Ints{2, 2}}}),
       {"reaches over 5 along axis 3"}},
      {"ConvReachWithPads",
       Node("Conv", {{1, 4, 1, 1}, {6, 4, 3, 3}}, {{"pads", Ints{1, 1, 1, 1}}}),
       Node("Conv", {{1, 4, 1, 1}, {6, 4, 3, 3}}, {{"pads", Ints{1, 1, 0, 1}}, {"strides", Ints{2, 2}}}),
       {"has 2 there with its pads"}},
      {"ConvReachSame",
       Node("Conv", {{1, 4, 2, 2}, {6, 4, 3, 3}}, {{"auto_pad", std::string("SAME_UPPER")}}),
       Node("Conv", {{1, 4, 2, 2}, {6, 4, 3, 3}}, {{"auto_pad", std::string("VALID")}}),
       {"reaches over 3"}},
      {"PoolReach", pool(4, {{"ceil_mode", std::int64_t{1}}}), pool(4, {}), {"node 'y' (MaxPool)", "over 4"}},
      {"PoolPads",
       pool(4, {{"ceil_mode", std::int64_t{1}}, {"pads", Ints{3, 3, 3, 3}}}),
       pool(2, {{"ceil_mode", std::int64_t{1}}, {"pads", Ints{0, 0, 9, 9}}}),
       {"its pads along axis 2 are 9", "smaller", "2"}},
      {"PoolPadsOfDilations",
       pool(2, {{"pads", Ints{1, 2, 1, 2}}, {"dilations", Ints{2, 2}}}),
       pool(2, {{"pads", Ints{1, 3, 1, 1}}, {"dilations", Ints{2, 2}}}),
       {"its pads along axis 3 are 3"}},
      {"ConvPadsNegative",
       Node("Conv", {image, {6, 4, 3, 3}}, {{"pads", Ints{0, 0, 0, 0}}}),
       Node("Conv", {image, {6, 4, 3, 3}}, {{"pads", Ints{-3, 0, 0, 0}}}),
       {"its pads is -3", "0 or more"}},
      {"GlobalPoolRank",
       Node("GlobalAveragePool", {{1, 4, 8}}),
       Node("GlobalAveragePool", {{1, 4}}),
       {"2 axes", "at least 3"}},
      {"LrnRank",
       Node("LRN", {image}, {{"size", std::int64_t{3}}}),
       Node("LRN", {{1, 4}}, {{"size", std::int64_t{3}}}),
       {"2 axes", "at least 3"}},
      {"ConvTransposeChannels",
       Node("ConvTranspose", {image, {4, 6, 3, 3}}),
       Node("ConvTranspose", {image, {6, 4, 3, 3}}),
       {"4 channels", "reads 6"}},
      {"ConvTransposeGroups",
       Node("ConvTranspose", {image, {4, 6, 3, 3}}, two_groups),
       Node("ConvTranspose", {{1, 5, 8, 8}, {5, 6, 3, 3}}, two_groups),
       {"5 channels", "its group 2"}},
      {"ConvTransposeBias",
       Node("ConvTranspose", {image, {4, 6, 3, 3}, {12}}, two_groups),
       Node("ConvTranspose", {image, {4, 6, 3, 3}, {6}}, two_groups),
       {"must have [12]"}},
  };
}

}  // namespace stowplan::scenarios
