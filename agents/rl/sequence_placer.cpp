#include "agents/rl/sequence_placer.h"

#include <algorithm>

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
      decoder_(sizes.aligned ? 2 * sizes.width : sizes.width, sizes.width, false, BiasOf(sizes), type, init),
      attention_(sizes.attention, sizes.width, type, init),
      embeddings_(GlorotMatrix(sizes.choices + 1, sizes.width, type, init)),
      output_{GlorotMatrix(2 * sizes.width, sizes.choices, type, init)} {
  if (sizes.biases || sizes.centred)
    output_.push_back(at::zeros({sizes.choices}, type).set_requires_grad(true));
  for (const Tensors& part : {encoder_.parameters(), decoder_.parameters(), attention_.parameters(),
                              Tensors{embeddings_}, output_}) {
    Append(parameters_, part);
  }
}

// Segments of one length are read side by side, a shorter last one on its own.
SequencePlacer::Encoded SequencePlacer::Encode(const at::Tensor& items) const {
  const std::int64_t sequences = items.size(0), count = items.size(1);
  const std::int64_t length = sizes_.segment == 0 ? count : std::min(sizes_.segment, count);
  const std::int64_t whole = count / length;
  const auto read = [&](std::int64_t first, std::int64_t segments, std::int64_t size) {
    const at::Tensor part = items.narrow(1, first, segments * size);
    return encoder_.Forward(part.reshape({sequences * segments, size, -1}).transpose(0, 1));
  };
  const Lstm::Output all = read(0, whole, length);
  const auto of_first = [&](const at::Tensor& last) {
    return last.view({sequences, whole, -1}).select(1, 0);
  };
  const at::Tensor memory = attention_.Memory(all.h.transpose(0, 1));
  Encoded encoded{memory.view({sequences, whole, length, -1}).unbind(1),
                  {of_first(all.last.h), of_first(all.last.c)}};
  if (const std::int64_t rest = count - whole * length; rest > 0)
    encoded.memory.push_back(attention_.Memory(read(whole * length, 1, rest).h.transpose(0, 1)));
  if (sizes_.centred) {
    const at::Tensor untold = at::full({count, sequences}, sizes_.choices, at::kLong);
    encoded.common = at::cat(Walked(encoded, untold), 1).mean(1, true);
  }
  return encoded;
}

at::Tensor SequencePlacer::Fed() const {
  return sizes_.aligned ? embeddings_ : decoder_.GateSums(embeddings_);
}

at::Tensor SequencePlacer::GateSums(const at::Tensor& fed, const at::Tensor& before,
                                    const at::Tensor& memory) const {
  const std::int64_t items = before.size(0), rows = before.size(1);
  const at::Tensor read = fed.index_select(0, before.reshape({-1})).view({items, rows, -1});
  if (!sizes_.aligned) return read;
  return decoder_.GateSums(
      at::cat({read, memory.transpose(0, 1).repeat_interleave(rows / memory.size(0), 1)}, -1));
}

Tensors SequencePlacer::Walked(const Encoded& encoded, const at::Tensor& before) const {
  const std::int64_t sequences = encoded.last.h.size(0), draws = before.size(1) / sequences;
  Lstm::State state{encoded.last.h.repeat_interleave(draws, 0), encoded.last.c.repeat_interleave(draws, 0)};
  const at::Tensor fed = Fed();
  Tensors read;
  std::int64_t first = 0;
  for (const at::Tensor& memory : encoded.memory) {
    const std::int64_t items = memory.size(1);
    const Lstm::Output out = decoder_.Continue(GateSums(fed, before.narrow(0, first, items), memory), state);
    const at::Tensor h = out.h.transpose(0, 1).reshape({sequences, draws * items, sizes_.width});
    read.push_back(at::cat({h, attention_.Mix(h, memory)}, -1));
    state = {out.last.h.detach(), out.last.c.detach()};
    first += items;
  }
  return read;
}

// `read` [sequences, queries, 2 width].
at::Tensor SequencePlacer::LogitsOf(const at::Tensor& read, const at::Tensor& common) const {
  at::Tensor logits = (common.defined() ? read - common : read).matmul(output_[0]);
  if (output_.size() > 1) logits = logits + output_[1];
  if (sizes_.temperature != 1) logits = logits / sizes_.temperature;
  return sizes_.tanh_constant > 0 ? logits.tanh() * sizes_.tanh_constant : logits;
}

Decisions SequencePlacer::Draw(const Encoded& encoded, std::int64_t draws, double noise, Rng* rng) const {
  const at::NoGradGuard no_grad;
  const std::int64_t sequences = encoded.last.h.size(0), rows = sequences * draws;
  Lstm::State state{encoded.last.h.repeat_interleave(draws, 0), encoded.last.c.repeat_interleave(draws, 0)};
  const Lstm::Walk walk = decoder_.StartWalk();
  const at::Tensor fed = Fed();
  at::Tensor before = at::full({rows}, sizes_.choices, at::kLong);
  Tensors actions, log_probabilities, noises;
  for (const at::Tensor& memory : encoded.memory) {
    for (std::int64_t item = 0; item < memory.size(1); ++item) {
      state = walk.Step(GateSums(fed, before.unsqueeze(0), memory.narrow(1, item, 1))[0], state);
      const at::Tensor h = state.h.view({sequences, draws, sizes_.width});
      at::Tensor logits =
          LogitsOf(at::cat({h, attention_.Mix(h, memory)}, -1), encoded.common).view({rows, sizes_.choices});
      if (noise > 0 && rng != nullptr) {
        noises.push_back(NoiseFor(logits, noise, *rng));
        logits = logits + noises.back();
      }
      const DrawnActions drawn = DrawActions(logits, rng);
      before = drawn.actions;
      actions.push_back(drawn.actions);
      log_probabilities.push_back(drawn.log_probability);
    }
  }
  return {at::stack(actions, 1), at::stack(log_probabilities, 1),
          noises.empty() ? at::Tensor() : at::stack(noises, 1), 1};
}

at::Tensor SequencePlacer::Logits(const Encoded& encoded, const at::Tensor& actions) const {
  const std::int64_t rows = actions.size(0);
  const at::Tensor start = at::full({1, rows}, sizes_.choices, at::kLong);
  Tensors logits;
  for (const at::Tensor& read : Walked(encoded, at::cat({start, actions.t()})))
    logits.push_back(LogitsOf(read, encoded.common).view({rows, -1, sizes_.choices}));
  return at::cat(logits, 1);
}

ActionTerms TermsOf(const at::Tensor& logits, const Decisions& decisions) {
  return TermsOfActions(decisions.noise.defined() ? logits + decisions.noise : logits, decisions.actions);
}

}  // namespace berth::agents::rl
