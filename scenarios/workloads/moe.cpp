// A mixture of experts: the decoder of llama whose feed-forward block is one of several for each token (Shazeer et
// al. 2017; as in Mixtral, Jiang et al. 2024, whose sizes give its 46.7 B weights, checked). The default sizes are
// small ones of our choice. Parts and assumptions: decoder.h.
//
//   batch=8   layers=8   hidden=1024   heads=16   kv_heads=8   feed_forward=3584: of one expert   sequence=1024
//   vocabulary=32000   pass=whole|decode   experts=8   top_k=2: experts for each token
//   capacity=1: places in an expert / its share of tokens, if all get as many   optimizer=adam
//
// A router scores the experts; each token goes to its top_k, each expert works on as many rows as it has places
// (places that stay empty are worked on, tokens beyond them are dropped), the answers are weighted and summed.
// An expert that no token goes to reads no weights. If tokens choose evenly, one of E experts is reached by some of n
// tokens with probability 1 - (1 - top_k / E)^n: its ops take that share of their time (attribute `reached`). That is
// 1 for the steps of training and 1/16 for one token that goes to 8 of 128. The host issues the ops of as many experts.
// Left out: the loss that keeps experts evenly used.
//
// A stage is a layer. Expert e of every layer is branch e: the rule `branches` puts it on GPU e mod G and the rest
// on the first, which is expert parallelism.
#include <cmath>

#include <fmt/format.h>

#include "scenarios/builder/decoder.h"
#include "scenarios/builder/layers.h"
#include "scenarios/workloads/workloads.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

struct MixtureSizes {
  int experts;
  std::int64_t top_k;
  std::int64_t places;  // rows of an expert
  std::int64_t width;
  double reached;  // probability that some token goes to a given expert
};

// By multiplications alone: the same bits on every machine.
double Power(double share, std::int64_t times) {
  double product = 1;
  for (; times > 0 && product > 1e-18; --times) product *= share;
  return product > 1e-18 ? product : 0;
}

// [T, n] -> [T, n]
Tensor Mixture(GraphBuilder& b, const MixtureSizes& sizes, Tensor x) {
  const GraphBuilder::Scope scope(b, "mixture");
  const Shape rows = b.shape(x);
  const Shape chosen = {rows[0], sizes.top_k};
  const Tensor shares = Softmax(b, "softmax", DenseWithoutBias(b, "router", x, sizes.experts));
  const Tensor weights =
      b.Append({.type = "TopK", .name = "top_k", .inputs = {shares}, .outputs = {{chosen}, {chosen, "i32"}}});
  const Tensor experts = {weights.op, 1};

  OpSpec dispatch{.type = "ExpertDispatch", .name = "dispatch", .inputs = {x, experts}, .outputs = {}};
  dispatch.outputs.assign(static_cast<std::size_t>(sizes.experts), {{sizes.places, rows[1]}});
  Tensor part = b.Append(dispatch);
  OpSpec combine{.type = "ExpertCombine", .name = "combine", .inputs = {}, .outputs = {{rows}}};
  for (; part.output < sizes.experts; ++part.output) {
    b.SetBranch(part.output);
    b.SetReached(sizes.reached,
                 std::floor((part.output + 1) * sizes.reached) > std::floor(part.output * sizes.reached));
    combine.inputs.push_back(SwiGlu(b, "expert" + std::to_string(part.output), part, sizes.width));
  }
  b.SetBranch(-1);
  b.SetReached(1);
  combine.inputs.push_back(weights);
  combine.inputs.push_back(experts);
  return b.Append(combine);
}

}  // namespace

sim::OpGraph BuildMoe(const Settings& read) {
  const ModelOptions options = ReadModelOptions(read);
  const DecoderSizes sizes = ReadDecoderSizes(read, options);
  MixtureSizes mixture{};
  mixture.experts = static_cast<int>(read.Int("experts"));
  mixture.top_k = read.Int("top_k");
  const double capacity = read.Double("capacity");
  if (mixture.top_k > mixture.experts) {
    throw InputError(fmt::format("{}: a token cannot go to top_k={} of experts={}; choose fewer", read.name(),
                                 mixture.top_k, mixture.experts));
  }
  const double share = static_cast<double>(sizes.tokens() * mixture.top_k) / mixture.experts;
  mixture.places = static_cast<std::int64_t>(std::ceil(share * capacity));
  mixture.width = sizes.feed_forward;
  mixture.reached = 1 - Power(1 - static_cast<double>(mixture.top_k) / mixture.experts, sizes.tokens());

  GraphBuilder builder(read.name(), options.builder);
  BuildDecoder(builder, sizes, [&](Tensor x) { return Mixture(builder, mixture, x); });
  return builder.Finish(Describe(read, sizes.layers, "branch"));
}

}  // namespace stowplan::scenarios
