#include "cost_models/calibration/step_ops.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "profiler/correlation.h"
#include "profiler/statistics.h"
#include "sim/error.h"

namespace berth::cost_models {
namespace {

using Dims = std::vector<std::int64_t>;
using Shape = std::vector<std::pair<std::string, std::int64_t>>;

std::optional<Shape> Matrices(const std::vector<Dims>& inputs) {
  if (inputs.size() < 2 || inputs[0].size() != 2 || inputs[1].size() != 2) return std::nullopt;
  return Shape{{"m", inputs[0][0]}, {"n", inputs[1][1]}, {"k", inputs[0][1]}};
}

std::optional<Shape> Batches(const std::vector<Dims>& inputs) {
  if (inputs.size() < 2 || inputs[0].size() != 3 || inputs[1].size() != 3) return std::nullopt;
  return Shape{{"batch", inputs[0][0]}, {"m", inputs[0][1]}, {"n", inputs[1][2]}, {"k", inputs[0][2]}};
}

std::optional<Shape> Elements(const std::vector<Dims>& inputs) {
  if (inputs.empty() || inputs[0].empty()) return std::nullopt;
  std::int64_t count = 1;
  for (const std::int64_t dim : inputs[0]) count *= dim;
  return Shape{{"elements", count}};
}

// Of two tensors of one shape; a broadcast reads less.
std::optional<Shape> Alike(const std::vector<Dims>& inputs) {
  return inputs.size() >= 2 && inputs[0] == inputs[1] ? Elements(inputs) : std::nullopt;
}

std::optional<Shape> Rows(const std::vector<Dims>& inputs) {
  const auto elements = Elements(inputs);
  if (!elements) return std::nullopt;
  return Shape{{"rows", elements->front().second / inputs[0].back()}, {"columns", inputs[0].back()}};
}

// Ops of which one op of a graph does the same work.
struct Row {
  std::string_view marker;
  const char* op;
  std::optional<Shape> (*shape)(const std::vector<Dims>& inputs);
};
constexpr Row kRows[] = {
    {"aten::mm", "gemm", Matrices},      {"aten::bmm", "bmm", Batches},    {"aten::add", "add", Alike},
    {"aten::relu", "relu", Elements},    {"aten::gelu", "gelu", Elements}, {"aten::tanh", "tanh", Elements},
    {"aten::_softmax", "softmax", Rows},
};

// [[64, 32], [32, 16], []]: of tensors the sizes, of other arguments nothing.
std::vector<Dims> InputDims(const profiler::Marker& marker) {
  const sim::Attribute* found = sim::FindAttribute(marker.attributes, "Input Dims");
  const auto* list = found != nullptr ? std::get_if<sim::Attribute::List>(&found->value) : nullptr;
  std::vector<Dims> inputs;
  if (list == nullptr) return inputs;
  for (const sim::Attribute& entry : *list) {
    Dims dims;
    if (const auto* sizes = std::get_if<sim::Attribute::List>(&entry.value)) {
      for (const sim::Attribute& size : *sizes) {
        const auto* whole = std::get_if<std::int64_t>(&size.value);
        if (whole == nullptr || *whole < 1) return {};
        dims.push_back(*whole);
      }
    }
    inputs.push_back(std::move(dims));
  }
  return inputs;
}

std::string FormatOf(const profiler::Marker& marker) {
  const sim::Attribute* found = sim::FindAttribute(marker.attributes, "Input type");
  const auto* list = found != nullptr ? std::get_if<sim::Attribute::List>(&found->value) : nullptr;
  const auto* name =
      list != nullptr && !list->empty() ? std::get_if<std::string>(&list->front().value) : nullptr;
  if (name == nullptr) return "";
  if (*name == "float") return "f32";
  if (*name == "c10::Half") return "f16";
  return *name == "c10::BFloat16" ? "bf16" : "";
}

std::optional<ObservedOp> Told(const profiler::Marker& marker) {
  const auto row = std::ranges::find(kRows, marker.name, &Row::marker);
  if (row == std::end(kRows)) return std::nullopt;
  const auto shape = row->shape(InputDims(marker));
  const std::string format = FormatOf(marker);
  if (!shape || format.empty()) return std::nullopt;
  return ObservedOp{.op = row->op, .phase = "forward", .format = format, .shape = *shape};
}

}  // namespace

StepOps OpsOfSteps(const std::string& source, const profiler::ActivityTrace& trace, double transition_us) {
  const profiler::SanitisedTrace clean = profiler::Sanitise(trace);
  if (clean.verdict == profiler::SanitisedTrace::Verdict::kRefused)
    throw InputError(source + ": " + clean.sentence);
  StepOps made;
  made.workload = std::filesystem::path(source).filename().string();
  made.workload = made.workload.substr(0, made.workload.find('.'));
  made.verdict = clean.sentence;
  profiler::ForEachDeviceWork(clean.trace, [&](const profiler::DeviceWork& work) {
    made.device_us += static_cast<double>(work.end - work.start) / 1e3;
  });
  std::map<std::tuple<std::string, std::string, Shape>, std::vector<double>> calls;
  for (const profiler::OpWork& work : profiler::Correlate(clean.trace).ops) {
    const auto op = Told(clean.trace.markers[work.marker]);
    if (!op) {
      ++made.untold;
      continue;
    }
    const double us = static_cast<double>(work.device_time) / 1e3;
    if (us <= 0) continue;
    calls[{op->op, op->format, op->shape}].push_back(us +
                                                     transition_us * static_cast<double>(work.work.size()));
    made.told_us += us;
  }
  for (const auto& [key, times] : calls) {
    ObservedOp op{
        .op = std::get<0>(key), .phase = "forward", .format = std::get<1>(key), .shape = std::get<2>(key)};
    const double median = profiler::Quantile(times, 0.5);
    std::vector<double> distances;
    for (const double time : times) distances.push_back(std::abs(time - median));
    op.hot = {.count = static_cast<std::int64_t>(times.size()),
              .median_us = median,
              .mad_us = profiler::Quantile(distances, 0.5),
              .low_us = profiler::Quantile(times, 0.05),
              .high_us = profiler::Quantile(times, 0.95)};
    op.workload = made.workload;
    made.ops.push_back(std::move(op));
  }
  if (made.ops.empty()) {
    throw InputError(
        fmt::format("{}: tells no op with name, shapes and device time (of {} ops with device work); "
                    "record with the framework's ops and their shapes, as torch.profiler with "
                    "record_shapes=True",
                    source, made.untold));
  }
  return made;
}

}  // namespace berth::cost_models
