#include "scenarios/importers/doppler.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/formats/collectives.h"
#include "sim/formats/document/source.h"

namespace stowplan::scenarios {
namespace {

constexpr double kUnitsPerMicro = 1e7;
constexpr std::string_view kBetween = ", \t\r";
constexpr std::string_view kDigits = "0123456789";
constexpr std::size_t kMostOfALine = 10'000'000;
// Theirs have thousands. A node is 4 bytes of a file, and 1 KB to simulate.
constexpr std::int64_t kMostNodes = 1'000'000;

bool IsNumber(std::string_view word) {
  return !word.empty() && word.find_first_not_of(kDigits) == std::string_view::npos;
}

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t first = line.find_first_not_of(kBetween);
    if (first == std::string_view::npos) return words;
    line.remove_prefix(first);
    const std::size_t length = std::min(line.find_first_of(kBetween), line.size());
    words.push_back(line.substr(0, length));
    line.remove_prefix(length);
  }
}

class Reader {
 public:
  Reader(std::string_view content, const std::string& source) : rest_(content), source_(source) {}

  sim::OpGraph Read() {
    const std::vector<std::int64_t> count = Numbers("the number of nodes");
    if (count.size() != 1)
      Fail("has " + std::to_string(count.size()) + " numbers; expected the number of nodes alone");
    if (count[0] > kMostNodes) Fail(fmt::format("says {} nodes; {} are the most", count[0], kMostNodes));
    const std::size_t inputs = Numbers("the inputs of the model").size();
    const std::vector<std::int64_t> from = Numbers("the sources of the edges");
    const std::vector<std::int64_t> to = Numbers("the targets of the edges");
    if (from.size() != to.size()) {
      Fail(fmt::format("has {} targets of edges; expected {}, as many as sources", to.size(), from.size()));
    }
    sim::OpGraph graph;
    graph.name = formats::NameFromSource(source_);
    while (const auto words = Next()) {
      if (words->empty()) continue;
      if (graph.size() == count[0]) Fail(fmt::format("has a node more than the {} of line 1", count[0]));
      AddNode(*words, graph);
    }
    const std::int64_t nodes = graph.size();
    if (nodes + static_cast<std::int64_t>(inputs) != count[0]) {
      throw InputError(
          fmt::format("{}: has {} nodes with costs and {} inputs; expected {} together, as line 1 says",
                      source_, nodes, inputs, count[0]));
    }
    for (std::size_t e = 0; e < from.size(); ++e) {
      for (const std::int64_t end : {from[e], to[e]}) {
        if (end < nodes) continue;
        throw InputError(
            fmt::format("{}: edge {} names node {}; expected one below {}", source_, e + 1, end, nodes));
      }
      AddEdge(static_cast<sim::OpIndex>(from[e]), static_cast<sim::OpIndex>(to[e]), graph);
    }
    formats::CheckedAt(source_, [&] { graph.Finish(); });
    return graph;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw InputError(fmt::format("{}:{}: {}", source_, line_, what));
  }

  // The words of the next line; nothing behind the last one.
  std::optional<std::vector<std::string_view>> Next() {
    if (rest_.empty()) return std::nullopt;
    ++line_;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    if (end > kMostOfALine) Fail(fmt::format("has {} bytes; {} are the most of a line", end, kMostOfALine));
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return WordsOf(line);
  }

  std::int64_t Number(std::string_view word, std::int64_t most) const {
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (!IsNumber(word) || error != std::errc() || value > most)
      Fail(fmt::format("has {} where a whole number from 0 to {} is expected", formats::Quoted(word), most));
    return value;
  }

  std::vector<std::int64_t> Numbers(const std::string& what) {
    const auto words = Next();
    if (!words) throw InputError(fmt::format("{}: ends before {}", source_, what));
    std::vector<std::int64_t> numbers;
    for (const std::string_view word : *words) numbers.push_back(Number(word, 1'000'000'000));
    return numbers;
  }

  void AddNode(const std::vector<std::string_view>& words, sim::OpGraph& graph) const {
    if (words.size() != 2 && words.size() != 3)
      Fail(fmt::format("has {} words; expected compute, communication and perhaps a type", words.size()));
    sim::Op op;
    op.name = "node" + std::to_string(graph.size());
    op.type = words.size() == 3 ? formats::NoCollective(std::string(words[2])) : "Profiled";
    if (formats::HasControl(op.type))
      Fail(fmt::format("has the type {}; expected one without control characters", formats::Quoted(op.type)));
    op.cost_us = static_cast<double>(Number(words[0], sim::kMaxBytes)) / kUnitsPerMicro;
    op.outputs.push_back({.bytes = Number(words[1], sim::kMaxBytes)});
    graph.ops.push_back(std::move(op));
  }

  void AddEdge(sim::OpIndex from, sim::OpIndex to, sim::OpGraph& graph) {
    if (!edges_.insert(std::int64_t{to} * graph.size() + from).second) return;
    graph.ops[static_cast<std::size_t>(to)].inputs.push_back({from, 0});
  }

  std::string_view rest_;
  const std::string& source_;
  int line_ = 0;
  std::unordered_set<std::int64_t> edges_;  // target * nodes + source
};

}  // namespace

// A number alone in the first line, numbers in the second to fourth.
bool RecognisesDopplerGraph(const std::string& content) {
  std::string_view rest = content;
  for (int line = 0; line < 4; ++line) {
    const std::size_t end = rest.find('\n');
    if (end > kMostOfALine) return false;
    const std::vector<std::string_view> words = WordsOf(rest.substr(0, end));
    if (line == 0 && words.size() != 1) return false;
    if (!std::all_of(words.begin(), words.end(), IsNumber)) return false;
    rest.remove_prefix(end + 1);
  }
  return true;
}

sim::OpGraph ImportDopplerGraph(const std::string& content, const std::string& source) {
  formats::CheckUtf8(content, source);
  return Reader(content, source).Read();
}

}  // namespace stowplan::scenarios
