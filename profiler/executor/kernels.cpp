#include "profiler/executor/kernels.h"

#include <algorithm>

namespace berth::profiler {
namespace {

bool IsView(const OpTensors& tensors) {
  const auto& outputs = tensors.op().outputs;
  return std::all_of(outputs.begin(), outputs.end(), [](const sim::Output& output) {
    return output.storage != sim::Output::Storage::kOwn || output.bytes == 0;
  });
}

// Types whose whole work is to be there.
constexpr std::string_view kNothing[] = {"ControlTrigger", "ExpandDims",   "Flatten",  "Group",
                                         "Identity",       "NoOp",         "Reshape",  "ReadVariableOp",
                                         "Squeeze",        "StopGradient", "Unsqueeze"};

// Every tensor is of 4-byte numbers with a shape that fits its bytes: what the kernels are written for.
bool IsPlain(const sim::Output& tensor) {
  return (tensor.dtype == "f32" || tensor.dtype == "i32") && ElementsOf(tensor.shape) * 4 == tensor.bytes;
}

bool IsPlain(const OpTensors& tensors) {
  for (std::size_t i = 0; i < tensors.inputs(); ++i) {
    if (!IsPlain(tensors.input(i))) return false;
  }
  return std::all_of(tensors.op().outputs.begin(), tensors.op().outputs.end(),
                     [](const sim::Output& output) { return IsPlain(output); });
}

KernelMaker FindMaker(std::string_view type) {
  for (const auto* rows : {&DnnlKernels(), &LoopKernels(), &DataKernels()}) {
    for (const KernelRow& row : *rows) {
      if (row.type == type) return row.make;
    }
  }
  return nullptr;
}

}  // namespace

std::int64_t ElementsOf(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const auto dim : shape) elements *= dim;
  return elements;
}

bool FindSpread(const std::vector<std::int64_t>& large, const std::vector<std::int64_t>& small,
                Spread* spread) {
  std::vector<std::int64_t> kept;
  std::copy_if(small.begin(), small.end(), std::back_inserter(kept),
               [](std::int64_t dim) { return dim != 1; });
  std::vector<std::int64_t> dims;
  std::copy_if(large.begin(), large.end(), std::back_inserter(dims),
               [](std::int64_t dim) { return dim != 1; });
  std::size_t front = 0;
  while (front < kept.size() && front < dims.size() && kept[front] == dims[front]) ++front;
  std::size_t back = 0;
  while (back < kept.size() - front && back < dims.size() - front &&
         kept[kept.size() - 1 - back] == dims[dims.size() - 1 - back]) {
    ++back;
  }
  if (front + back < kept.size()) return false;
  *spread = {};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    auto& part = i < front ? spread->outer : i >= dims.size() - back ? spread->inner : spread->middle;
    part *= dims[i];
  }
  return true;
}

bool FindWindows(const sim::Op& op, const std::vector<std::int64_t>& large,
                 const std::vector<std::int64_t>& small, Windows* windows) {
  const auto pair = [&op](const char* key, std::array<std::int64_t, 2>* into) {
    const sim::Attribute* found = sim::FindAttribute(op.attributes, key);
    const auto* list = found == nullptr ? nullptr : std::get_if<sim::Attribute::List>(&found->value);
    if (list == nullptr || list->size() != 2) return false;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto* number = std::get_if<std::int64_t>(&(*list)[i].value);
      if (number == nullptr || *number < 1) return false;
      (*into)[i] = *number;
    }
    return true;
  };
  if (large.size() != 4 || small.size() != 4 || large[0] != small[0] || ElementsOf(small) == 0) return false;
  if (sim::FindAttribute(op.attributes, "dilations") != nullptr) return false;
  if (!pair("kernel", &windows->kernel) || !pair("strides", &windows->strides)) return false;
  windows->batch = large[0];
  windows->height = large[1];
  windows->width = large[2];
  windows->channels = large[3];
  windows->out_height = small[1];
  windows->out_width = small[2];
  const bool same = sim::FindString(op.attributes, "padding").value_or("VALID") == "SAME";
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t reach = (small[i + 1] - 1) * windows->strides[i] + windows->kernel[i];
    const std::int64_t lacking = std::max<std::int64_t>(reach - large[i + 1], 0);
    if (lacking > 0 && !same) return false;
    windows->before[i] = lacking / 2;
    windows->after[i] = lacking - lacking / 2;
  }
  return true;
}

MadeKernel MakeKernel(const sim::OpGraph& graph, sim::OpIndex op) {
  const OpTensors tensors(graph, op);
  const std::string& type = tensors.op().type;
  if (tensors.op().IsSource()) return {};
  if (std::find(std::begin(kNothing), std::end(kNothing), type) != std::end(kNothing) && IsView(tensors))
    return {};
  const KernelMaker make = FindMaker(type);
  if (make != nullptr && IsPlain(tensors)) {
    if (auto kernel = make(tensors)) return {std::move(kernel), false};
  }
  return {MakeStandIn(tensors), true};
}

std::vector<std::string_view> KernelTypes() {
  std::vector<std::string_view> types(std::begin(kNothing), std::end(kNothing));
  for (const auto* rows : {&DnnlKernels(), &LoopKernels(), &DataKernels()}) {
    for (const KernelRow& row : *rows) types.push_back(row.type);
  }
  std::sort(types.begin(), types.end());
  return types;
}

}  // namespace berth::profiler
