// WaveNet: dilated causal convolutions over raw audio (van den Oord et al., WaveNet: A Generative Model for
// Raw Audio, 2016; layers as read in ibab/tensorflow-wavenet).
//
//   batch=1   stacks=2   depth=9: layers of a stack, of dilation 1, 2, 4, ...   residual=128   dilation=128
//   skip=256: channels   samples=100000   input=scalar (a number for each sample, first kernel 32) or onehot
//   (256 levels, first kernel 2)   optimizer=adam
//
// The channels that SGDP placed are not published: those here are assumed. Checked: the
// public code's 0.81 and 1.21 M weights, 79.7 and 118.4 G multiply-adds with 2 and 4 stacks
// (residual=32,dilation=32,skip=512,input=onehot). The last layer has no residual output: nothing would read
// it. A stage is a layer; the input goes with the first, what follows the skips with the last.
#include "scenarios/builder/layers.h"
#include "scenarios/builder/workload_options.h"
#include "scenarios/workloads/workloads.h"

namespace stowplan::scenarios {
namespace {

constexpr std::int64_t kLevels = 256;

struct WaveNetSizes {
  std::int64_t batch;
  int stacks;
  int depth;
  std::int64_t residual;
  std::int64_t dilation;
  std::int64_t skip;
  std::int64_t samples;
  bool onehot;
};

// Tensors are images of height 1: [batch, 1, samples, channels].
class WaveNet {
 public:
  WaveNet(GraphBuilder& builder, const WaveNetSizes& sizes) : b_(builder), sizes_(sizes) {}

  int layers() const { return sizes_.stacks * sizes_.depth; }

  void Build() {
    At(0);
    Tensor x = Input();
    Tensor skips;
    for (int layer = 0; layer < layers(); ++layer) {
      At(layer);
      const GraphBuilder::Scope scope(b_, "layer" + std::to_string(layer));
      const Tensor gated = Gate(x, std::int64_t{1} << (layer % sizes_.depth));
      const Tensor skip = Pointwise("skip", gated, sizes_.skip);
      skips = layer == 0 ? skip : Add(b_, "sum_of_skips", skips, skip);
      if (layer + 1 < layers()) x = Add(b_, "residual", x, Pointwise("dense", gated, sizes_.residual));
    }
    Output(skips);
  }

 private:
  void At(int layer) { b_.SetLocation({layer, -1, "layer" + std::to_string(layer)}); }

  Tensor Filter(const std::string& name, Tensor x, std::int64_t kernel, std::int64_t channels,
                std::int64_t dilation) {
    const Tensor weights = b_.Variable(name + "/weights", {1, kernel, b_.shape(x)[3], channels});
    return Conv2D(b_, name, x, weights, {.width = kernel, .same = false, .dilation = dilation});
  }

  Tensor Biased(const std::string& name, Tensor x) {
    return BiasAdd(b_, name + "/bias_add", x, b_.Variable(name + "/bias", {b_.shape(x)[3]}));
  }

  Tensor Pointwise(const std::string& name, Tensor x, std::int64_t channels) {
    return Biased(name, Filter(name, x, 1, channels, 1));
  }

  // The batch comes with the samples that the first kernel looks back on.
  Tensor Input() {
    const std::int64_t kernel = sizes_.onehot ? 2 : 32;
    const Tensor audio =
        b_.Placeholder("audio", {sizes_.batch, 1, sizes_.samples + kernel - 1, sizes_.onehot ? kLevels : 1});
    return Filter("input", audio, kernel, sizes_.residual, 1);
  }

  Tensor Gate(Tensor x, std::int64_t dilation) {
    Shape padded = b_.shape(x);
    padded[2] += dilation;
    const Tensor past = Pad(b_, "pad", x, padded);
    const Tensor filter = Biased("filter", Filter("filter", past, 2, sizes_.dilation, dilation));
    const Tensor gate = Biased("gate", Filter("gate", past, 2, sizes_.dilation, dilation));
    return Mul(b_, "gated", Tanh(b_, "tanh", filter), Sigmoid(b_, "sigmoid", gate));
  }

  void Output(Tensor skips) {
    const GraphBuilder::Scope scope(b_, "output");
    const Tensor labels = b_.Placeholder("labels", {sizes_.batch * sizes_.samples}, "i32");
    const Tensor first = Pointwise("first", Relu(b_, "relu0", skips), sizes_.skip);
    const Tensor second = Pointwise("second", Relu(b_, "relu1", first), kLevels);
    Predict(b_, "loss", Reshape(b_, "reshape", second, {sizes_.batch * sizes_.samples, kLevels}), labels);
  }

  GraphBuilder& b_;
  WaveNetSizes sizes_;
};

}  // namespace

sim::OpGraph BuildWaveNet(const Settings& read) {
  const ModelOptions options = ReadModelOptions(read);
  WaveNetSizes sizes;
  sizes.batch = options.batch;
  sizes.stacks = static_cast<int>(read.Int("stacks"));
  sizes.depth = static_cast<int>(read.Int("depth"));
  sizes.residual = read.Int("residual");
  sizes.dilation = read.Int("dilation");
  sizes.skip = read.Int("skip");
  sizes.samples = read.Int("samples");
  sizes.onehot = read.Is("input", "onehot");

  GraphBuilder builder(read.name(), options.builder);
  WaveNet model(builder, sizes);
  model.Build();
  return builder.Finish(Describe(read, model.layers(), "stage"));
}

}  // namespace stowplan::scenarios
