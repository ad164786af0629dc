// Inception-V3, 299 x 299 images (Szegedy et al., Rethinking the Inception Architecture, 2016; block widths
// as read in Park and Baechi). Checked: 23,817,352 weights without the auxiliary head, 5.71
// G multiply-adds.
//
//   batch=32   bn=yes|no: no = bias in place of batch normalisation, as in Placeto's graph
//   aux=no|yes: a second loss half-way, when training
//   classes=1000   optimizer=rmsprop
//
// Rows of the tables (docs/protocol_rules.md#sizes): Hierarchical batch=1; Placeto
// batch=64,bn=no,optimizer=adam,gradients=colocated. A stage is a block (stem, mixed blocks, head), a branch
// one of its parallel paths.
#include "scenarios/builder/vision.h"
#include "scenarios/builder/workload_options.h"
#include "scenarios/workloads/workloads.h"

namespace stowplan::scenarios {
namespace {

constexpr Window kPoolStride1{3, 3, 1, true};
constexpr Window kPoolStride2{3, 3, 2, false};

class Inception {
 public:
  Inception(GraphBuilder& builder, Norm norm) : b_(builder), stages_(builder), norm_(norm) {}

  int stages() const { return stages_.count(); }

  Tensor Stem(Tensor x) {
    stages_.Next("stem");
    const GraphBuilder::Scope scope(b_, "stem");
    x = Conv("conv0", x, 32, {3, 3, 2, false});
    x = Conv("conv1", x, 32, {3, 3, 1, false});
    x = Conv("conv2", x, 64, {3, 3});
    x = MaxPool(b_, "pool0", x, kPoolStride2);
    x = Conv("conv3", x, 80, {1, 1});
    x = Conv("conv4", x, 192, {3, 3, 1, false});
    return MaxPool(b_, "pool1", x, kPoolStride2);
  }

  // 35 x 35.
  Tensor BlockA(const std::string& name, Tensor x, std::int64_t pool_channels) {
    const GraphBuilder::Scope scope = Enter(name);
    const Tensor a = Branch(0, "1x1", x, 64, {1, 1});
    Tensor c = Branch(1, "5x5_reduce", x, 48, {1, 1});
    c = Conv("5x5", c, 64, {5, 5});
    Tensor d = Branch(2, "3x3_reduce", x, 64, {1, 1});
    d = Conv("3x3_0", d, 96, {3, 3});
    d = Conv("3x3_1", d, 96, {3, 3});
    return Join({a, c, d, PoolBranch(3, x, pool_channels)});
  }

  // 35 x 35 to 17 x 17.
  Tensor ReductionA(const std::string& name, Tensor x) {
    const GraphBuilder::Scope scope = Enter(name);
    const Tensor a = Branch(0, "3x3", x, 384, {3, 3, 2, false});
    Tensor c = Branch(1, "double_reduce", x, 64, {1, 1});
    c = Conv("double_0", c, 96, {3, 3});
    c = Conv("double_1", c, 96, {3, 3, 2, false});
    b_.SetBranch(2);
    return Join({a, c, MaxPool(b_, "pool", x, kPoolStride2)});
  }

  // 17 x 17.
  Tensor BlockB(const std::string& name, Tensor x, std::int64_t middle) {
    const GraphBuilder::Scope scope = Enter(name);
    const Tensor a = Branch(0, "1x1", x, 192, {1, 1});
    Tensor c = Branch(1, "7x7_reduce", x, middle, {1, 1});
    c = Conv("1x7", c, middle, {1, 7});
    c = Conv("7x1", c, 192, {7, 1});
    Tensor d = Branch(2, "double_reduce", x, middle, {1, 1});
    d = Conv("double_7x1_0", d, middle, {7, 1});
    d = Conv("double_1x7_0", d, middle, {1, 7});
    d = Conv("double_7x1_1", d, middle, {7, 1});
    d = Conv("double_1x7_1", d, 192, {1, 7});
    return Join({a, c, d, PoolBranch(3, x, 192)});
  }

  // 17 x 17 to 8 x 8.
  Tensor ReductionB(const std::string& name, Tensor x) {
    const GraphBuilder::Scope scope = Enter(name);
    Tensor a = Branch(0, "3x3_reduce", x, 192, {1, 1});
    a = Conv("3x3", a, 320, {3, 3, 2, false});
    Tensor c = Branch(1, "7x7_reduce", x, 192, {1, 1});
    c = Conv("1x7", c, 192, {1, 7});
    c = Conv("7x1", c, 192, {7, 1});
    c = Conv("7x7_3x3", c, 192, {3, 3, 2, false});
    b_.SetBranch(2);
    return Join({a, c, MaxPool(b_, "pool", x, kPoolStride2)});
  }

