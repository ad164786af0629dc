#include "agents/rl/sequence_placer.h"

#include <ATen/ATen.h>

#include "agents/rl/categorical.h"
#include "agents/rl/layers.h"

namespace berth::agents::rl {
namespace {

Lstm::Bias BiasOf(const SequencePlacer::Sizes& sizes) {
  return sizes.biases ? Lstm::Bias::kGates : Lstm::Bias::kForget;
}

at::Tensor NoiseFor(const at::Tensor& logits, double factor, Rng& rng) {
  const double root_mean_square = logits.square().mean().sqrt().item<double>();
  return DrawNormal(logits.sizes(), logits.scalar_type(), rng) * (factor * root_mean_square);
}

}  // namespace

SequencePlacer::SequencePlacer(const Sizes& sizes, at::ScalarType type, Rng& init)
    : sizes_(sizes),
      encoder_(sizes.input, sizes.width, sizes.both_directions, BiasOf(sizes), type, init),
      decoder_(sizes.width, sizes.width, false, BiasOf(sizes), type, init),
      attention_(sizes.attention, sizes.width, type, init),
      embeddings_(GlorotMatrix(sizes.choices + 1, sizes.width, type, init)),
      output_{GlorotMatrix(2 * sizes.width, sizes.choices, type, init)} {
  if (sizes.biases) output_.push_back(at::zeros({sizes.choices}, type).set_requires_grad(true));
  for (const Tensors& part : {encoder_.parameters(), decoder_.parameters(), attention_.parameters(),
                              Tensors{embeddings_}, output_}) {
    Append(parameters_, part);
  }
}

SequencePlacer::Encoded SequencePlacer::Encode(const at::Tensor& items) const {
  const Lstm::Output read = encoder_.Forward(items.transpose(0, 1));
  return {attention_.Memory(read.h.transpose(0, 1)), read.last};
}

// `h` [sequences, queries, width].
at::Tensor SequencePlacer::LogitsOf(const at::Tensor& h, const at::Tensor& memory) const {
  at::Tensor logits = at::cat({h, attention_.Mix(h, memory)}, -1).matmul(output_[0]);
  if (output_.size() > 1) logits = logits + output_[1];
  if (sizes_.temperature != 1) logits = logits / sizes_.temperature;
  return sizes_.tanh_constant > 0 ? logits.tanh() * sizes_.tanh_constant : logits;
}

Decisions SequencePlacer::Draw(const Encoded& encoded, std::int64_t draws, double noise, Rng* rng) const {
  const at::NoGradGuard no_grad;
  const std::int64_t sequences = encoded.memory.size(0), items = encoded.memory.size(1);
  const std::int64_t rows = sequences * draws;
  Lstm::State state{encoded.last.h.repeat_interleave(draws, 0), encoded.last.c.repeat_interleave(draws, 0)};
  at::Tensor before = at::full({rows}, sizes_.choices, at::kLong);
  Tensors actions, log_probabilities, noises;
  for (std::int64_t item = 0; item < items; ++item) {
    state = decoder_.Step(embeddings_.index_select(0, before), state);
    at::Tensor logits =
        LogitsOf(state.h.view({sequences, draws, sizes_.width}), encoded.memory).view({rows, sizes_.choices});
    if (noise > 0 && rng != nullptr) {
      noises.push_back(NoiseFor(logits, noise, *rng));
      logits = logits + noises.back();
    }
    const DrawnActions drawn = DrawActions(logits, rng);
    before = drawn.actions;
    actions.push_back(drawn.actions);
    log_probabilities.push_back(drawn.log_probability);
  }
  return {at::stack(actions, 1), at::stack(log_probabilities, 1),
          noises.empty() ? at::Tensor() : at::stack(noises, 1), 1};
}

at::Tensor SequencePlacer::Logits(const Encoded& encoded, const at::Tensor& actions) const {
  const std::int64_t sequences = encoded.memory.size(0), items = encoded.memory.size(1);
  const std::int64_t rows = actions.size(0), draws = rows / sequences;
  const at::Tensor start = at::full({1, rows}, sizes_.choices, at::kLong);
  const at::Tensor before = at::cat({start, actions.t().narrow(0, 0, items - 1)});
  const Lstm::State first{encoded.last.h.repeat_interleave(draws, 0),
                          encoded.last.c.repeat_interleave(draws, 0)};
  const at::Tensor inputs =
      embeddings_.index_select(0, before.reshape({-1})).view({items, rows, sizes_.width});
  const at::Tensor h = decoder_.Forward(inputs, &first).h.transpose(0, 1);  // [rows, items, width]
  return LogitsOf(h.reshape({sequences, draws * items, sizes_.width}), encoded.memory)
      .view({rows, items, sizes_.choices});
}

ActionTerms TermsOf(const at::Tensor& logits, const Decisions& decisions) {
  return TermsOfActions(decisions.noise.defined() ? logits + decisions.noise : logits, decisions.actions);
}

}  // namespace berth::agents::rl
