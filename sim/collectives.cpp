#include "sim/collectives.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#include "sim/base/error.h"

namespace stowplan::sim {
namespace {

struct TypeName {
  std::string_view name;
  CollectiveType type;
};
constexpr TypeName kTypes[] = {
    {"AllReduce", CollectiveType::kAllReduce}, {"ReduceScatter", CollectiveType::kReduceScatter},
    {"AllGather", CollectiveType::kAllGather}, {"AllToAll", CollectiveType::kAllToAll},
    {"Broadcast", CollectiveType::kBroadcast}, {"Reduce", CollectiveType::kReduce}};

bool HasRoot(CollectiveType type) {
  return type == CollectiveType::kBroadcast || type == CollectiveType::kReduce;
}

std::int32_t NumberOf(const Op& op, const char* key, std::int64_t least, std::int64_t most,
                      std::int32_t otherwise) {
  const Attribute* const found = FindAttribute(op.attributes, key);
  if (found == nullptr) return otherwise;
  const auto* number = std::get_if<std::int64_t>(&found->value);
  if (number == nullptr || *number < least || *number > most) {
    throw InputError("op '" + op.name + "': `" + key + "` must be a whole number from " +
                     std::to_string(least) + " to " + std::to_string(most));
  }
  return static_cast<std::int32_t>(*number);
}

Bytes LargestTensor(const OpGraph& graph, const Op& member) {
  const TensorRef& input = member.inputs.front();
  const Op& producer = graph.ops[static_cast<std::size_t>(input.op)];
  return std::max(producer.outputs[static_cast<std::size_t>(input.output)].bytes,
                  member.outputs.front().bytes);
}

Collective Read(const OpGraph& graph, const std::vector<OpIndex>& members) {
  const auto op = [&](OpIndex member) -> const Op& { return graph.ops[static_cast<std::size_t>(member)]; };
  const Op& first = op(members.front());
  const std::optional<CollectiveType> type = CollectiveTypeOf(first.type);
  if (!type) {
    throw InputError("op '" + first.name +
                     "' is a member of a collective, so its type must be that of one, not '" + first.type +
                     "'");
  }
  Collective collective;
  collective.type = *type;
  collective.members = members;
  for (const OpIndex member : members) {
    collective.bytes = std::max(collective.bytes, LargestTensor(graph, op(member)));
    const std::int32_t stride = NumberOf(op(member), kStrideAttribute, 1, kMostRanks, 0);
    const std::int32_t copies =
        stride > 0 ? NumberOf(op(member), kRanksAttribute, 2, kMostRanks, 0) : std::int32_t{1};
    if (member == members.front()) std::tie(collective.stride, collective.copies) = std::pair(stride, copies);
    if (collective.stride != stride || collective.copies != copies)
      throw InputError("op '" + op(member).name + "': its `ranks` and `stride` are others than those of '" +
                       first.name + "', a member of the same collective");
  }
  if (collective.copies == 0)
    throw InputError("op '" + first.name + "': has a `stride`, so it must say its `ranks`");
  if (collective.ranks() < 2 || collective.ranks() > kMostRanks)
    throw InputError("op '" + first.name + "': a collective of " + std::to_string(collective.ranks()) +
                     " ranks; from 2 to " + std::to_string(kMostRanks) + " are wanted");
  if (HasRoot(collective.type))
    collective.root = NumberOf(first, kRootAttribute, 0, collective.ranks() - 1, 0);
  return collective;
}

std::vector<DeviceIndex> AcceleratorsOf(const Cluster& cluster) {
  std::vector<DeviceIndex> accelerators;
  for (DeviceIndex d = 0; d < cluster.size(); ++d) {
    if (cluster.devices[static_cast<std::size_t>(d)].device_class != DeviceClass::kCpu)
      accelerators.push_back(d);
  }
  return accelerators;
}

}  // namespace

std::optional<CollectiveType> CollectiveTypeOf(std::string_view op_type) {
  const auto* const found = std::ranges::find(kTypes, op_type, &TypeName::name);
  return found != std::end(kTypes) ? std::optional(found->type) : std::nullopt;
}

std::vector<std::string> CollectiveTypeNames() {
  std::vector<std::string> names;
  for (const TypeName& type : kTypes) names.emplace_back(type.name);
  return names;
}

std::vector<Collective> CollectivesOf(const OpGraph& graph) {
  std::vector<Collective> collectives;
  for (const std::vector<OpIndex>& members : graph.collectives()) collectives.push_back(Read(graph, members));
  return collectives;
}

std::vector<DeviceIndex> DevicesOf(const Collective& collective, const OpGraph& graph, const Cluster& cluster,
                                   std::span<const DeviceIndex> placement) {
  std::vector<DeviceIndex> devices;
  if (collective.stride == 0) {
    for (const OpIndex member : collective.members)
      devices.push_back(placement[static_cast<std::size_t>(member)]);
  } else {
    const std::vector<DeviceIndex> accelerators = AcceleratorsOf(cluster);
    for (std::int64_t copy = 0; copy < collective.copies; ++copy) {
      for (const OpIndex member : collective.members) {
        const DeviceIndex device = placement[static_cast<std::size_t>(member)];
        const auto first = std::ranges::find(accelerators, device) - accelerators.begin();
        const std::int64_t place = first + copy * collective.stride;
        if (place >= std::ssize(accelerators)) {
          throw InputError("op '" + graph.ops[static_cast<std::size_t>(member)].name + "' is placed on '" +
                           cluster.devices[static_cast<std::size_t>(device)].name + "', and rank " +
                           std::to_string(copy) + " of its " + std::to_string(collective.copies) +
                           " would be on accelerator " + std::to_string(place) + " of cluster '" +
                           cluster.name + "', which has " + std::to_string(accelerators.size()) +
                           " (numbered from 0, CPUs are none)");
        }
        devices.push_back(accelerators[static_cast<std::size_t>(place)]);
      }
    }
  }
  std::rotate(devices.begin(), devices.begin() + collective.root, devices.end());
  return devices;
}

Bytes ChunkOf(Bytes bytes, std::int64_t part, std::int64_t ranks) {
  const auto up_to = [&](std::int64_t i) { return bytes / ranks * i + bytes % ranks * i / ranks; };
  return up_to(part + 1) - up_to(part);
}

}  // namespace stowplan::sim
