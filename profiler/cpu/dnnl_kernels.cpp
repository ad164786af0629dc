// What oneDNN computes: convolutions with their gradients, matrix products, pooling, softmax, activations.
//
// Images are NHWC and filters HWIO in memory, as in the graph. Where oneDNN wants a filter in another order it
// is brought there in every step, as part of the op: the op starts and ends with what the graph says.
#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>

#include "profiler/cpu/cpu_kernels.h"

namespace stowplan::profiler {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

const dnnl::engine& Engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

// Streams of a CPU run what they are given at once, on the calling thread.
dnnl::stream& Stream() {
  thread_local dnnl::stream stream(Engine());
  return stream;
}

// The scratchpad is the executor's: the library's own belongs to the thread that made the primitive.
dnnl::primitive_attr OwnScratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

std::int64_t Padded(std::size_t bytes) {
  return static_cast<std::int64_t>((bytes + 63) / 64 * 64);
}

memory Hold(const memory::desc& desc) {
  return memory(desc, Engine(), nullptr);
}

// A primitive whose arguments are inputs and outputs of the op; one of them may have to be reordered: a filter.
class Primitive : public Kernel {
 public:
  struct Argument {
    int name;  // DNNL_ARG_…
    memory::desc desc;
    bool output;
    std::size_t number;  // of the op's inputs or outputs
  };

  template <typename Description>
  Primitive(const dnnl::primitive& primitive, const Description& description,
            const std::vector<Argument>& arguments)
      : primitive_(primitive), scratchpad_(Hold(description.scratchpad_desc())) {
    for (const Argument& argument : arguments) bound_.push_back({argument, Hold(argument.desc)});
    Bind();
  }

  // `inner`: how the primitive wants argument `which`.
  void Reorder(std::size_t which, const memory::desc& inner) {
    if (inner == bound_[which].argument.desc) return;
    reordered_ = which;
    inner_ = Hold(inner);
    const auto& outer = bound_[which].argument.desc;
    const bool output = bound_[which].argument.output;
    reorder_ = dnnl::reorder(dnnl::reorder::primitive_desc(Engine(), output ? inner : outer, Engine(),
                                                           output ? outer : inner, OwnScratch()));
    Bind();
  }

  std::int64_t scratch_bytes() const override {
    return Padded(scratchpad_.get_desc().get_size()) +
           (reordered_ ? Padded(inner_.get_desc().get_size()) : 0);
  }

  void Run(const KernelArguments& a) override {
    for (Bound& bound : bound_) {
      bound.memory.set_data_handle(bound.argument.output
                                       ? a.out<void>(bound.argument.number)
                                       : const_cast<void*>(a.in<void>(bound.argument.number)));
    }
    scratchpad_.set_data_handle(a.scratch);
    if (!reordered_) {
      primitive_.execute(Stream(), arguments_);
      return;
    }
    inner_.set_data_handle(static_cast<char*>(a.scratch) + Padded(scratchpad_.get_desc().get_size()));
    Bound& outer = bound_[*reordered_];
    if (!outer.argument.output) reorder_.execute(Stream(), outer.memory, inner_);
    primitive_.execute(Stream(), arguments_);
    if (outer.argument.output) reorder_.execute(Stream(), inner_, outer.memory);
  }

 private:
  struct Bound {
    Argument argument;
    dnnl::memory memory;
  };

  void Bind() {
    arguments_.clear();
    for (std::size_t i = 0; i < bound_.size(); ++i)
      arguments_.emplace(bound_[i].argument.name, reordered_ == i ? inner_ : bound_[i].memory);
    arguments_.emplace(DNNL_ARG_SCRATCHPAD, scratchpad_);
  }

