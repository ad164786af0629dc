// Windows that slide over images [N, C, D1, D2, ...] with filters [M, C / group, K1, K2, ...].
#include <algorithm>
#include <utility>

#include "scenarios/importers/onnx/node_rules.h"

namespace stowplan::scenarios::onnx_import {
namespace {

bool IsConvolution(const NodeFacts& facts) {
  return facts.type().find("Conv") != std::string::npos;
}

std::size_t FilterInput(const NodeFacts& facts) {
  return facts.type() == "QLinearConv" ? 3 : 1;
}

void CheckImage(const NodeFacts& facts) {
  if (facts.Has(0) && facts.rank(0) < 3) {
    Refuse("its input has " + std::to_string(facts.rank(0)) + " axes, but needs at least 3");
  }
}

// As many numbers in each attribute as the image has axes behind its channels: what the checks of channels,
// pads and reach below index by, so that it comes before them.
void CheckWindow(const NodeFacts& facts) {
  if (!facts.Has(0)) return;
  CheckImage(facts);
  const Shape& image = facts.shape(0);
  const std::size_t rank = image.size();
  const std::size_t filter = FilterInput(facts);
  const bool filtered = IsConvolution(facts);
  if (filtered && !facts.Has(filter)) return;
  if (filtered && facts.shape(filter).size() != rank) {
    Refuse("its filter has another number of axes than its input: " + std::to_string(facts.rank(filter)) +
           ", but must have " + std::to_string(rank));
  }
  for (std::size_t axis = 2; axis < rank; ++axis) {
    if (image[axis] > kLongestAxis) {
      Refuse("its image is longer than 2^30 along axis " + std::to_string(axis));
    }
    if (filtered && facts.shape(filter)[axis] > kMostStride) {
      Refuse("its filter is longer than 2^20 along axis " + std::to_string(axis));
    }
  }
  for (const auto& [name, wanted] :
       {std::pair("kernel_shape", rank - 2), std::pair("strides", rank - 2), std::pair("dilations", rank - 2),
        std::pair("pads", 2 * (rank - 2)), std::pair("output_padding", rank - 2)}) {
    if (facts.HasAttribute(name) && facts.Ints(name).size() != wanted) {
      Refuse(std::string("its ") + name + " must be " + std::to_string(wanted) + " numbers");
    }
  }
  for (const std::int64_t pad : facts.Ints("pads")) {
    if (pad < 0) Refuse("an entry of its pads is " + std::to_string(pad) + ", but must be 0 or more");
  }
  if (!filtered) return;
  const Shape kernel(facts.shape(filter).begin() + 2, facts.shape(filter).end());
  if (facts.HasAttribute("kernel_shape") && facts.Ints("kernel_shape") != kernel) {
    Refuse("its kernel_shape is " + ShapeText(facts.Ints("kernel_shape")) + ", but its filter's is " +
           ShapeText(kernel));
  }
  if (std::ranges::find(kernel, 0) != kernel.end()) Refuse("its filter has an axis of 0 numbers");
}

void CheckChannels(const NodeFacts& facts) {
  const std::size_t at = FilterInput(facts);
  if (!facts.Has(0) || !facts.Has(at)) return;
  const Shape& filter = facts.shape(at);
  const std::int64_t channels = facts.shape(0)[1];
  const std::int64_t groups = facts.Int("group", 1);
  if (channels % groups != 0 || channels / groups != filter[1]) {
    Refuse("its input has " + std::to_string(channels) + " channels, but its filter " + ShapeText(filter) +
           " reads " + std::to_string(filter[1]) + " in each of its groups, of which there are " +
           std::to_string(groups) + "; group x channels of the filter must be the channels of the input");
  }
  if (filter[0] % groups != 0) {
    Refuse("its filter gives " + std::to_string(filter[0]) +
           " channels, which must be a multiple of its group " + std::to_string(groups));
  }
  const std::size_t bias = facts.type() == "QLinearConv" ? 8 : 2;
  if (facts.type() != "ConvInteger") {
    RequireShape(facts, bias, {filter[0]}, "its bias", "a number for each channel that its filter gives");
  }
}

// Filters of ConvTranspose are [C, M / group, K1, K2, ...].
void CheckTransposedChannels(const NodeFacts& facts) {
  if (!facts.HasAll(2)) return;
  const std::int64_t channels = facts.shape(0)[1];
  const Shape& filter = facts.shape(1);
  const std::int64_t groups = facts.Int("group", 1);
  if (channels != filter[0]) {
    Refuse("its input has " + std::to_string(channels) + " channels, but its filter " + ShapeText(filter) +
           " reads " + std::to_string(filter[0]) + "; they must be equal");
  }
  if (channels % groups != 0) {
    Refuse("its input has " + std::to_string(channels) + " channels, which must be a multiple of its group " +
           std::to_string(groups));
  }
  if (filter[1] <= kLongestAxis) {
    RequireShape(facts, 2, {filter[1] * groups}, "its bias",
                 "a number for each channel that its filter gives");
  }
}

std::int64_t Reach(std::int64_t kernel, const std::vector<std::int64_t>& dilations, std::size_t i) {
  return (kernel - 1) * (dilations.empty() ? 1 : dilations[i]) + 1;
}

// Each window of a pool has a place of its image in it.
void CheckPoolPads(const NodeFacts& facts) {
  const auto pads = facts.Ints("pads");
  if (!facts.Has(0) || pads.empty() || TextAttribute(facts.node(), "auto_pad", "NOTSET") != "NOTSET") return;
  const auto kernel = facts.Ints("kernel_shape");
  const auto dilations = facts.Ints("dilations");
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const std::int64_t reach = Reach(kernel[i], dilations, i);
    const std::int64_t pad = std::max(pads[i], pads[i + kernel.size()]);
    if (pad >= reach) {
      Refuse("its pads along axis " + std::to_string(i + 2) + " are " + std::to_string(pad) +
             ", but must be smaller than what its window reaches over, " + std::to_string(reach));
    }
  }
}

// The library divides before it looks, so that a window beyond the image still gave one place.
void CheckReach(const NodeFacts& facts) {
  const std::string automatic = TextAttribute(facts.node(), "auto_pad", "NOTSET");
  // Rounded up there is a place for a window that sticks out.
  if (!facts.Has(0) || automatic.starts_with("SAME") || facts.Int("ceil_mode", 0) != 0) return;
  const Shape& image = facts.shape(0);
  Shape kernel = facts.Ints("kernel_shape");
  if (IsConvolution(facts)) {
    const std::size_t at = FilterInput(facts);
    if (!facts.Has(at)) return;
    kernel.assign(facts.shape(at).begin() + 2, facts.shape(at).end());
  }
  const auto dilations = facts.Ints("dilations");
  const auto pads = automatic == "VALID" ? std::vector<std::int64_t>() : facts.Ints("pads");
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const std::int64_t reach = Reach(kernel[i], dilations, i);
    const std::int64_t padded = image[i + 2] + (pads.empty() ? 0 : pads[i] + pads[i + kernel.size()]);
    if (padded < reach) {
      Refuse("its window reaches over " + std::to_string(reach) + " along axis " + std::to_string(i + 2) +
             ", but its image has " + std::to_string(padded) + " there with its pads, and must have as many");
    }
  }
}

