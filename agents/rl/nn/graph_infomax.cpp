#include "agents/rl/nn/graph_infomax.h"

#include <numeric>

#include <ATen/ATen.h>

#include "agents/rl/nn/layers.h"

namespace stowplan::agents::rl {
namespace {

constexpr double kNoClip = std::numeric_limits<double>::infinity();

Tensors Joined(Tensors all, const Tensors& more) {
  Append(all, more);
  return all;
}

at::Tensor ShuffledRows(const at::Tensor& rows, Rng& rng) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows.size(0)));
  std::iota(order.begin(), order.end(), 0);
  rng.Shuffle(order);
  return rows.index_select(0, IndexTensor(order));
}

void CopyValues(const Tensors& from, const Tensors& to) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < from.size(); ++i) to[i].copy_(from[i]);
}

}  // namespace

GraphInfomax::GraphInfomax(const Options& options, const GraphConvolution& encoder,
                           const std::vector<Graph>& graphs, Rng rng)
    : options_(options),
      encoder_(encoder),
      graphs_(graphs),
      rng_(std::move(rng)),
      bilinear_(GlorotMatrix(encoder.width(), encoder.width(), encoder.parameters()[0].scalar_type(), rng_)),
      bias_(at::zeros({1}, bilinear_.options().requires_grad(false)).set_requires_grad(true)),
      parameters_(Joined(encoder.parameters(), {bilinear_, bias_})),
      optimiser_(parameters_) {
  for (const at::Tensor& weight : encoder.parameters()) best_.push_back(weight.detach().clone());
}

GraphInfomax::Scores GraphInfomax::ScoresOf(const Graph& graph, Rng& rng) const {
  const at::Tensor real = encoder_.Forward(graph.rows, graph.adjacency);
  const at::Tensor shuffled = encoder_.Forward(ShuffledRows(graph.rows, rng), graph.adjacency);
  const at::Tensor direction = bilinear_.matmul(real.mean(0).sigmoid());
  return {real.matmul(direction) + bias_, shuffled.matmul(direction) + bias_};
}

at::Tensor GraphInfomax::Loss() {
  at::Tensor loss;
  for (const Graph& graph : graphs_) {
    const Scores scores = ScoresOf(graph, rng_);
    const at::Tensor one = (at::softplus(-scores.real).mean() + at::softplus(scores.shuffled).mean()) /
                           (2 * static_cast<double>(graphs_.size()));
    loss = loss.defined() ? loss + one : one;
  }
  return loss;
}

std::optional<double> GraphInfomax::Step() {
  if (done_) return std::nullopt;
  const at::Tensor loss = Loss();
  const double value = loss.item<double>();
  if (value < best_loss_) {
    best_loss_ = value;
    waited_ = 0;
    CopyValues(encoder_.parameters(), best_);
  } else {
    ++waited_;
  }
  optimiser_.Step(Gradients(loss, parameters_), options_.learning_rate, kNoClip);
  done_ = ++iteration_ >= options_.iterations || waited_ >= options_.patience;
  if (done_) CopyValues(best_, encoder_.parameters());
  return value;
}

double GraphInfomax::Accuracy(const Graph& graph, Rng& rng) const {
  const at::NoGradGuard no_grad;
  const Scores scores = ScoresOf(graph, rng);
  const at::Tensor right = at::cat({scores.real > 0, scores.shuffled < 0});
  return right.to(at::kDouble).mean().item<double>();
}

void GraphInfomax::Save(StateWriter& out) const {
  out.Put<std::uint8_t>(done_);
  if (done_) return;
  out.Put(iteration_);
  out.Put(waited_);
  out.Put(best_loss_);
  SaveRng(rng_, out);
  SaveTensors(best_, out);
  SaveTensors({bilinear_, bias_}, out);
  optimiser_.Save(out);
}

void GraphInfomax::Load(StateReader& in) {
  done_ = in.Get<std::uint8_t>() != 0;
  if (done_) return;
  iteration_ = in.GetCount();
  waited_ = in.GetCount();
  best_loss_ = in.Get<double>();
  rng_ = LoadRng(in);
  LoadTensors(in, best_);
  LoadTensors(in, {bilinear_, bias_});
  optimiser_.Load(in);
}

}  // namespace stowplan::agents::rl
