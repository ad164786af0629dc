#include "scenarios/importers/saved.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/analysis/product_flops.h"

namespace stowplan::scenarios {
namespace {

// Shapes count exactly; what differs by less was rounded.
constexpr double kRounding = 0.01;
constexpr const char* kBackward = "ConvBackward";

const char* Plural(int count) {
  return count == 1 ? "" : "s";
}

}  // namespace

std::vector<std::string> CountAnew(sim::OpGraph& graph) {
  int renamed = 0;
  int recounted = 0;
  double before = 0;
  double after = 0;
  for (sim::OpIndex i = 0; i < graph.size(); ++i) {
    sim::Op& op = graph.ops[static_cast<std::size_t>(i)];
    const auto torch_op = sim::FindString(op.attributes, "torch_op");
    if (!torch_op) continue;
    if (torch_op == "aten.convolution_backward" && op.type != kBackward && op.inputs.size() >= 3) {
      ++renamed;
      op.type = kBackward;
    }
    const auto counted = sim::ProductFlops(graph, i);
    if (!counted || std::max(*counted, op.flops) <= (1 + kRounding) * std::min(*counted, op.flops)) continue;
    if (op.flops > 0) {  // else nothing was said
      ++recounted;
      before += op.flops;
      after += *counted;
    }
    op.flops = *counted;
  }
  std::vector<std::string> notes;
  if (renamed > 0) {
    notes.push_back(
        fmt::format("{} backward pass{} of convolutions had the name of one of two products, as in graphs "
                    "captured earlier; now "
                    "each product is priced by itself",
                    renamed, renamed == 1 ? "" : "es"));
  }
  if (recounted > 0) {
    notes.push_back(
        fmt::format("the file's FLOPs of {} product{} contradict the shapes; they were counted anew, {:.4g} "
                    "GFLOP in place of {:.4g}",
                    recounted, Plural(recounted), after / 1e9, before / 1e9));
  }
  return notes;
}

}  // namespace stowplan::scenarios
