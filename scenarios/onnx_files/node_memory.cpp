#include "scenarios/onnx_files/node_memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/formats/document/source.h"

namespace stowplan::scenarios {
namespace {

constexpr std::array<std::string_view, 5> kColumns = {"#name", "input_sizes", "initializers_sizes",
                                                      "total_dynamic_sizes", "total_temp_allocations"};
constexpr sim::Bytes kMostBytes = sim::Bytes{1} << 50;
constexpr sim::Bytes kMostTogether = sim::Bytes{1} << 60;  // as graphs hold at most: no sum leaves 64 bits
constexpr sim::Bytes kAllocated = 256;                     // ONNX Runtime's buffers are multiples of it
// How the names of nodes begin that are in no file: ONNX Runtime's copies between devices, its casts, and the bodies of functions.
constexpr std::array<std::string_view, 3> kOwnNodes = {"Memcpy", "InsertedPrecisionFreeCast_", "_inlfunc_"};

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

// Fields from the end, as a node's name may hold commas.
class LineReader {
 public:
  LineReader(std::string_view line, std::string place) : rest_(line), place_(std::move(place)) {}

  sim::Bytes Last(std::string_view column) {
    const std::size_t comma = rest_.rfind(',');
    if (comma == std::string_view::npos) {
      throw InputError(
          fmt::format("{}: has fewer fields than the five columns {}.", place_, fmt::join(kColumns, ",")));
    }
    const std::string_view text = rest_.substr(comma + 1);
    rest_.remove_suffix(text.size() + 1);
    sim::Bytes bytes = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
    if (error == std::errc::invalid_argument || end != text.data() + text.size() || bytes < 0) {
      throw InputError(fmt::format("{}: {}: {} stands where a whole number of bytes is wanted.", place_,
                                   column, formats::Quoted(text)));
    }
    if (error != std::errc() || bytes > kMostBytes)
      throw InputError(fmt::format("{}: {}: {} bytes are more than 2^50.", place_, column, text));
    return bytes;
  }

  std::string Rest() const {
    if (rest_.empty()) throw InputError(place_ + ": names no node.");
    return std::string(rest_);
  }

 private:
  std::string_view rest_;
  std::string place_;
};

void CheckColumns(std::string_view header, const std::string& place) {
  const std::string wanted = fmt::format("{}", fmt::join(kColumns, ","));
  if (header == wanted) return;
  std::set<std::string_view> found;
  for (std::string_view rest = header; !rest.empty();) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    found.insert(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  for (const std::string_view column : kColumns) {
    if (found.contains(column)) continue;
    throw InputError(
        fmt::format("{}: the column {} is missing; node memory statistics of ONNX Runtime begin with {}.",
                    place, column, wanted));
  }
  throw InputError(fmt::format("{}: wanted are the columns {}, in this order.", place, wanted));
}

}  // namespace

std::string StatisticsName(const OnnxNode& node) {
  Hash hash{};
  for (const auto* names : {&node.inputs, &node.outputs}) {
    for (const std::string_view name : *names) hash = Murmur(name, hash[0]);
  }
  return fmt::format("{}_{}", node.name.empty() ? node.type : node.name,
                     hash[0] | std::uint64_t{hash[1]} << 32);
}

std::string PrintNodeMemory(const std::vector<NodeMemory>& nodes) {
  std::string text = fmt::format("{}\n", fmt::join(kColumns, ","));
  for (const NodeMemory& node : nodes) {
    text +=
        fmt::format("{},{},{},{},{}\n", node.name, node.inputs, node.weights, node.outputs, node.workspace);
  }
  return text;
}

std::vector<NodeMemory> ParseNodeMemory(std::string_view text, const std::string& source) {
  std::vector<NodeMemory> nodes;
  std::unordered_set<std::string> names;
  std::size_t number = 0;
  bool begun = false;
  sim::Bytes together = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string place = fmt::format("{}:{}", source, number);
    if (!std::exchange(begun, true)) {
      CheckColumns(line, place);
      continue;
    }
    if (line.empty()) continue;
    LineReader reader(line, place);
    NodeMemory node{.line = number};
    node.workspace = reader.Last(kColumns[4]);
    node.outputs = reader.Last(kColumns[3]);
    node.weights = reader.Last(kColumns[2]);
    node.inputs = reader.Last(kColumns[1]);
    node.name = reader.Rest();
    together += node.workspace + node.outputs + node.weights + node.inputs;
    if (together > kMostTogether)
      throw InputError(
          fmt::format("{}: the sizes up to this line are more than 2^60 bytes together.", place));
    if (!names.insert(node.name).second)
      throw InputError(fmt::format("{}: node {} is there twice.", place, formats::Quoted(node.name)));
    nodes.push_back(std::move(node));
  }
  if (!begun) CheckColumns("", source + ":1");
  return nodes;
}

namespace {

// What stands before the hash of StatisticsName(); nothing where there is none.
std::string_view BeforeHash(std::string_view name) {
  const std::size_t bar = name.rfind('_');
  if (bar == std::string_view::npos || bar + 1 == name.size()) return {};
  const std::string_view hash = name.substr(bar + 1);
  return std::ranges::all_of(hash, [](char c) { return c >= '0' && c <= '9'; }) ? name.substr(0, bar)
                                                                                : std::string_view();
}

class Taking {
 public:
  Taking(sim::OpGraph& graph, std::string_view model, const std::vector<NodeMemory>& lines,
         const std::string& source)
      : graph_(graph), lines_(lines), source_(source), nodes_(ReadOnnxNodes(model)) {
    OpsByNode ops(graph);
    for (const OnnxNode& node : nodes_) {
      op_of_.push_back(node.nested ? std::nullopt : ops.Take(node));
      nodes_with_op_ += op_of_.back() ? 1 : 0;
    }
    Match();
  }

