// Layers of the sequence placers: recurrent.h, attention.h, sequence_placer.h.
#include <ATen/ATen.h>

#include "agents/rl/nn/attention.h"
#include "agents/rl/nn/recurrent.h"
#include "agents/rl/sequence_placer.h"
#include "tests/agents/rl/gradient_check.h"
#include "tests/testing.h"

namespace stowplan::agents::rl {
namespace {

TEST(Lstm, GradientsOfBothKindsOfBias) {
  for (const auto bias : {Lstm::Bias::kGates, Lstm::Bias::kForget}) {
    for (const bool both : {false, true}) {
      Rng init(1, "init");
      const Lstm lstm(3, 4, both, bias, at::kDouble, init);
      Shake(lstm.parameters());
      Tensors all = lstm.parameters();
      all.push_back(RandomTensor({5, 2, 3}, 2).set_requires_grad(true));
      ExpectGradient(
          [&] {
            const Lstm::Output out = lstm.Forward(all.back());
            return (out.h * RandomTensor({5, 2, 4}, 3)).sum() + (out.last.c * RandomTensor({2, 4}, 4)).sum();
          },
          all, 20);
    }
  }
}

// One unit, one number: the equations of the cell, gates in the order input, forget, cell, output.
TEST(Lstm, FollowsItsEquations) {
  Rng init(1, "init");
  const Lstm lstm(1, 1, false, Lstm::Bias::kGates, at::kDouble, init);
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const at::Tensor in = lstm.parameters()[0], hidden = lstm.parameters()[1];
  double h = 0.3, c = -0.2;
  const Lstm::State first{at::full({1, 1}, h, at::kDouble), at::full({1, 1}, c, at::kDouble)};
  const double x = 0.7;
  const auto gate = [&](int i, double bias) {
    return in[i][0].item<double>() * x + hidden[i][0].item<double>() * h + bias;
  };
  const double next = sigmoid(gate(1, 1)) * c + sigmoid(gate(0, 0)) * std::tanh(gate(2, 0));
  h = sigmoid(gate(3, 0)) * std::tanh(next);
  const at::Tensor sums = lstm.GateSums(at::full({1, 1}, x, at::kDouble));
  const Lstm::State step = lstm.StartWalk().Step(sums, first);
  EXPECT_NEAR(step.c.item<double>(), next, 1e-15);
  EXPECT_NEAR(step.h.item<double>(), h, 1e-15);
  EXPECT_NEAR(lstm.Continue(sums.unsqueeze(0), first).h.item<double>(), h, 1e-15);
}

// Against torch's own layer, in float as it is used: outputs, last states and all gradients.
void ExpectTorchsLayer(bool both, std::int64_t steps, double range) {
  Rng init(1, "init");
  const Lstm lstm(5, 16, both, Lstm::Bias::kGates, at::kFloat, init);
  const Tensors& p = lstm.parameters();
  const std::int64_t directions = both ? 2 : 1, hidden = 16 / directions;
  const at::Tensor inputs = RandomTensor({steps, 3, 5}, 2, range).to(at::kFloat).set_requires_grad(true);
  // One direction goes on from a state, whose rows do not lie one behind the other; two begin at zero.
  const double first = both ? 0 : 1;
  const at::Tensor first_h = RandomTensor({16, 3}, 6, first).to(at::kFloat).set_requires_grad(true);
  const at::Tensor first_c = RandomTensor({16, 3}, 7, first).to(at::kFloat).set_requires_grad(true);
  const at::Tensor no_bias = at::zeros({4 * hidden}, at::kFloat);
  const Tensors weights = both ? Tensors{p[0], p[1], p[4], no_bias, p[2], p[3], p[5], no_bias}
                               : Tensors{p[0], p[1], p[2], no_bias};
  const auto run_torchs = [&] {
    const auto state = [&](const at::Tensor& of) {
      return of.view({directions, hidden, 3}).transpose(1, 2).contiguous();
    };
    const auto joined = [](const at::Tensor& last) { return last.transpose(0, 1).reshape({3, -1}); };
    const auto [h, last_h, last_c] =
        at::lstm(inputs, {state(first_h), state(first_c)}, weights, /*has_biases=*/true, /*num_layers=*/1,
                 /*dropout=*/0, /*train=*/false, both, /*batch_first=*/false);
    return Tensors{h, joined(last_h), joined(last_c)};
  };
  const auto run_ours = [&] {
    const Lstm::Output out =
        both ? lstm.Forward(inputs) : lstm.Continue(lstm.GateSums(inputs), {first_h.t(), first_c.t()});
    return Tensors{out.h, out.last.h, out.last.c};
  };
  const Tensors torchs = run_torchs(), ours = run_ours();
  for (std::size_t i = 0; i < torchs.size(); ++i) EXPECT_LT(Difference(ours[i], torchs[i]), 1e-6);

  Tensors learned = p;
  learned.push_back(inputs);
  if (!both) Append(learned, {first_h, first_c});
  for (const std::size_t from : {0, 2}) {  // of all outputs, of the last cell alone
    const auto gradients = [&](const Tensors& outputs) {
      at::Tensor loss = at::zeros({}, at::kFloat);
      for (std::size_t i = from; i < outputs.size(); ++i)
        loss = loss + (outputs[i] * RandomTensor(outputs[i].sizes(), 3 + i).to(at::kFloat)).sum();
      return Gradients(loss, learned);
    };
    const Tensors expected = gradients(run_torchs()), found = gradients(run_ours());
    EXPECT_GT(expected[0].abs().max().item<double>(), 0.01);
    for (std::size_t i = 0; i < learned.size(); ++i) {
      const double largest = expected[i].abs().max().item<double>();
      EXPECT_LT(Difference(found[i], expected[i]), 1e-5 * std::max(1.0, largest))
          << "tensor " << i << ", steps " << steps;
    }
  }
}

TEST(Lstm, IsTorchsLayer) {
  for (const bool both : {false, true}) {
    for (const std::int64_t steps : {1, 9}) ExpectTorchsLayer(both, steps, 1);
    ExpectTorchsLayer(both, 9, 60);  // gates that are shut and wide open
  }
}

TEST(Lstm, StepsEqualTheSequenceAndBothWaysReadBackwards) {
  Rng init(1, "init");
  const Lstm lstm(3, 4, false, Lstm::Bias::kForget, at::kDouble, init);
  const at::Tensor inputs = RandomTensor({6, 2, 3}, 2);
  const Lstm::Output all = lstm.Forward(inputs);
  Lstm::State state{at::zeros({2, 4}, at::kDouble), at::zeros({2, 4}, at::kDouble)};
  const Lstm::Walk walk = lstm.StartWalk();
  for (std::int64_t t = 0; t < 6; ++t) {
    state = walk.Step(lstm.GateSums(inputs[t]), state);
    EXPECT_LT(Difference(state.h, all.h[t]), 1e-14);
  }
  EXPECT_LT(Difference(state.c, all.last.c), 1e-14);

  const Lstm both(3, 4, true, Lstm::Bias::kGates, at::kDouble, init);
  const Lstm::Output read = both.Forward(inputs);
  EXPECT_LT(Difference(read.last.h, at::cat({read.h[5].narrow(1, 0, 2), read.h[0].narrow(1, 2, 2)}, 1)),
            1e-15);
}

TEST(AdditiveScores, GradientAndValue) {
  // 11 numbers: one vector of eight and a rest of three.
  const at::Tensor queries = RandomTensor({2, 3, 11}, 1).set_requires_grad(true);
  const at::Tensor memory = RandomTensor({2, 5, 11}, 2).set_requires_grad(true);
  const at::Tensor v = RandomTensor({11}, 3).set_requires_grad(true);
  const at::Tensor weights = RandomTensor({2, 3, 5}, 4);
  const at::Tensor plain = (queries.unsqueeze(2) + memory.unsqueeze(1)).tanh().matmul(v);
  EXPECT_LT(Difference(plain, AdditiveScores(queries, memory, v)), 1e-14);
  ExpectGradient([&] { return (AdditiveScores(queries, memory, v) * weights).sum(); }, {queries, memory, v},
                 100);
}

TEST(AdditiveScores, LargeNumbersOfOppositeSigns) {
  const at::Tensor queries = at::tensor({100.0, 30.0, -100.0, 1.0}, at::kFloat).view({1, 4, 1});
  const at::Tensor memory = at::tensor({-99.5, 20.0}, at::kFloat).view({1, 2, 1});
  const at::Tensor v = at::ones({1}, at::kFloat);
  const at::Tensor plain = (queries.unsqueeze(2) + memory.unsqueeze(1)).tanh().matmul(v);
  EXPECT_LT(Difference(plain, AdditiveScores(queries, memory, v)), 1e-6);
}

TEST(Attention, GradientOfBothKinds) {
  for (const auto kind : {Attention::Kind::kAdditive, Attention::Kind::kDot}) {
    Rng init(1, "init");
    const Attention attention(kind, 4, at::kDouble, init);
    Tensors all = attention.parameters();
    all.push_back(RandomTensor({2, 3, 4}, 1).set_requires_grad(true));
    all.push_back(RandomTensor({2, 5, 4}, 2).set_requires_grad(true));
    const at::Tensor weights = RandomTensor({2, 3, 4}, 3);
    ExpectGradient(
        [&] { return (attention.Mix(all[all.size() - 2], attention.Memory(all.back())) * weights).sum(); },
        all, 50);
  }
}

SequencePlacer::Sizes SmallSizes(bool planner) {
  SequencePlacer::Sizes sizes{.input = 3, .width = 4, .choices = 3, .tanh_constant = 2};
  sizes.both_directions = planner;
  sizes.biases = !planner;
  return sizes;
}

// Of two sequences of five items: the earlier item that pulls, 5 = none.
const std::vector<std::int64_t> kEarlier = {5, 0, 0, 1, 3, 5, 5, 1, 5, 0};

TEST(SequencePlacer, GradientOfTheTerms) {
  for (const bool planner : {false, true}) {
    Rng init(1, "init");
    SequencePlacer::Sizes sizes = SmallSizes(planner);
    sizes.aligned = !planner;
    sizes.stay = planner ? 0 : 0.7;
    const at::Tensor earlier = IndexTensor(kEarlier).view({2, 5});
    const SequencePlacer placer(sizes, at::kDouble, init);
    Shake(placer.parameters());
    const at::Tensor items = RandomTensor({2, 5, 3}, 1);
    Rng rng(2, "draws");
    const Decisions drawn = placer.Draw(placer.Encode(items, earlier), 3, 0, &rng);
    const at::Tensor weights = RandomTensor({6, 5}, 2);
    ExpectGradient(
        [&] {
          const ActionTerms terms =
              TermsOf(placer.Logits(placer.Encode(items, earlier), drawn.actions), drawn);
          return (terms.log_probability * weights).sum() + terms.entropy.sum();
        },
        placer.parameters(), 12);
  }
}

// A fresh policy whose other logits are equal takes its neighbour's choice as often as it is told to; pulled without end
// it always does, and what has no earlier neighbour is free.
TEST(SequencePlacer, StaysWithItsNeighbour) {
  Rng init(1, "init"), rng(2, "draws");
  SequencePlacer::Sizes sizes = SmallSizes(false);
  sizes.stay = 0.7;
  const SequencePlacer placer(sizes, at::kDouble, init);
  const at::Tensor items = RandomTensor({2, 5, 3}, 1), earlier = IndexTensor(kEarlier).view({2, 5});
  const at::Tensor weight = placer.parameters().back(),
                   output = placer.parameters()[placer.parameters().size() - 4];
  const at::NoGradGuard no_grad;
  output.zero_();
  const auto stays = [&](std::int64_t draws) {
    const Decisions drawn = placer.Draw(placer.Encode(items, earlier), draws, 0, &rng);
    const at::Tensor logits = placer.Logits(placer.Encode(items, earlier), drawn.actions);
    EXPECT_LT(Difference(TermsOf(logits, drawn).log_probability, drawn.log_probability), 1e-13);
    const auto actions = drawn.actions.accessor<std::int64_t, 2>();
    std::vector<std::int64_t> same(kEarlier.size());
    for (std::int64_t row = 0; row < 2 * draws; ++row) {
      for (std::int64_t item = 0; item < 5; ++item) {
        const auto at = static_cast<std::size_t>(row / draws * 5 + item);
        same[at] += kEarlier[at] < 5 && actions[row][item] == actions[row][kEarlier[at]];
      }
    }
    return same;
  };
  const std::vector<std::int64_t> seven_of_ten = stays(2000);
  weight.fill_(50);
  const std::vector<std::int64_t> all = stays(100);
  for (std::size_t at = 0; at < kEarlier.size(); ++at) {
    const bool free = kEarlier[at] == 5;
    EXPECT_NEAR(static_cast<double>(seven_of_ten[at]) / 2000, free ? 0 : 0.7, 0.05) << at;
    EXPECT_EQ(all[at], free ? 0 : 100) << at;
  }
}

// What is learned from is what was drawn: teacher-forced log-probabilities equal those of the loop, with
// noise too.
TEST(SequencePlacer, LogitsAreThoseThatWereDrawnFrom) {
  for (const double noise : {0.0, 0.5}) {
    Rng init(1, "init"), rng(2, "draws");
    SequencePlacer::Sizes sizes = SmallSizes(true);
    sizes.aligned = noise > 0;
    const SequencePlacer placer(sizes, at::kDouble, init);
    const at::Tensor items = RandomTensor({2, 7, 3}, 1);
    const Decisions drawn = placer.Draw(placer.Encode(items), 4, noise, &rng);
    EXPECT_EQ(drawn.actions.sizes(), (std::vector<std::int64_t>{8, 7}));
    EXPECT_EQ(drawn.noise.defined(), noise > 0);
    const ActionTerms terms = TermsOf(placer.Logits(placer.Encode(items), drawn.actions), drawn);
    EXPECT_LT(Difference(terms.log_probability, drawn.log_probability), 1e-13);
    // The second sequence is one of its own.
    const SequencePlacer::Encoded second = placer.Encode(items.narrow(0, 1, 1));
    EXPECT_LT(Difference(placer.Logits(second, drawn.actions.narrow(0, 4, 4)),
                         placer.Logits(placer.Encode(items), drawn.actions).narrow(0, 4, 4)),
              1e-14);
  }
}

SequencePlacer MakeInSegments(std::int64_t segment, bool aligned) {
  SequencePlacer::Sizes sizes = SmallSizes(true);
  sizes.aligned = aligned;
  sizes.segment = segment;
  Rng init(1, "init");
  SequencePlacer placer(sizes, at::kDouble, init);
  Shake(placer.parameters());
  return placer;
}

TEST(SequencePlacer, OneSegmentOverAllIsTheWholeSequence) {
  const at::Tensor items = RandomTensor({2, 7, 3}, 1);
  const SequencePlacer plain = MakeInSegments(0, false);
  Rng rng(2, "draws");
  const Decisions drawn = plain.Draw(plain.Encode(items), 3, 0, &rng);
  const at::Tensor weights = RandomTensor({6, 7, 3}, 2);
  const auto terms = [&](const SequencePlacer& placer) {
    return placer.Logits(placer.Encode(items), drawn.actions);
  };
  for (const std::int64_t segment : {7, 128}) {
    const SequencePlacer placer = MakeInSegments(segment, false);
    Rng same(2, "draws");
    const Decisions again = placer.Draw(placer.Encode(items), 3, 0, &same);
    EXPECT_TRUE(at::equal(again.actions, drawn.actions));
    EXPECT_EQ(Difference(again.log_probability, drawn.log_probability), 0);
    EXPECT_EQ(Difference(terms(placer), terms(plain)), 0);
    const Tensors gradients = Gradients((terms(placer) * weights).sum(), placer.parameters());
    const Tensors expected = Gradients((terms(plain) * weights).sum(), plain.parameters());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(Difference(gradients[i], expected[i]), 0);
  }
}

// 7 items in segments of 3: reading and attention stay inside a segment, only the decoder's state says something of
// those before, and it teaches them nothing.
TEST(SequencePlacer, SegmentsShareTheDecodersStateAlone) {
  for (const bool aligned : {false, true}) {
    const SequencePlacer placer = MakeInSegments(3, aligned);
    const at::Tensor items = RandomTensor({2, 7, 3}, 1).set_requires_grad(true);
    Rng rng(2, "draws");
    const Decisions drawn = placer.Draw(placer.Encode(items), 4, 0, &rng);
    const Tensors memory = placer.Encode(items).memory;
    const at::Tensor logits = placer.Logits(placer.Encode(items), drawn.actions);
    EXPECT_LT(Difference(TermsOf(logits, drawn).log_probability, drawn.log_probability), 1e-13);
    ASSERT_EQ(memory.size(), 3U);
    for (std::int64_t item = 0; item < 7; ++item) {
      at::Tensor moved = items.detach().clone();
      moved.select(1, item) += 1;
      const SequencePlacer::Encoded encoded = placer.Encode(moved);
      const at::Tensor change = (placer.Logits(encoded, drawn.actions) - logits).abs().amax({0, 2});
      const std::int64_t own = item / 3;
      for (std::int64_t segment = 0; segment < 3; ++segment) {
        const auto s = static_cast<std::size_t>(segment);
        EXPECT_EQ(Difference(encoded.memory[s], memory[s]) > 0, segment == own) << item;
        // The decoder starts from the end of the first segment; where it is not aligned it reads choices alone.
        const bool told = segment == own || own == 0 || (aligned && segment > own);
        EXPECT_EQ(change.narrow(0, 3 * segment, memory[s].size(1)).max().item<double>() > 0, told) << item;
      }
    }
    for (std::int64_t segment = 0; segment < 3; ++segment) {
      const auto s = static_cast<std::size_t>(segment);
      const at::Tensor loss = placer.Logits(placer.Encode(items), drawn.actions)
                                  .narrow(1, 3 * segment, memory[s].size(1))
                                  .square()
                                  .sum();
      const at::Tensor gradient = Gradients(loss, {items})[0].abs().amax({0, 2});
      for (std::int64_t item = 0; item < 7; ++item)
        EXPECT_EQ(gradient[item].item<double>() > 0, item / 3 == segment) << item;
    }
  }
}

}  // namespace
}  // namespace stowplan::agents::rl