  // 8 x 8; two of its paths part once more.
  Tensor BlockC(const std::string& name, Tensor x) {
    const GraphBuilder::Scope scope = Enter(name);
    const Tensor a = Branch(0, "1x1", x, 320, {1, 1});
    const Tensor c = Fork("3x3", Branch(1, "3x3_reduce", x, 384, {1, 1}));
    const Tensor reduced = Branch(2, "double_reduce", x, 448, {1, 1});
    const Tensor d = Fork("double", Conv("double_3x3", reduced, 384, {3, 3}));
    return Join({a, c, d, PoolBranch(3, x, 192)});
  }

  void AuxiliaryHead(Tensor x, Tensor labels, std::int64_t classes) {
    stages_.Next("aux");
    const GraphBuilder::Scope scope(b_, "aux");
    x = AvgPool(b_, "pool", x, {5, 5, 3, false});
    x = Conv("conv0", x, 128, {1, 1});
    x = Conv("conv1", x, 768, {b_.shape(x)[1], b_.shape(x)[2], 1, false});
    x = Reshape(b_, "flatten", x, {b_.shape(x)[0], 768});
    Predict(b_, "loss", Dense(b_, "logits", x, classes), labels);
  }

  void Head(Tensor x, Tensor labels, std::int64_t classes) {
    stages_.Next("head");
    const GraphBuilder::Scope scope(b_, "head");
    x = AvgPool(b_, "pool", x, {b_.shape(x)[1], b_.shape(x)[2], 1, false});
    x = Dropout(b_, "dropout", x);
    x = Reshape(b_, "flatten", x, {b_.shape(x)[0], b_.shape(x)[3]});
    Predict(b_, "loss", Dense(b_, "logits", x, classes), labels);
  }

 private:
  GraphBuilder::Scope Enter(const std::string& name) {
    stages_.Next(name);
    return {b_, name};
  }

  Tensor Conv(const std::string& name, Tensor x, std::int64_t channels, const Window& window) {
    return ConvUnit(b_, name, x, {.channels = channels, .window = window, .norm = norm_});
  }

  Tensor Branch(int branch, const std::string& name, Tensor x, std::int64_t channels, const Window& window) {
    b_.SetBranch(branch);
    return Conv(name, x, channels, window);
  }

  Tensor PoolBranch(int branch, Tensor x, std::int64_t channels) {
    b_.SetBranch(branch);
    return Conv("pool_1x1", AvgPool(b_, "pool", x, kPoolStride1), channels, {1, 1});
  }

  Tensor Fork(const std::string& name, Tensor x) {
    const Tensor wide = Conv(name + "_1x3", x, 384, {1, 3});
    return Concat(b_, name + "_concat", {wide, Conv(name + "_3x1", x, 384, {3, 1})}, 3);
  }

  Tensor Join(const std::vector<Tensor>& paths) {
    b_.SetBranch(0);
    return Concat(b_, "concat", paths, 3);
  }

  GraphBuilder& b_;
  Stages stages_;
  Norm norm_;
};

}  // namespace

sim::OpGraph BuildInceptionV3(const Settings& read) {
  const ModelOptions options = ReadModelOptions(read);
  const bool batch_norm = read.Bool("bn");
  const bool auxiliary = read.Bool("aux");
  const std::int64_t classes = read.Int("classes");

  GraphBuilder builder(read.name(), options.builder);
  Inception model(builder, batch_norm ? Norm::kBatchNoScale : Norm::kBias);
  builder.SetLocation({0, 0, "stem"});
  const Batch batch = ImageBatch(builder, options.batch, 299);
  Tensor x = model.Stem(batch.images);
  x = model.BlockA("mixed_a0", x, 32);
  x = model.BlockA("mixed_a1", x, 64);
  x = model.BlockA("mixed_a2", x, 64);
  x = model.ReductionA("reduction_a", x);
  x = model.BlockB("mixed_b0", x, 128);
  x = model.BlockB("mixed_b1", x, 160);
  x = model.BlockB("mixed_b2", x, 160);
  x = model.BlockB("mixed_b3", x, 192);
  if (auxiliary && builder.training()) model.AuxiliaryHead(x, batch.labels, classes);
  x = model.ReductionB("reduction_b", x);
  x = model.BlockC("mixed_c0", x);
  x = model.BlockC("mixed_c1", x);
  model.Head(x, batch.labels, classes);

  return builder.Finish(Describe(read, model.stages(), "branch"));
}

}  // namespace stowplan::scenarios
