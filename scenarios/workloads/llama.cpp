// LLaMA: a decoder for language (Touvron et al. 2023). The defaults are TinyLlama's (Zhang et al. 2024: 22 layers,
// 2048, 32 heads, 4 for keys and values, 5632; 1.1 B weights, checked). Parts and assumptions: decoder.h.
//
//   batch=1   layers=22   hidden=2048   heads=32   kv_heads=4   feed_forward=5632   sequence=2048
//   vocabulary=32000   pass=whole|decode   optimizer=adam
//
// mode=training; mode=inference is the prefill of the whole sequence, which fills the cache;
// mode=inference,pass=decode is one step with the cache.
#include "scenarios/builder/decoder.h"
#include "scenarios/workloads/workloads.h"

namespace stowplan::scenarios {

sim::OpGraph BuildLlama(const Settings& read) {
  const ModelOptions options = ReadModelOptions(read);
  const DecoderSizes sizes = ReadDecoderSizes(read, options);
  GraphBuilder builder(read.name(), options.builder);
  BuildDecoder(builder, sizes,
               [&](Tensor x) { return SwiGlu(builder, "feed_forward", x, sizes.feed_forward); });
  return builder.Finish(Describe(read, sizes.layers, "stage"));
}

}  // namespace stowplan::scenarios