  std::vector<std::string> Take() {
    CheckMostAreKnown();
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (node_of_[i] && op_of_[*node_of_[i]]) TakeLine(lines_[i], *op_of_[*node_of_[i]]);
    }
    if (taken_ == 0) {
      throw InputError(source_ +
                       ": has no line of an op of the model, so nothing would be taken; collect them from a "
                       "run of this file with graph_optimization_level = ORT_DISABLE_ALL.");
    }
    ResizeViews();
    CheckInputs();
    for (const auto& [node, line] : line_of_) {
      if (op_of_[node]) CheckMost(lines_[line], nodes_[node], *op_of_[node]);
    }
    graph_.Finish();
    return Notes();
  }

 private:
  // Which node each line is of: by its whole name, else by what stands before the hash where one line and one node are left
  // with that. The hash is of tensors, and ONNX Runtime renames those that it copies between devices or casts.
  void Match() {
    std::vector<std::string> names;
    std::unordered_map<std::string_view, std::size_t> by_name;
    for (const OnnxNode& node : nodes_) names.push_back(StatisticsName(node));
    for (std::size_t node = 0; node < nodes_.size(); ++node) by_name.emplace(names[node], node);
    struct Left {
      std::vector<std::size_t> lines, nodes;
    };
    std::unordered_map<std::string_view, Left> left;
    node_of_.resize(lines_.size());
    for (std::size_t line = 0; line < lines_.size(); ++line) {
      if (const auto found = by_name.find(lines_[line].name); found != by_name.end()) {
        node_of_[line] = found->second;
        line_of_[found->second] = line;
      } else {
        left[BeforeHash(lines_[line].name)].lines.push_back(line);
      }
    }
    for (const auto& [name, node] : by_name) {
      const auto like = left.find(BeforeHash(name));
      if (like != left.end() && !line_of_.contains(node)) like->second.nodes.push_back(node);
    }
    for (const auto& [name, like] : left) {
      if (name.empty() || like.lines.size() != 1 || like.nodes.size() != 1) continue;
      node_of_[like.lines[0]] = like.nodes[0];
      ++renamed_;
    }
  }

  static bool IsOwn(std::string_view name) {
    return std::ranges::any_of(kOwnNodes, [&](std::string_view own) { return name.starts_with(own); });
  }

