// The memory statistics that ONNX Runtime (1.23 or newer) collects and reads, worked out instead of measured: a line for each
// node, by a name with a hash of its tensors' names. What it sums up for a node is what its provider must have room for.
#include <array>
#include <bit>
#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "scenarios/exporters/onnx_nodes.h"
#include "scenarios/importers/wire_format.h"
#include "sim/error.h"

namespace berth::scenarios {
namespace {

using Hash = std::array<std::uint32_t, 4>;

// MurmurHash3_x86_128 of Austin Appleby, who gave it to the public domain.
Hash Murmur(std::string_view text, std::uint32_t seed) {
  constexpr Hash kFactors = {0x239b961b, 0xab0e9789, 0x38b34ae5, 0xa1e38b93};
  constexpr std::array<int, 4> kTurns = {15, 16, 17, 18}, kTurnsOfState = {19, 17, 15, 13};
  constexpr Hash kAdded = {0x561ccd1b, 0x0bcaa747, 0x96cd1c35, 0x32ac3b17};
  Hash state;
  state.fill(seed);
  const auto mixed = [&](std::uint32_t word, std::size_t lane) {
    return std::rotl(word * kFactors[lane], kTurns[lane]) * kFactors[(lane + 1) % 4];
  };
  const auto word_at = [&](std::size_t at) {  // little-endian; what is behind the end counts as 0
    std::uint32_t word = 0;
    for (std::size_t byte = std::min(at + 4, text.size()); byte > at; --byte)
      word = word << 8 | static_cast<unsigned char>(text[byte - 1]);
    return word;
  };
  std::size_t at = 0;
  for (; at + 16 <= text.size(); at += 16) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      state[lane] ^= mixed(word_at(at + 4 * lane), lane);
      state[lane] = (std::rotl(state[lane], kTurnsOfState[lane]) + state[(lane + 1) % 4]) * 5 + kAdded[lane];
    }
  }
  for (std::size_t lane = 0; lane < 4; ++lane)
    state[lane] ^= mixed(word_at(std::min(at + 4 * lane, text.size())), lane);
  const auto spread = [&] {
    for (std::size_t lane = 1; lane < 4; ++lane) state[0] += state[lane];
    for (std::size_t lane = 1; lane < 4; ++lane) state[lane] += state[0];
  };
  for (std::uint32_t& lane : state) lane ^= static_cast<std::uint32_t>(text.size());
  spread();
  for (std::uint32_t& lane : state) {
    lane = (lane ^ lane >> 16) * 0x85ebca6b;
    lane = (lane ^ lane >> 13) * 0xc2b2ae35;
    lane ^= lane >> 16;
  }
  spread();
  return state;
}

// Of a NodeProto.
struct Node {
  std::string name;
  std::string type;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
};

Node ReadNode(std::string_view message) {
  Node node;
  while (const auto field = TakeField(message)) {
    if (field->number == 1) node.inputs.push_back(field->body);
    if (field->number == 2) node.outputs.push_back(field->body);
    if (field->number == 3) node.name = field->body;
    if (field->number == 4) node.type = field->body;
  }
  return node;
}

std::string NameWithHash(const Node& node) {
  Hash hash{};
  for (const auto* names : {&node.inputs, &node.outputs}) {
    for (const std::string_view name : *names) hash = Murmur(name, hash[0]);
  }
  return fmt::format("{}_{}", node.name.empty() ? node.type : node.name,
                     hash[0] | std::uint64_t{hash[1]} << 32);
}

// Each tensor counts where it is read first, as ONNX Runtime has it.
class Statistics {
 public:
  explicit Statistics(const sim::OpGraph& graph) : graph_(graph) {}

  std::string Line(const Node& node, const sim::Op& op) {
    sim::Bytes inputs = 0, weights = 0, outputs = 0;
    for (const sim::TensorRef& input : op.inputs) {
      const sim::Op& source = graph_.ops[static_cast<std::size_t>(input.op)];
      if (!source.IsSource() || !counted_.insert(input).second) continue;
      const sim::Bytes bytes = source.outputs[static_cast<std::size_t>(input.output)].bytes;
      (source.type == "Placeholder" ? inputs : weights) += bytes;
    }
    for (const sim::Output& output : op.outputs)
      outputs += output.storage == sim::Output::Storage::kOwn ? output.bytes : 0;
    return fmt::format("{},{},{},{},{}\n", NameWithHash(node), inputs, weights, outputs, op.workspace_bytes);
  }

 private:
  const sim::OpGraph& graph_;
  std::set<sim::TensorRef> counted_;
};

constexpr std::uint32_t kGraph = 7, kNode = 1;  // ModelProto.graph, GraphProto.node

}  // namespace

Exported ExportOnnxRuntimeMemory(const ExportInput& input) {
  const std::string model = ReadPlacedOnnx(input, "onnxruntime-memory");
  const sim::OpGraph& graph = input.problem.graph();
  OpsByNode ops(graph);
  Statistics statistics(graph);
  Exported exported{
      .text = "#name,input_sizes,initializers_sizes,total_dynamic_sizes,total_temp_allocations\n",
      .notes = {}};
  std::int64_t lines = 0, without = 0;
  std::string_view rest = model;
  while (const auto field = TakeField(rest)) {
    if (field->number != kGraph || field->wire_type != 2) continue;
    std::string_view nodes = field->body;
    while (const auto inner = TakeField(nodes)) {
      if (inner->number != kNode || inner->wire_type != 2) continue;
      const Node node = ReadNode(inner->body);
      const auto op =
          ops.Take(!node.name.empty() || node.outputs.empty() ? node.name : std::string(node.outputs[0]));
      if (op) exported.text += statistics.Line(node, graph.ops[*op]);
      ++(op ? lines : without);
    }
  }
  if (lines == 0)
    throw InputError(fmt::format("onnxruntime-memory: no node of {} has the name of an op; place it anew.",
                                 input.graph_file));
  exported.notes.emplace_back(
      "session.resource_cuda_partitioning_settings = \"KIB,FILE\" makes ONNX Runtime fill the GPU up to that "
      "limit in an order "
      "of its own; FILE stands beside the model, and its optimisers are off where nodes are to be found "
      "again");
  if (without > 0)
    exported.notes.push_back(fmt::format("{} of {} nodes are no op here", without, without + lines));
  return exported;
}

}  // namespace berth::scenarios