  dnnl::primitive primitive_;
  std::vector<Bound> bound_;
  memory scratchpad_;
  std::optional<std::size_t> reordered_;
  memory inner_;
  dnnl::reorder reorder_;
  std::unordered_map<int, memory> arguments_;
};

memory::desc Plain(const memory::dims& dims, Tag tag) {
  return {dims, memory::data_type::f32, tag};
}

// Images and filter of a convolution, forward or backward.
struct Convolution {
  memory::desc images, results, filter, any_filter;
  memory::dims strides, before, after;
};

std::optional<Convolution> Describe(const sim::Op& op, const std::vector<std::int64_t>& images,
                                    const std::vector<std::int64_t>& filter,
                                    const std::vector<std::int64_t>& results) {
  const auto shape = FindConvolution(op, images, filter, results);
  if (!shape) return std::nullopt;
  const Windows& w = shape->windows;
  Convolution c;
  c.images = Plain({w.batch, w.channels, w.height, w.width}, Tag::nhwc);
  c.results = Plain({w.batch, shape->results, w.out_height, w.out_width}, Tag::nhwc);
  const memory::dims dims = shape->depthwise ? memory::dims{w.channels, filter[3], 1, filter[0], filter[1]}
                                             : memory::dims{filter[3], w.channels, filter[0], filter[1]};
  c.filter = Plain(dims, shape->depthwise ? Tag::hwigo : Tag::hwio);
  c.any_filter = Plain(dims, Tag::any);
  c.strides = {w.strides[0], w.strides[1]};
  c.before = {w.before[0], w.before[1]};
  c.after = {w.after[0], w.after[1]};
  return c;
}

dnnl::convolution_forward::primitive_desc ForwardOf(const Convolution& c) {
  const dnnl::convolution_forward::desc forward(dnnl::prop_kind::forward_training,
                                                dnnl::algorithm::convolution_direct, c.images, c.any_filter,
                                                c.results, c.strides, c.before, c.after);
  return {forward, OwnScratch(), Engine()};
}

// Inputs: images, filter.
std::unique_ptr<Kernel> MakeConvolution(const OpTensors& t) {
  if (t.inputs() < 2 || t.outputs() != 1) return nullptr;
  const auto c = Describe(t.op(), t.in_shape(0), t.in_shape(1), t.out_shape(0));
  if (!c) return nullptr;
  const auto forward = ForwardOf(*c);
  auto made =
      std::make_unique<Primitive>(dnnl::convolution_forward(forward), forward,
                                  std::vector<Primitive::Argument>{{DNNL_ARG_SRC, c->images, false, 0},
                                                                   {DNNL_ARG_WEIGHTS, c->filter, false, 1},
                                                                   {DNNL_ARG_DST, c->results, true, 0}});
  made->Reorder(1, forward.weights_desc());
  return made;
}

// Inputs: gradient of the results, filter.
std::unique_ptr<Kernel> MakeConvolutionInput(const OpTensors& t) {
  if (t.inputs() < 2 || t.outputs() != 1) return nullptr;
  const auto c = Describe(t.op(), t.out_shape(0), t.in_shape(1), t.in_shape(0));
  if (!c) return nullptr;
  const dnnl::convolution_backward_data::desc backward(dnnl::algorithm::convolution_direct, c->images,
                                                       c->any_filter, c->results, c->strides, c->before,
                                                       c->after);
  const dnnl::convolution_backward_data::primitive_desc description(backward, OwnScratch(), Engine(),
                                                                    ForwardOf(*c));
  auto made =
      std::make_unique<Primitive>(dnnl::convolution_backward_data(description), description,
                                  std::vector<Primitive::Argument>{{DNNL_ARG_DIFF_DST, c->results, false, 0},
                                                                   {DNNL_ARG_WEIGHTS, c->filter, false, 1},
                                                                   {DNNL_ARG_DIFF_SRC, c->images, true, 0}});
  made->Reorder(1, description.weights_desc());
  return made;
}

// Inputs: images, gradient of the results.
std::unique_ptr<Kernel> MakeConvolutionFilter(const OpTensors& t) {
  if (t.inputs() < 2 || t.outputs() != 1) return nullptr;
  const auto c = Describe(t.op(), t.in_shape(0), t.out_shape(0), t.in_shape(1));
  if (!c) return nullptr;
  const dnnl::convolution_backward_weights::desc backward(dnnl::algorithm::convolution_direct, c->images,
                                                          c->any_filter, c->results, c->strides, c->before,
                                                          c->after);
  const dnnl::convolution_backward_weights::primitive_desc description(backward, OwnScratch(), Engine(),
                                                                       ForwardOf(*c));
  auto made = std::make_unique<Primitive>(
      dnnl::convolution_backward_weights(description), description,
      std::vector<Primitive::Argument>{{DNNL_ARG_SRC, c->images, false, 0},
                                       {DNNL_ARG_DIFF_DST, c->results, false, 1},
                                       {DNNL_ARG_DIFF_WEIGHTS, c->filter, true, 0}});
  made->Reorder(2, description.diff_weights_desc());
  return made;
}

// ---- pooling ----------------------------------------------------------------------------------------------

template <dnnl::algorithm kAlgorithm>
std::unique_ptr<Kernel> MakePooling(const OpTensors& t) {
  Windows w;
  if (t.inputs() != 1 || t.outputs() != 1 || !FindWindows(t.op(), t.in_shape(0), t.out_shape(0), &w) ||
      t.out_shape(0)[3] != w.channels)
    return nullptr;
  const auto images = Plain({w.batch, w.channels, w.height, w.width}, Tag::nhwc);
  const auto results = Plain({w.batch, w.channels, w.out_height, w.out_width}, Tag::nhwc);
  const dnnl::pooling_forward::desc forward(dnnl::prop_kind::forward_inference, kAlgorithm, images, results,
                                            {w.strides[0], w.strides[1]}, {w.kernel[0], w.kernel[1]},
                                            {w.before[0], w.before[1]}, {w.after[0], w.after[1]});
  const dnnl::pooling_forward::primitive_desc description(forward, OwnScratch(), Engine());
  return std::make_unique<Primitive>(
      dnnl::pooling_forward(description), description,
      std::vector<Primitive::Argument>{{DNNL_ARG_SRC, images, false, 0}, {DNNL_ARG_DST, results, true, 0}});
}

// Input: the gradient of the results.
std::unique_ptr<Kernel> MakeAveragePoolGrad(const OpTensors& t) {
  Windows w;
  if (t.inputs() != 1 || t.outputs() != 1 || !FindWindows(t.op(), t.out_shape(0), t.in_shape(0), &w) ||
      t.in_shape(0)[3] != w.channels)
    return nullptr;
  constexpr auto kAlgorithm = dnnl::algorithm::pooling_avg_exclude_padding;
  const auto images = Plain({w.batch, w.channels, w.height, w.width}, Tag::nhwc);
  const auto results = Plain({w.batch, w.channels, w.out_height, w.out_width}, Tag::nhwc);
  const memory::dims strides = {w.strides[0], w.strides[1]}, kernel = {w.kernel[0], w.kernel[1]},
                     before = {w.before[0], w.before[1]}, after = {w.after[0], w.after[1]};
  const dnnl::pooling_forward::desc forward(dnnl::prop_kind::forward_training, kAlgorithm, images, results,
                                            strides, kernel, before, after);
  const dnnl::pooling_backward::desc backward(kAlgorithm, images, results, strides, kernel, before, after);
  const dnnl::pooling_backward::primitive_desc description(
      backward, OwnScratch(), Engine(),
      dnnl::pooling_forward::primitive_desc(forward, OwnScratch(), Engine()));
  return std::make_unique<Primitive>(dnnl::pooling_backward(description), description,
                                     std::vector<Primitive::Argument>{{DNNL_ARG_DIFF_DST, results, false, 0},
                                                                      {DNNL_ARG_DIFF_SRC, images, true, 0}});
}

// ---- activations, softmax ---------------------------------------------------------------------------------

template <dnnl::algorithm kAlgorithm>
std::unique_ptr<Kernel> MakeActivation(const OpTensors& t) {
  if (t.inputs() != 1 || t.outputs() != 1 || t.input(0).bytes != t.output(0).bytes || t.output(0).bytes == 0)
    return nullptr;
  const auto desc = Plain({ElementsOf(t.out_shape(0))}, Tag::a);
  const dnnl::eltwise_forward::desc forward(dnnl::prop_kind::forward_inference, kAlgorithm, desc, 0.F, 0.F);
  const dnnl::eltwise_forward::primitive_desc description(forward, OwnScratch(), Engine());
  return std::make_unique<Primitive>(
      dnnl::eltwise_forward(description), description,
      std::vector<Primitive::Argument>{{DNNL_ARG_SRC, desc, false, 0}, {DNNL_ARG_DST, desc, true, 0}});
}

// Over the last axis, into output `to`.
std::unique_ptr<Kernel> MakeSoftmaxInto(const OpTensors& t, std::size_t to) {
  if (t.inputs() < 1 || t.outputs() <= to || t.input(0).bytes != t.output(to).bytes ||
      t.in_shape(0).empty() || t.output(to).bytes == 0)
    return nullptr;
  const std::int64_t width = t.in_shape(0).back();
  const auto desc = Plain({ElementsOf(t.in_shape(0)) / width, width}, Tag::ab);
  const dnnl::softmax_forward::desc forward(dnnl::prop_kind::forward_inference, desc, 1);
  const dnnl::softmax_forward::primitive_desc description(forward, OwnScratch(), Engine());
  return std::make_unique<Primitive>(
      dnnl::softmax_forward(description), description,
      std::vector<Primitive::Argument>{{DNNL_ARG_SRC, desc, false, 0}, {DNNL_ARG_DST, desc, true, to}});
}

std::unique_ptr<Kernel> MakeSoftmax(const OpTensors& t) {
  return MakeSoftmaxInto(t, 0);
}

// Inputs: logits, labels. Outputs: the loss of each row, its probabilities.
std::unique_ptr<Kernel> MakeCrossEntropy(const OpTensors& t) {
  if (t.inputs() < 2 || t.outputs() != 2 || t.input(1).dtype != "i32") return nullptr;
  const std::int64_t rows = ElementsOf(t.out_shape(0));
  if (rows == 0 || ElementsOf(t.in_shape(1)) != rows) return nullptr;
  std::shared_ptr<Kernel> softmax = MakeSoftmaxInto(t, 1);
  if (softmax == nullptr) return nullptr;
  const std::int64_t width = ElementsOf(t.out_shape(1)) / rows;
  return KernelOf(
      [=](const KernelArguments& a) {
        softmax->Run(a);
        for (std::int64_t r = 0; r < rows; ++r) {
          const std::int64_t label = static_cast<std::uint32_t>(a.in<std::int32_t>(1)[r]) % width;
          a.out(0)[r] = -std::log(std::max(a.out(1)[r * width + label], 1e-30F));
        }
      },
      softmax->scratch_bytes());
}

// ---- matrix products --------------------------------------------------------------------------------------

std::unique_ptr<Kernel> ProductKernel(const Product& p) {
  return KernelOf([p](const KernelArguments& a) {
    const std::int64_t lda = p.transpose_a == 'N' ? p.k : p.m, ldb = p.transpose_b == 'N' ? p.n : p.k;
    for (std::int64_t i = 0; i < p.count; ++i) {
      dnnl_sgemm(p.transpose_a, p.transpose_b, p.m, p.n, p.k, 1.F, a.in(0) + i * p.m * p.k, lda,
                 a.in(1) + i * p.k * p.n, ldb, 0.F, a.out(0) + i * p.m * p.n, p.n);
    }
  });
}

std::unique_ptr<Kernel> MakeMatMul(const OpTensors& t) {
  const auto product = FindMatMul(t);
  return product ? ProductKernel(*product) : nullptr;
}

std::unique_ptr<Kernel> MakeBatchMatMul(const OpTensors& t) {
  const auto product = FindBatchMatMul(t);
  return product ? ProductKernel(*product) : nullptr;
}

}  // namespace