  // A few lines that no node can be told of are left out; most of them are of another file, or of what its optimisers made.
  void CheckMostAreKnown() {
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (node_of_[i] || IsOwn(lines_[i].name)) continue;
      if (unknown_++ == 0) first_unknown_ = i;
    }
    const auto known = std::ranges::count_if(node_of_, [](const auto& node) { return node.has_value(); });
    if (unknown_ <= known) return;
    const NodeMemory& first = lines_[first_unknown_];
    throw InputError(fmt::format(
        "{}:{}: the model has no node {}{}; collect them from this file with "
        "graph_optimization_level = ORT_DISABLE_ALL.",
        source_, first.line, formats::Quoted(first.name),
        unknown_ == 1 ? "" : fmt::format(", nor those of {} more of {} lines", unknown_ - 1, lines_.size())));
  }

  void TakeLine(const NodeMemory& measured, std::size_t op) {
    graph_.ops[op].workspace_bytes = measured.workspace;
    most_workspace_ = std::max(most_workspace_, measured.workspace);
    TakeOutputs(measured.outputs, op);
    ++taken_;
  }

  std::vector<std::string> Notes() const {
    std::vector<std::string> notes;
    notes.push_back(fmt::format("memory of {} of {} ops is as measured, with workspace of up to {} bytes",
                                taken_, nodes_with_op_, most_workspace_));
    if (!resized_.empty()) {
      notes.push_back(fmt::format(
          "outputs of {} of them have other sizes than their shapes say, {} bytes in place of {}; "
          "if that is not so of the model, --dim is not that of the run",
          resized_nodes_, bytes_after_, bytes_before_));
    }
    if (renamed_ > 0) {
      notes.push_back(
          fmt::format("{} of {} lines of {} were found by the node's name alone: their tensors had other "
                      "names in the run, as copies and casts of ONNX Runtime give them",
                      renamed_, lines_.size(), source_));
    }
    const std::int64_t left_out = static_cast<std::int64_t>(lines_.size()) - taken_ - unknown_;
    if (left_out > 0) {
      notes.push_back(
          fmt::format("{} of {} lines of {} left out: nodes that are no op here, or ONNX Runtime's own",
                      left_out, lines_.size(), source_));
    }
    if (unknown_ > 0) {
      notes.push_back(
          fmt::format("{} of {} lines of {} left out: the model has no node of that name, or several, first "
                      "{} in line {}",
                      unknown_, lines_.size(), source_, formats::Quoted(lines_[first_unknown_].name),
                      lines_[first_unknown_].line));
    }
    return notes;
  }

