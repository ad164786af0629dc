#include "sim/formats/collective_types.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace stowplan::formats {
namespace {

constexpr CollectiveKind kKinds[] = {{.type = "AllReduce", .reduces = true, .gathers = true},
                                     {.type = "ReduceScatter", .reduces = true},
                                     {.type = "AllGather", .gathers = true},
                                     {.type = "Broadcast", .spreads = true},
                                     {.type = "Reduce", .collects = true},
                                     {.type = "AllToAll", .exchanges = true}};

}  // namespace

const CollectiveKind* KindOf(const sim::Op& op) {
  const auto found =
      std::ranges::find_if(kKinds, [&](const CollectiveKind& kind) { return op.type == kind.type; });
  return found != std::end(kKinds) ? found : nullptr;
}

std::string NoCollective(const std::string& type) {
  return std::ranges::find(kKinds, std::string_view(type), &CollectiveKind::type) == std::end(kKinds)
             ? type
             : "other." + type;
}

std::vector<std::string> CollectiveTypes() {
  std::vector<std::string> types;
  for (const CollectiveKind& kind : kKinds) types.emplace_back(kind.type);
  return types;
}

bool IsCollective(const sim::Op& op) {
  return KindOf(op) != nullptr;
}

bool HasRoot(const sim::Op& collective) {
  const CollectiveKind* kind = KindOf(collective);
  return kind != nullptr && kind->has_root();
}

bool HasCollectives(const sim::OpGraph& graph) {
  return std::ranges::any_of(graph.ops, IsCollective);
}

sim::Bytes ChunkOf(sim::Bytes bytes, int of, int ranks) {
  const auto up_to = [&](int i) { return bytes / ranks * i + bytes % ranks * i / ranks; };
  return up_to(of + 1) - up_to(of);
}

}  // namespace stowplan::formats
