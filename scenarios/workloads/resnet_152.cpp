// ResNet-152, first version, 224 x 224 images (He et al., Deep Residual Learning, 2016). The stride sits in a
// block's first 1 x 1 convolution. Checked: 60,192,808 weights, 11.28 G multiply-adds.
//
//   batch=32   classes=1000   optimizer=momentum (assumed)
//
// A stage is a block; the projection of a shortcut is its second branch.
#include <array>

#include "scenarios/builder/vision.h"
#include "scenarios/builder/workload_options.h"
#include "scenarios/workloads/workloads.h"

namespace stowplan::scenarios {
namespace {

struct Group {
  const char* name;
  int blocks;
  std::int64_t width;  // of the 3 x 3; the block's output has four times as many channels
  std::int64_t stride;
};
constexpr std::array kGroups = {Group{"conv2", 3, 64, 1}, Group{"conv3", 8, 128, 2},
                                Group{"conv4", 36, 256, 2}, Group{"conv5", 3, 512, 2}};

Tensor Bottleneck(GraphBuilder& b, Tensor x, std::int64_t width, std::int64_t stride, bool project) {
  Tensor y = ConvUnit(b, "reduce", x, {.channels = width, .window = {1, 1, stride}});
  y = ConvUnit(b, "3x3", y, {.channels = width, .window = {3, 3}});
  y = ConvUnit(b, "expand", y, {.channels = 4 * width, .window = {1, 1}, .relu = false});
  Tensor shortcut = x;
  if (project) {
    b.SetBranch(1);
    shortcut = ConvUnit(b, "project", x, {.channels = 4 * width, .window = {1, 1, stride}, .relu = false});
    b.SetBranch(0);
  }
  return Relu(b, "relu", Add(b, "add", y, shortcut));
}

}  // namespace

sim::OpGraph BuildResNet152(const Settings& read) {
  const ModelOptions options = ReadModelOptions(read);
  const std::int64_t classes = read.Int("classes");

  GraphBuilder builder(read.name(), options.builder);
  Stages stages(builder);
  stages.Next("conv1");
  const Batch batch = ImageBatch(builder, options.batch, 224);
  Tensor x = ConvUnit(builder, "conv1", batch.images, {.channels = 64, .window = {7, 7, 2}});
  x = MaxPool(builder, "pool1", x, {3, 3, 2});
  for (const Group& group : kGroups) {
    for (int block = 0; block < group.blocks; ++block) {
      const std::string name = std::string(group.name) + "_" + std::to_string(block);
      stages.Next(name);
      const GraphBuilder::Scope scope(builder, name);
      x = Bottleneck(builder, x, group.width, block == 0 ? group.stride : 1, block == 0);
    }
  }
  stages.Next("head");
  x = SpatialMean(builder, "pool5", x);
  Predict(builder, "loss", Dense(builder, "logits", x, classes), batch.labels);

  return builder.Finish(Describe(read, stages.count(), "branch"));
}

}  // namespace stowplan::scenarios
