// NASNet-A for ImageNet (Zoph et al., Learning Transferable Architectures, 2018; cells as PAPERS section 7
// read them in public code). Without drop-path and without the auxiliary head.
//
//   size=mobile (224 x 224, 12 cells of 44 filters) or large (331 x 331, 18 cells of 168)
//   batch=64   classes=1000   optimizer=rmsprop
//
// Checked: 5,289,978 weights and 0.56 G multiply-adds (mobile), 88,753,150 and 23.78 G (large). Placeto's
// size is not published; mobile is PROTOCOL 6.3's assumption: batch=64,gradients=colocated. A stage is a
// cell, a branch one of its five pairs.
#include <array>
#include <utility>

#include "scenarios/vision.h"
#include "scenarios/workload_options.h"
#include "scenarios/workloads/workloads.h"

namespace berth::scenarios {
namespace {

struct Size {
  const char* name;
  std::int64_t image;
  std::int64_t stem;
  std::int64_t filters;
  int cells_per_group;  // of three groups, with a reduction between two
  bool skip_reduction;  // the cell after a reduction reads the reduction's previous input, not its input
};
constexpr std::array kSizes = {Size{"mobile", 224, 32, 44, 4, false}, Size{"large", 331, 96, 168, 6, true}};

class NasNet {
 public:
  NasNet(GraphBuilder& builder, const Size& size) : b_(builder), size_(size), stages_(builder) {}

  int stages() const { return stages_.count(); }

  Tensor Build(Tensor images) {
    stages_.Next("stem");
    const ConvSpec stem{
        .channels = size_.stem, .window = {3, 3, 2, false}, .norm = Norm::kBatch, .relu = false};
    Tensor x = ConvUnit(b_, "stem", images, stem);
    Tensor previous = Reduce("stem_cell0", x, {}, size_.filters / 4);
    std::swap(previous, x);
    previous = Advance(x, Reduce("stem_cell1", x, previous, size_.filters / 2));
    std::int64_t filters = size_.filters;
    for (int group = 0; group < 3; ++group) {
      if (group > 0) {
        filters *= 2;
        const Tensor input =
            Advance(x, Reduce("reduction" + std::to_string(group - 1), x, previous, filters));
        if (!size_.skip_reduction) previous = input;
      }
      for (int cell = 0; cell < size_.cells_per_group; ++cell) {
        const std::string name = "cell" + std::to_string(group * size_.cells_per_group + cell);
        previous = Advance(x, Normal(name, x, previous, filters));
      }
    }
    stages_.Next("head");
    return SpatialMean(b_, "pool", Relu(b_, "relu", x));
  }

 private:
  static Tensor Advance(Tensor& x, Tensor next) {
    std::swap(x, next);
    return next;
  }

  // Two of (ReLU, depthwise, 1 x 1, norm); the stride is the first one's.
  Tensor Separable(const std::string& name, Tensor x, std::int64_t kernel, std::int64_t filters,
                   std::int64_t stride = 1) {
    const GraphBuilder::Scope scope(b_, name);
    for (const char* half : {"first", "second"}) {
      const GraphBuilder::Scope inner(b_, half);
      x = Relu(b_, "relu", x);
      const Tensor weights = b_.Variable("depthwise_weights", {kernel, kernel, b_.shape(x)[3], 1});
      x = DepthwiseConv2D(b_, "depthwise", x, weights, {kernel, kernel, stride});
      x = ConvUnit(b_, "pointwise", x,
                   {.channels = filters, .window = {}, .norm = Norm::kBatch, .relu = false});
      stride = 1;
    }
    return x;
  }

  Tensor Project(const std::string& name, Tensor x, std::int64_t filters) {
    const GraphBuilder::Scope scope(b_, name);
    x = Relu(b_, "relu", x);
    return ConvUnit(b_, "conv", x, {.channels = filters, .window = {}, .norm = Norm::kBatch, .relu = false});
  }

  // Half of the channels from every second pixel, half from those one further.
  Tensor FactorizedReduction(Tensor x, std::int64_t filters) {
    const GraphBuilder::Scope scope(b_, "adjust");
    const auto half = [&](const std::string& name, Tensor from, std::int64_t channels) {
      const GraphBuilder::Scope inner(b_, name);
      const Tensor sampled = AvgPool(b_, "pool", from, {1, 1, 2, false});
      const Tensor weights = b_.Variable("weights", {1, 1, b_.shape(sampled)[3], channels});
      return Conv2D(b_, "conv", sampled, weights, {});
    };
    x = Relu(b_, "relu", x);
    const Tensor even = half("path0", x, filters / 2);
    const Shape image = b_.shape(x);
    const Tensor padded = Pad(b_, "pad", x, {image[0], image[1] + 1, image[2] + 1, image[3]});
    const Tensor shifted = Slice(b_, "shift", padded, image);
    const Tensor odd = half("path1", shifted, filters - filters / 2);
    return BatchNorm(b_, "batch_norm", Concat(b_, "concat", {even, odd}, 3), true);
  }