std::string DnnlVersion() {
  const dnnl_version_t* const version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

const std::vector<KernelRow>& DnnlKernels() {
  static const std::vector<KernelRow> rows = {
      {"Conv2D", MakeConvolution},
      {"Conv2DBackpropInput", MakeConvolutionInput},
      {"Conv2DBackpropFilter", MakeConvolutionFilter},
      {"DepthwiseConv2dNative", MakeConvolution},
      {"DepthwiseConv2dNativeBackpropInput", MakeConvolutionInput},
      {"DepthwiseConv2dNativeBackpropFilter", MakeConvolutionFilter},
      {"MaxPool", MakePooling<dnnl::algorithm::pooling_max>},
      {"AvgPool", MakePooling<dnnl::algorithm::pooling_avg_exclude_padding>},
      {"AvgPoolGrad", MakeAveragePoolGrad},
      {"Relu", MakeActivation<dnnl::algorithm::eltwise_relu>},
      {"Sigmoid", MakeActivation<dnnl::algorithm::eltwise_logistic>},
      {"Tanh", MakeActivation<dnnl::algorithm::eltwise_tanh>},
      {"Gelu", MakeActivation<dnnl::algorithm::eltwise_gelu_erf>},
      {"Softmax", MakeSoftmax},
      {"SoftmaxCrossEntropyWithLogits", MakeCrossEntropy},
      {"MatMul", MakeMatMul},
      {"BatchMatMul", MakeBatchMatMul},
  };
  return rows;
}

}  // namespace stowplan::profiler
