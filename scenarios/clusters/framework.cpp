#include "scenarios/clusters/framework.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/formats/document/units_text.h"

namespace stowplan::scenarios {
namespace {

struct Reserve {
  sim::Bytes size = 0;
  double percent = 0;
};

// [bytes] or [%] of one part of a reserve.
void ReadPart(const std::string& part, Reserve& reserve) {
  if (!part.ends_with('%')) {
    reserve.size = part == "0" ? 0 : formats::ParseBytes(part, "--reserve");
    return;
  }
  char* end = nullptr;
  reserve.percent = std::strtod(part.c_str(), &end);
  if (end == part.c_str() || std::string_view(end) != "%" || !(reserve.percent >= 0 && reserve.percent < 100))
    throw InputError("");
}

Reserve ParseReserve(const std::string& text) {
  const std::size_t plus = text.find('+');
  Reserve reserve;
  try {
    ReadPart(text.substr(0, plus), reserve);
    if (plus != text.npos) ReadPart(text.substr(plus + 1), reserve);
  } catch (const InputError&) {
    throw InputError(
        fmt::format("--reserve {}: wanted a size, a share below 100 % or both, like {}.", text, kReserve));
  }
  return reserve;
}

bool HasRanks(const sim::OpGraph& graph) {
  return !graph.collectives().empty() || sim::FindAttribute(graph.attributes, "layout") != nullptr ||
         sim::FindNumber(graph.attributes, "traced_ranks").value_or(1) > 1;
}

// As the engine sees it: an order of micro-batches needs more than one of them.
bool IsPipeline(const sim::OpGraph& graph) {
  return sim::FindAttribute(graph.attributes, "schedule") != nullptr &&
         std::ranges::any_of(graph.ops, [](const sim::Op& op) {
           return sim::FindNumber(op.attributes, "micro_batch").value_or(0) > 0;
         });
}

// As many as a traced process used. Measured side by side, its ops slow one another no further.
void OpenStreams(sim::Cluster& cluster, const sim::OpGraph& graph) {
  constexpr double kMost = 1024;
  const double told = sim::FindNumber(graph.attributes, "streams").value_or(0);
  const int streams = static_cast<int>(std::clamp(told, 0.0, kMost));
  for (sim::Device& device : cluster.devices) {
    if (device.device_class != sim::DeviceClass::kGpu || device.streams >= streams) continue;
    device.streams = streams;
    device.concurrency_ppm.assign(static_cast<std::size_t>(streams), sim::kPpm);
  }
}

}  // namespace

void FillFromFramework(sim::Cluster& cluster, const sim::OpGraph& graph, const std::string& reserve) {
  sim::Dispatch& dispatch = cluster.dispatch;
  if (dispatch.automatic_per) {
    const bool has_ranks = HasRanks(graph) || IsPipeline(graph);
    dispatch.per = has_ranks ? sim::Dispatch::Per::kDevice : sim::Dispatch::Per::kProcess;
  }
  if (dispatch.automatic_order) dispatch.order = sim::Dispatch::Order::kProgram;
  dispatch.automatic_per = dispatch.automatic_order = false;
  OpenStreams(cluster, graph);

  const Reserve kept = ParseReserve(reserve.empty() ? kReserve : reserve);
  bool taken = false;
  for (sim::Device& device : cluster.devices) {
    if (!device.automatic_reserve) continue;
    const sim::Bytes size = reserve.empty() ? std::min(kept.size, device.memory / 8) : kept.size;
    device.reserve =
        size + static_cast<sim::Bytes>(std::llround(kept.percent / 100 * static_cast<double>(device.memory)));
    if (device.reserve >= device.memory) {
      throw InputError(fmt::format("--reserve {}: is {} of the {} of device {}; less is wanted.", reserve,
                                   formats::PrintBytes(device.reserve), formats::PrintBytes(device.memory),
                                   device.name));
    }
    device.automatic_reserve = false;
    taken = true;
  }
  if (!reserve.empty() && !taken) {
    throw InputError(
        fmt::format("--reserve {}: cluster {} has no GPU that leaves its reserve open; leave the option out.",
                    reserve, cluster.name));
  }
}

}  // namespace stowplan::scenarios
