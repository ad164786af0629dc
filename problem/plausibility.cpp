#include "problem/plausibility.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "cost_models/ops/op_work.h"
#include "cost_models/ops/roofline.h"
#include "sim/analysis/product_flops.h"

namespace stowplan::problem {
namespace {

using cost_models::OpWork;

// A count that others made may leave out half of a causal attention, or count a multiply-add once.
constexpr double kOtherWayOfCounting = 2.1;
// The gradients of a product are one or two products of its size, with a third of the first again where it is recomputed.
constexpr double kLeastBackward = 0.5, kMostBackward = 4;
// Data sheets round, and clocks rise above what they say.
constexpr double kAboveSheet = 1.1;
constexpr double kSlow = 20;
// Below, launches and the filling of a machine decide.
constexpr double kLeastMicros = 20;
// Caches serve smaller tensors faster than memory does.
constexpr double kBeyondCaches = 256e6;  // [bytes]

// "3 ops (a, b, c)" with the first few of them.
class Ops {
 public:
  void Add(const sim::Op& op) {
    ++count_;
    constexpr std::size_t kShown = 3;
    if (names_.size() < kShown) names_.push_back(fmt::format("{} ({})", op.name, op.type));
  }
  std::int64_t count() const { return count_; }
  std::string ToString() const {
    std::string text = fmt::format("{}", fmt::join(names_, ", "));
    const auto more = count_ - static_cast<std::int64_t>(names_.size());
    return more > 0 ? fmt::format("{} and {} more", text, more) : text;
  }