  // Brings the cell before last to this cell's size and width.
  Tensor Adjust(Tensor previous, Tensor x, std::int64_t filters) {
    if (previous.op < 0) return x;
    if (b_.shape(previous)[1] != b_.shape(x)[1]) return FactorizedReduction(previous, filters);
    if (b_.shape(previous)[3] == filters) return previous;
    return Project("adjust", previous, filters);
  }

  Tensor Pair(int branch, Tensor x, Tensor y) { return Add(b_, "add" + std::to_string(branch), x, y); }

  Tensor Normal(const std::string& name, Tensor x, Tensor previous, std::int64_t filters) {
    stages_.Next(name);
    const GraphBuilder::Scope scope(b_, name);
    const Tensor p = Adjust(previous, x, filters);
    const Tensor h = Project("begin", x, filters);
    const Window around{3, 3};
    const Tensor a0 = Separable("sep5x5_0", h, 5, filters);
    const Tensor s0 = Pair(0, a0, Separable("sep3x3_0", p, 3, filters));
    b_.SetBranch(1);
    const Tensor a1 = Separable("sep5x5_1", p, 5, filters);
    const Tensor s1 = Pair(1, a1, Separable("sep3x3_1", p, 3, filters));
    b_.SetBranch(2);
    const Tensor s2 = Pair(2, AvgPool(b_, "avg_2", h, around), p);
    b_.SetBranch(3);
    const Tensor a3 = AvgPool(b_, "avg_3a", p, around);
    const Tensor s3 = Pair(3, a3, AvgPool(b_, "avg_3b", p, around));
    b_.SetBranch(4);
    const Tensor s4 = Pair(4, Separable("sep3x3_4", h, 3, filters), h);
    b_.SetBranch(0);
    return Concat(b_, "concat", {p, s0, s1, s2, s3, s4}, 3);
  }

  Tensor Reduce(const std::string& name, Tensor x, Tensor previous, std::int64_t filters) {
    stages_.Next(name);
    const GraphBuilder::Scope scope(b_, name);
    const Tensor p = Adjust(previous, x, filters);
    const Tensor h = Project("begin", x, filters);
    const Window halving{3, 3, 2};
    const Tensor a0 = Separable("sep5x5_0", h, 5, filters, 2);
    const Tensor s0 = Pair(0, a0, Separable("sep7x7_0", p, 7, filters, 2));
    b_.SetBranch(1);
    const Tensor a1 = MaxPool(b_, "max_1", h, halving);
    const Tensor s1 = Pair(1, a1, Separable("sep7x7_1", p, 7, filters, 2));
    b_.SetBranch(2);
    const Tensor a2 = AvgPool(b_, "avg_2", h, halving);
    const Tensor s2 = Pair(2, a2, Separable("sep5x5_2", p, 5, filters, 2));
    b_.SetBranch(3);
    const Tensor s3 = Pair(3, s1, AvgPool(b_, "avg_3", s0, {3, 3}));
    b_.SetBranch(4);
    const Tensor a4 = Separable("sep3x3_4", s0, 3, filters);
    const Tensor s4 = Pair(4, a4, MaxPool(b_, "max_4", h, halving));
    b_.SetBranch(0);
    return Concat(b_, "concat", {s1, s2, s3, s4}, 3);
  }

  GraphBuilder& b_;
  const Size& size_;
  Stages stages_;
};

}  // namespace

sim::OpGraph BuildNasNetA(const Spec& spec) {
  ParameterReader read(spec);
  // No count is known for NASNet: ResNet's factor is taken, the other network whose weights are all
  // normalised.
  const ModelOptions options =
      ReadModelOptions(read, {.batch = 64, .optimizer = Optimizer::kRmsProp, .framework_ops = 10});
  const Size& size = kSizes[read.Choice("size", {kSizes[0].name, kSizes[1].name}) == kSizes[0].name ? 0 : 1];
  const std::int64_t classes = read.Int("classes", 1000, 2, 1 << 20);

  GraphBuilder builder(spec.name, options.builder);
  NasNet model(builder, size);
  builder.SetLocation({0, 0, "stem"});
  const Batch batch = ImageBatch(builder, options.batch, size.image);
  Tensor x = model.Build(batch.images);
  x = Dropout(builder, "dropout", x);
  Predict(builder, "loss", Dense(builder, "logits", x, classes), batch.labels);
  return builder.Finish(Describe(spec, read, model.stages(), "branch"));
}

}  // namespace berth::scenarios