void CheckBlocks(const NodeFacts& facts) {
  if (!facts.Has(0)) return;
  const bool to_space = facts.type() == "DepthToSpace";
  const Shape& image = facts.shape(0);
  if (image.size() != 4) Refuse("its input must have 4 axes, but has " + std::to_string(image.size()));
  const std::int64_t block = facts.Int("blocksize", 1);
  const bool fits =
      to_space ? image[1] % (block * block) == 0 : image[2] % block == 0 && image[3] % block == 0;
  if (!fits) {
    Refuse(std::string("its ") + (to_space ? "channels" : "rows and columns") +
           " must be a multiple of its blocksize" + (to_space ? " squared" : ""));
  }
  if (std::max({image[1], image[2], image[3]}) > kLongestAxis) {
    Refuse("its input has an axis longer than 2^30");
  }
}

void CheckConvolution(const NodeFacts& facts) {
  CheckWindow(facts);
  CheckChannels(facts);
  CheckReach(facts);
}

void CheckTransposed(const NodeFacts& facts) {
  CheckWindow(facts);
  CheckTransposedChannels(facts);
}

void CheckPool(const NodeFacts& facts) {
  CheckWindow(facts);
  CheckPoolPads(facts);
  CheckReach(facts);
}

}  // namespace

const std::vector<NodeRuleRow> kWindowRules = {
    {"Conv", CheckConvolution},
    {"ConvInteger", CheckConvolution},
    {"QLinearConv", CheckConvolution},
    {"ConvTranspose", CheckTransposed},
    {"MaxPool", CheckPool},
    {"AveragePool", CheckPool},
    {"LpPool", CheckPool},
    {"MaxUnpool", CheckWindow},
    {"GlobalAveragePool", CheckImage},
    {"GlobalMaxPool", CheckImage},
    {"GlobalLpPool", CheckImage},
    {"LRN", CheckImage},
    {"DepthToSpace", CheckBlocks},
    {"SpaceToDepth", CheckBlocks},
};

}  // namespace stowplan::scenarios::onnx_import