 private:
  std::int64_t count_ = 0;
  std::vector<std::string> names_;
};

const sim::Output& OutputOf(const sim::OpGraph& graph, const sim::TensorRef& tensor) {
  return graph.ops[static_cast<std::size_t>(tensor.op)].outputs[static_cast<std::size_t>(tensor.output)];
}

bool Differs(double one, double other, double times) {
  return std::max(one, other) > times * std::min(one, other);
}

// "aten._grouped_mm", "MyFusedMatMul", "conv2d_bias_relu"
bool SoundsLikeProduct(const sim::Op& op) {
  std::string name = op.type;
  if (const auto torch_op = sim::FindString(op.attributes, "torch_op")) name = *torch_op;
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::string_view kParts[] = {"matmul",    "gemm",   "_mm",    "bmm",         "einsum",
                                         "conv1d",    "conv2d", "conv3d", "convolution", "linear",
                                         "attention", "lstm",   "gru",    "rnn"};
  // Interpolation has a linear kind, which multiplies no matrices.
  constexpr std::string_view kNot[] = {"upsample", "bilinear", "trilinear"};
  const auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  return std::ranges::any_of(kParts, has) && std::ranges::none_of(kNot, has);
}

bool HasOperands(const sim::OpGraph& graph, const sim::Op& op) {
  const auto matrices = std::ranges::count_if(op.inputs, [&](const sim::TensorRef& input) {
    return OutputOf(graph, input).bytes > 0 && OutputOf(graph, input).shape.size() > 1;
  });
  return matrices >= 2 && !op.outputs.empty() && op.outputs[0].bytes > 0 &&
         op.outputs[0].storage == sim::Output::Storage::kOwn;
}

// The forward op of each op of the backward pass that names it, "gradients/encoder/mm/mm" of "encoder/mm".
std::unordered_map<std::string_view, double> ForwardFlops(const sim::OpGraph& graph) {
  std::unordered_map<std::string_view, double> flops;
  for (const sim::Op& op : graph.ops)
    if (op.phase != "backward" && op.phase != "update" && op.flops > 0) flops.emplace(op.name, op.flops);
  return flops;
}

// Empty where it names none. A copy for a micro-batch ("encoder/mm/mm@2") belongs to a copy.
std::string ForwardName(const sim::Op& op) {
  constexpr std::string_view kGradients = "gradients/";
  const auto slash = op.name.rfind('/');
  if (op.phase != "backward" || !op.name.starts_with(kGradients) || slash < kGradients.size()) return "";
  const auto copy = op.name.find('@', slash);
  return op.name.substr(kGradients.size(), slash - kGradients.size()) +
         (copy == std::string::npos ? "" : op.name.substr(copy));
}

// Least time by the data sheet [us]. Of arithmetic and of memory alone.
std::pair<double, double> SheetMicros(const OpWork& work, const cost_models::DeviceSheet& sheet) {
  const double peak = cost_models::PeakOf(sheet, work.dtype, work.tf32.value_or(true));
  return {work.flops / peak * 1e6, work.bytes / sheet.memory_bandwidth * 1e6};
}

}  // namespace

std::vector<std::string> ImplausibleWork(const sim::OpGraph& graph) {
  Ops without;
  Ops contradicted;
  Ops unlike_forward;
  const auto forward = ForwardFlops(graph);
  std::map<std::string_view, double> backward;  // by forward op
  std::map<std::string_view, sim::OpIndex> first;
  for (sim::OpIndex i = 0; i < graph.size(); ++i) {
    const sim::Op& op = graph.ops[static_cast<std::size_t>(i)];
    const auto counted = sim::ProductFlops(graph, i);
    if (op.flops <= 0 && HasOperands(graph, op) && (counted ? *counted > 0 : SoundsLikeProduct(op)) &&
        !op.cost_us && op.cost_us_by_kind.empty())
      without.Add(op);
    if (op.flops > 0 && counted && Differs(*counted, op.flops, kOtherWayOfCounting)) contradicted.Add(op);
    const auto of = op.flops > 0 ? forward.find(ForwardName(op)) : forward.end();
    if (of == forward.end()) continue;
    backward[of->first] += op.flops;
    first.emplace(of->first, i);
  }
  for (const auto& [name, flops] : backward) {
    const double ratio = flops / forward.at(name);
    if (ratio < kLeastBackward || ratio > kMostBackward)
      unlike_forward.Add(graph.ops[static_cast<std::size_t>(first.at(name))]);
  }
  std::vector<std::string> notes;
  const auto note = [&](const Ops& ops, std::string_view what) {
    if (ops.count() > 0)
      notes.push_back(fmt::format("warning: {} op{} {}: {}", ops.count(), ops.count() == 1 ? "" : "s", what,
                                  ops.ToString()));
  };
  note(without,
       "multiply matrices by their names or shapes but have no FLOPs, and are priced by the bytes they move "
       "alone");
  note(contradicted, "have FLOPs that their shapes contradict by more than a factor of two");
  note(unlike_forward,
       "of the backward pass have less than half or more than four times the FLOPs of their forward ops");
  return notes;
}

std::vector<std::string> ImplausibleTimes(const sim::Problem& problem,
                                          const cost_models::Catalogue& catalogue) {
  std::vector<std::string> notes;
  const sim::Cluster& cluster = problem.cluster();
  std::vector<std::string_view> seen;
  for (sim::DeviceIndex d = 0; d < cluster.size(); ++d) {
    const sim::Device& device = cluster.devices[static_cast<std::size_t>(d)];
    const cost_models::DeviceSheet* sheet = catalogue.FindSheet(device.kind);
    if (sheet == nullptr || !sheet->HasRates() || sheet->cores > 0 ||
        std::ranges::find(seen, device.kind) != seen.end())
      continue;
    seen.push_back(device.kind);
    Ops fast;
    Ops slow;
    for (sim::OpIndex i = 0; i < problem.graph().size(); ++i) {
      if (problem.costs().TierAt(i, d) != sim::Tier::kMeasured) continue;
      double arithmetic = 0;
      double memory = 0;
      double bytes = 0;
      for (const OpWork& work : cost_models::KernelsOf(problem.graph(), i)) {
        if (!cost_models::IsContraction(work.op_class)) continue;
        const auto [by_flops, by_bytes] = SheetMicros(work, *sheet);
        arithmetic += by_flops;
        memory += by_bytes;
        bytes += work.bytes;
      }
      if (std::max(arithmetic, memory) < kLeastMicros) continue;
      const double us = sim::ToMicros(problem.costs().at(i, d));
      const sim::Op& op = problem.graph().ops[static_cast<std::size_t>(i)];
      if (us * kAboveSheet < arithmetic || (bytes > kBeyondCaches && us * kAboveSheet < memory)) fast.Add(op);
      if (us > kSlow * std::max(arithmetic, memory)) slow.Add(op);
    }
    if (fast.count() > 0)
      notes.push_back(fmt::format("warning: {} product{} took less time on {} than its data sheet allows: {}",
                                  fast.count(), fast.count() == 1 ? "" : "s", device.kind, fast.ToString()));
    if (slow.count() > 0)
      notes.push_back(fmt::format(
          "warning: {} op{} would take more than {:.0f} times as long on {} as its data sheet allows: {}",
          slow.count(), slow.count() == 1 ? "" : "s", kSlow, device.kind, slow.ToString()));
  }
  return notes;
}

std::vector<std::string> SlowFormats(const sim::Problem& problem, const cost_models::Catalogue& catalogue) {
  std::set<std::string> kinds;
  for (const sim::Device& device : problem.cluster().devices) {
    const cost_models::DeviceSheet* sheet = catalogue.FindSheet(device.kind);
    if (sheet != nullptr && sheet->peak_bf16 > 0 && sheet->peak_bf16 < sheet->peak_f16)
      kinds.insert(device.kind);
  }
  std::int64_t products = 0;
  for (sim::OpIndex i = 0; i < problem.graph().size() && !kinds.empty(); ++i) {
    const OpWork work = cost_models::WorkOf(problem.graph(), i);
    products += cost_models::IsContraction(work.op_class) && work.dtype == "bf16" ? 1 : 0;
  }
  std::vector<std::string> notes;
  for (const std::string& kind : kinds) {
    if (products > 0)
      notes.push_back(fmt::format(
          "warning: {} has no units for bf16, so {} product{} run{} at the rate of f32; f16 would be faster",
          kind, products, products == 1 ? "" : "s", products == 1 ? "s" : ""));
  }
  return notes;
}

}  // namespace stowplan::problem
