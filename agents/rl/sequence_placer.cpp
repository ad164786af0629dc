#include "agents/rl/sequence_placer.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "agents/rl/nn/categorical.h"
#include "agents/rl/nn/layers.h"
#include "sim/base/error.h"

namespace stowplan::agents::rl {
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
      stay_(sizes.stay, sizes.width, sizes.choices, type),
      offers_(sizes.offers, sizes.width, type),
      embeddings_(GlorotMatrix(sizes.choices + 1, sizes.width, type, init)),
      output_{GlorotMatrix(2 * sizes.width, sizes.choices, type, init)} {
  if (sizes.biases || sizes.centred)
    output_.push_back(at::zeros({sizes.choices}, type).set_requires_grad(true));
  for (const Tensors& part : {encoder_.parameters(), decoder_.parameters(), attention_.parameters(),
                              Tensors{embeddings_}, output_, stay_.parameters(), offers_.parameters()}) {
    Append(parameters_, part);
  }
}

// Segments of one length are read side by side, a shorter last one on its own.
SequencePlacer::Encoded SequencePlacer::Encode(const at::Tensor& items, const at::Tensor& earlier,
                                               const Offers::Placed& placed) const {
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
  for (const at::Tensor& segment : encoded.memory) {
    if (sizes_.aligned) encoded.told.push_back(decoder_.GateSumsOfLast(segment.transpose(0, 1)));
  }
  if (!stay_.on() && !offers_.on()) return encoded;
  const at::Tensor described = at::cat(encoded.memory, 1);
  encoded.pulls = stay_.Read(described, earlier);
  encoded.haste = offers_.Read(described, placed);
  return encoded;
}

at::Tensor SequencePlacer::Fed() const {
  return sizes_.aligned ? decoder_.GateSumsOfFirst(embeddings_) : decoder_.GateSums(embeddings_);
}

at::Tensor SequencePlacer::GateSums(const at::Tensor& fed, const at::Tensor& before,
                                    const at::Tensor& told) const {
  const std::int64_t items = before.size(0), rows = before.size(1);
  const at::Tensor read = fed.index_select(0, before.reshape({-1}));
  if (!sizes_.aligned) return read.view({items, rows, -1});
  const std::int64_t sequences = told.size(1);
  return (read.view({items, sequences, rows / sequences, -1}) + told.unsqueeze(2)).view({items, rows, -1});
}

Tensors SequencePlacer::Walked(const Encoded& encoded, const at::Tensor& before) const {
  const std::int64_t sequences = encoded.last.h.size(0), draws = before.size(1) / sequences;
  Lstm::State state{encoded.last.h.repeat_interleave(draws, 0), encoded.last.c.repeat_interleave(draws, 0)};
  const at::Tensor fed = Fed();
  Tensors read;
  std::int64_t first = 0;
  for (std::size_t segment = 0; segment < encoded.memory.size(); ++segment) {
    const at::Tensor& memory = encoded.memory[segment];
    const std::int64_t items = memory.size(1);
    const at::Tensor sums = GateSums(fed, before.narrow(0, first, items), encoded.Told(segment));
    const Lstm::Output out = decoder_.Continue(sums, state);
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
  const at::Tensor fed = Fed(), common = CommonOf(encoded);
  at::Tensor before = at::full({rows}, sizes_.choices, at::kLong);
  Stay::Walk stays(stay_, encoded.pulls, rows);
  Offers::Walk offers(encoded.haste, rows);
  Tensors actions, log_probabilities, noises;
  for (std::size_t segment = 0; segment < encoded.memory.size(); ++segment) {
    const at::Tensor &memory = encoded.memory[segment], told = encoded.Told(segment);
    for (std::int64_t item = 0; item < memory.size(1); ++item) {
      const at::Tensor own = told.defined() ? told.narrow(0, item, 1) : told;
      state = walk.Step(GateSums(fed, before.unsqueeze(0), own)[0], state);
      const at::Tensor h = state.h.view({sequences, draws, sizes_.width});
      at::Tensor logits = offers.Next(stays.Next(
          LogitsOf(at::cat({h, attention_.Mix(h, memory)}, -1), common).view({rows, sizes_.choices})));
      if (noise > 0 && rng != nullptr) {
        noises.push_back(NoiseFor(logits, noise, *rng));
        logits = logits + noises.back();
      }
      const DrawnActions drawn = DrawActions(logits, rng);
      before = drawn.actions;
      stays.Choose(drawn.actions);
      offers.Choose(drawn.actions);
      actions.push_back(drawn.actions);
      log_probabilities.push_back(drawn.log_probability);
    }
  }
  return {at::stack(actions, 1), at::stack(log_probabilities, 1),
          noises.empty() ? at::Tensor() : at::stack(noises, 1), 1, offers.Delays()};
}

at::Tensor SequencePlacer::CommonOf(const Encoded& encoded) const {
  if (!sizes_.centred) return {};
  std::int64_t items = 0;
  for (const at::Tensor& memory : encoded.memory) items += memory.size(1);
  const at::Tensor untold = at::full({items, encoded.last.h.size(0)}, sizes_.choices, at::kLong);
  return at::cat(Walked(encoded, untold), 1).mean(1, true);
}

at::Tensor SequencePlacer::Logits(const Encoded& encoded, const at::Tensor& actions,
                                  const at::Tensor& delays) const {
  const std::int64_t rows = actions.size(0), items = actions.size(1), sequences = encoded.last.h.size(0);
  at::Tensor before =
      at::cat({at::full({1, rows}, sizes_.choices, at::kLong), actions.t().narrow(0, 0, items - 1)});
  // The walk that is told no choices goes along as one more draw of each sequence, the first.
  const std::int64_t untold = sizes_.centred ? 1 : 0;
  if (untold > 0) {
    before = at::cat({at::full({items, sequences, 1}, sizes_.choices, at::kLong),
                      before.view({items, sequences, rows / sequences})},
                     2)
                 .view({items, -1});
  }
  Tensors read, of_untold;
  for (const at::Tensor& all : Walked(encoded, before)) {
    const at::Tensor by_draw = all.view({sequences, rows / sequences + untold, -1, 2 * sizes_.width});
    if (untold > 0) of_untold.push_back(by_draw.select(1, 0));
    read.push_back(by_draw.narrow(1, untold, rows / sequences).reshape({sequences, -1, 2 * sizes_.width}));
  }
  const at::Tensor common = untold > 0 ? at::cat(of_untold, 1).mean(1, true) : at::Tensor();
  Tensors logits;
  for (const at::Tensor& of_segment : read)
    logits.push_back(LogitsOf(of_segment, common).view({rows, -1, sizes_.choices}));
  at::Tensor all = at::cat(logits, 1);
  if (stay_.on()) all = all + stay_.Added(encoded.pulls, actions);
  if (offers_.on()) all = all + Offers::Added(encoded.haste, delays);
  return all;
}

ActionTerms TermsOf(const at::Tensor& logits, const Decisions& decisions) {
  return TermsOfActions(decisions.noise.defined() ? logits + decisions.noise : logits, decisions.actions);
}

}  // namespace stowplan::agents::rl