  // What an input of the model takes counts at one of its readers in the file, also one that is no op here; which one is
  // the run's affair. So all of them together read at least that.
  void CheckInputs() const {
    std::unordered_map<std::string_view, std::set<std::size_t>> readers;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      for (const std::string_view tensor : nodes_[node].inputs) readers[tensor].insert(node);
    }
    std::map<std::set<std::size_t>, sim::Bytes> least;
    for (const sim::Op& op : graph_.ops) {
      if (op.type != "Placeholder") continue;
      if (const auto found = readers.find(op.name); found != readers.end())
        least[found->second] += op.outputs[0].bytes;
    }
    for (const auto& [nodes, bytes] : least) {
      // A line of a node inside of another may be missing what its parent has read.
      if (!std::ranges::all_of(
              nodes, [&](std::size_t node) { return line_of_.contains(node) && !nodes_[node].nested; }))
        continue;
      sim::Bytes read = 0;
      for (const std::size_t node : nodes) read += Read(lines_[line_of_.at(node)]);
      if (read < bytes) FailShapes(lines_[line_of_.at(*nodes.begin())], nodes.size() - 1, read, bytes, true);
    }
  }

  // A node does not read more than all its inputs and weights, if it reads what the graph's op does. Weights need not be in
  // the sum: some are repacked when a session begins. Sizes that were measured are those of the run.
  void CheckMost(const NodeMemory& measured, const OnnxNode& node, std::size_t op) const {
    std::set<sim::TensorRef> reads(graph_.ops[op].inputs.begin(), graph_.ops[op].inputs.end());
    if (const auto bias = BiasOf(graph_, op)) {
      const auto& inputs = graph_.ops[*bias].inputs;
      reads.insert(inputs.begin() + 1, inputs.end());
    }
    std::set<std::string_view> named(node.inputs.begin(), node.inputs.end());
    named.erase("");
    if (named.size() != reads.size()) return;
    sim::Bytes most = 0;
    for (const sim::TensorRef& tensor : reads) {
      if (resized_.contains(tensor)) return;
      most += graph_.ops[static_cast<std::size_t>(tensor.op)]
                  .outputs[static_cast<std::size_t>(tensor.output)]
                  .bytes;
    }
    if (Read(measured) > most) FailShapes(measured, 0, Read(measured), most, false);
  }

  static sim::Bytes Read(const NodeMemory& measured) { return measured.inputs + measured.weights; }

  [[noreturn]] void FailShapes(const NodeMemory& measured, std::size_t others, sim::Bytes read,
                               sim::Bytes wanted, bool at_least) const {
    const std::string with =
        others == 0 ? "" : fmt::format(" and {} more that read{} the same", others, others == 1 ? "s" : "");
    throw InputError(fmt::format(
        "{}:{}: node {}{} read {} bytes, but {} inputs and weights are {}{}; give the --dim of the "
        "run that was measured.",
        source_, measured.line, formats::Quoted(measured.name), with, read, others == 0 ? "its" : "their",
        at_least ? "at least " : "", wanted));
  }

  // The sum is known alone: outputs share it as they share what was worked out.
  void TakeOutputs(sim::Bytes measured, std::size_t op) {
    std::vector<sim::Output*> own;
    sim::Bytes exact = 0, allocated = 0;
    for (sim::Output& output : graph_.ops[op].outputs) {
      if (output.storage != sim::Output::Storage::kOwn || output.bytes == 0) continue;
      own.push_back(&output);
      exact += output.bytes;
      allocated += (output.bytes + kAllocated - 1) / kAllocated * kAllocated;
    }
    if (measured == 0 || own.empty() || (measured >= exact && measured <= allocated)) return;
    ++resized_nodes_;
    bytes_before_ += exact;
    bytes_after_ += measured;
    sim::Bytes before = 0, given = 0;
    for (sim::Output* output : own) {
      before += output->bytes;
      const auto until = static_cast<sim::Bytes>(static_cast<double>(measured) * static_cast<double>(before) /
                                                 static_cast<double>(exact));
      const auto number = static_cast<std::int32_t>(output - graph_.ops[op].outputs.data());
      const sim::Bytes bytes = std::exchange(output->bytes, (before == exact ? measured : until) - given);
      given += output->bytes;
      resized_.emplace(sim::TensorRef{static_cast<sim::OpIndex>(op), number}, bytes);
    }
  }

  // A view of all of a tensor is as large as that.
  void ResizeViews() {
    for (const sim::OpIndex op : graph_.topological_order()) {
      auto& outputs = graph_.ops[static_cast<std::size_t>(op)].outputs;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        sim::Output& output = outputs[i];
        if (output.storage != sim::Output::Storage::kInput) continue;
        const auto source = resized_.find(output.alias);
        if (source == resized_.end() || source->second != output.bytes) continue;
        const sim::Output& seen = graph_.ops[static_cast<std::size_t>(output.alias.op)]
                                      .outputs[static_cast<std::size_t>(output.alias.output)];
        resized_.emplace(sim::TensorRef{op, static_cast<std::int32_t>(i)},
                         std::exchange(output.bytes, seen.bytes));
      }
    }
  }

  sim::OpGraph& graph_;
  const std::vector<NodeMemory>& lines_;
  const std::string& source_;
  std::vector<OnnxNode> nodes_;
  std::vector<std::optional<std::size_t>> op_of_;    // of a node
  std::vector<std::optional<std::size_t>> node_of_;  // of a line
  std::map<std::size_t, std::size_t> line_of_;       // of a node whose tensors have the names of the file
  std::map<sim::TensorRef, sim::Bytes> resized_;     // what they were worked out to be
  std::int64_t nodes_with_op_ = 0, taken_ = 0, renamed_ = 0, unknown_ = 0, resized_nodes_ = 0;
  std::size_t first_unknown_ = 0;
  sim::Bytes most_workspace_ = 0, bytes_before_ = 0, bytes_after_ = 0;
};

}  // namespace

std::vector<std::string> TakeNodeMemory(sim::OpGraph& graph, std::string_view model,
                                        const std::vector<NodeMemory>& nodes, const std::string& source) {
  return Taking(graph, model, nodes, source).Take();
}

}  // namespace stowplan::scenarios
