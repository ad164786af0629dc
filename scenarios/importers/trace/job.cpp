#include "scenarios/importers/trace/job.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "scenarios/importers/trace.h"
#include "scenarios/importers/trace/timeline.h"
#include "sim/base/error.h"
#include "sim/formats/document/source.h"
#include "sim/formats/formats.h"

namespace stowplan::scenarios::trace {
namespace {

namespace fs = std::filesystem;

using profiler::Nanos;

constexpr std::size_t kMostRanks = 1024;

// One collective: its op of each rank, by rank.
struct Meeting {
  std::vector<std::pair<std::size_t, const TracedRank::Collective*>> members;
  Nanos least = 0;    // that it took a rank
  Nanos arrival = 0;  // of the last of them
};

struct NewOp {
  Nanos time = 0;
  std::size_t rank = 0;
  sim::Op op;
  std::pair<std::size_t, sim::OpIndex> old;  // rank and op there that others refer to; -1: none do
  std::vector<std::pair<std::size_t, sim::OpIndex>> after = {};  // rank and op there
  std::vector<std::size_t> after_arrivals = {};                  // of which meeting, all of its
  std::size_t arrives = SIZE_MAX;                                // of which meeting it is one
};

class Joiner {
 public:
  Joiner(std::vector<TracedRank> ranks, const std::vector<std::string>& sources)
      : ranks_(std::move(ranks)), sources_(sources), offset_(ranks_.size(), 0) {}

  ImportedGraph Join() {
    Meet();
    AlignClocks();
    TellMeetings();
    for (std::size_t r = 0; r < ranks_.size(); ++r) AddRank(r);
    ImportedGraph job;
    job.graph.ops = OpsInOrder();
    job.graph.attributes = Facts();
    job.notes = Notes();
    return job;
  }

 private:
  static Nanos EndOf(const TracedRank& rank, const TracedRank::Collective& collective) {
    return rank.starts[static_cast<std::size_t>(collective.op)] + collective.takes;
  }
  Nanos Aligned(std::size_t rank, Nanos time) const { return time - offset_[rank]; }

  // The n-th of a group and type in each rank that has any is one.
  void Meet() {
    using Key = std::pair<std::string, std::string>;
    std::map<Key, std::vector<std::vector<const TracedRank::Collective*>>> by_rank;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (const auto& one : ranks_[r].collectives) {
        auto& of = by_rank[{one.group, one.type}];
        of.resize(ranks_.size());
        of[r].push_back(&one);
      }
    }
    for (const auto& [key, of] : by_rank) {
      const auto most = std::ranges::max_element(of, {}, [](const auto& list) { return list.size(); });
      for (std::size_t r = 0; r < of.size(); ++r) {
        if (of[r].empty() || of[r].size() == most->size()) continue;
        throw InputError(fmt::format(
            "{}: has {} collectives {} where {} has {}; the traces of one step of one job are wanted",
            sources_[r], of[r].size(), key.second, sources_[static_cast<std::size_t>(most - of.begin())],
            most->size()));
      }
      for (std::size_t n = 0; n < most->size(); ++n) {
        Meeting& meeting = meetings_.emplace_back();
        for (std::size_t r = 0; r < of.size(); ++r)
          if (!of[r].empty()) meeting.members.emplace_back(r, of[r][n]);
      }
    }
    if (std::ranges::none_of(meetings_, [](const Meeting& one) { return one.members.size() > 1; }))
      throw InputError(
          fmt::format("{} and {}: have no collective in common, so they are no ranks of one job; "
                      "name one file of the folder",
                      sources_[0], sources_[1]));
  }

  // By the median of how much later than in rank 0 its collectives end.
  void AlignClocks() {
    for (std::size_t r = 1; r < ranks_.size(); ++r) {
      std::vector<Nanos> later;
      for (const Meeting& meeting : meetings_) {
        const auto first =
            std::ranges::find(meeting.members, std::size_t{0}, [](const auto& m) { return m.first; });
        const auto own = std::ranges::find(meeting.members, r, [](const auto& m) { return m.first; });
        if (first == meeting.members.end() || own == meeting.members.end()) continue;
        later.push_back(EndOf(ranks_[r], *own->second) - EndOf(ranks_[0], *first->second));
      }
      if (later.empty()) continue;
      std::ranges::nth_element(later, later.begin() + static_cast<std::ptrdiff_t>(later.size() / 2));
      offset_[r] = later[later.size() / 2];
    }
  }

  void TellMeetings() {
    begin_ = INT64_MAX;
    waited_.assign(ranks_.size(), 0);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      begin_ = std::min(begin_, Aligned(r, ranks_[r].starts.front()));
      end_ = std::max(end_, Aligned(r, ranks_[r].end));
      meeting_of_.emplace_back();
    }
    for (std::size_t m = 0; m < meetings_.size(); ++m) {
      Meeting& meeting = meetings_[m];
      meeting.least = INT64_MAX;
      for (const auto& [r, one] : meeting.members) {
        meeting.least = std::min(meeting.least, one->takes);
        meeting.arrival =
            std::max(meeting.arrival, Aligned(r, ranks_[r].starts[static_cast<std::size_t>(one->op)]));
        meeting_of_[r].emplace(one->op, m);
      }
      for (const auto& [r, one] : meeting.members) waited_[r] += one->takes - meeting.least;
      transfer_ += meeting.least;
    }
  }

  static void SetHost(sim::Op& op, double host_us) {
    const auto found =
        std::ranges::find(op.attributes, "host_us", [](const auto& entry) { return entry.first; });
    if (found != op.attributes.end()) found->second = sim::Attribute{host_us};
  }

  void AddRank(std::size_t r) {
    TracedRank& rank = ranks_[r];
    for (std::size_t i = 0; i < rank.graph.ops.size(); ++i) {
      const auto index = static_cast<sim::OpIndex>(i);
      NewOp added{.time = Aligned(r, rank.starts[i]),
                  .rank = r,
                  .op = std::move(rank.graph.ops[i]),
                  .old = {r, index}};
      sim::Op& op = added.op;
      for (const sim::OpIndex before : op.control) added.after.emplace_back(r, before);
      op.control.clear();
      op.name = fmt::format("rank{}/{}", r, op.name);
      op.colocate = fmt::format("rank{}", r);
      op.attributes.emplace_back("rank", sim::Attribute{static_cast<std::int64_t>(r)});
      if (i == 0) SetHost(op, Micros(added.time - begin_));
      const auto meeting = meeting_of_[r].find(index);
      if (meeting != meeting_of_[r].end()) Arrive(meeting->second, added);
      new_.push_back(std::move(added));
    }
  }

  // The rank's own part, up to when it is there; behind it the collective, which all of them are behind.
  void Arrive(std::size_t m, NewOp& collective) {
    const Meeting& meeting = meetings_[m];
    const auto own =
        std::ranges::find(meeting.members, collective.rank, [](const auto& one) { return one.first; });
    NewOp arrival{
        .time = collective.time, .rank = collective.rank, .op = collective.op, .old = {collective.rank, -1}};
    arrival.op.name += ".arrival";
    arrival.op.type = "Arrival";
    arrival.op.cost_us_by_kind = {{"gpu", Micros(own->second->gap)}};
    arrival.after = std::exchange(collective.after, {});
    arrival.arrives = m;
    collective.time = meeting.arrival;
    collective.after_arrivals = {m};
    SetHost(collective.op, 0);
    collective.op.cost_us_by_kind = {{"gpu", Micros(meeting.least)}};
    new_.push_back(std::move(arrival));
  }

  // By time, so that what an op waits for stands before it.
  std::vector<sim::Op> OpsInOrder() {
    std::ranges::stable_sort(new_, {}, &NewOp::time);
    std::map<std::pair<std::size_t, sim::OpIndex>, sim::OpIndex> place;
    std::vector<std::vector<sim::OpIndex>> arrivals(meetings_.size());
    for (std::size_t i = 0; i < new_.size(); ++i) {
      if (new_[i].old.second >= 0) place.emplace(new_[i].old, static_cast<sim::OpIndex>(i));
      if (new_[i].arrives != SIZE_MAX) arrivals[new_[i].arrives].push_back(static_cast<sim::OpIndex>(i));
    }
    std::vector<sim::Op> ops;
    for (NewOp& added : new_) {
      for (const auto& before : added.after) added.op.control.push_back(place.at(before));
      for (const std::size_t m : added.after_arrivals)
        added.op.control.insert(added.op.control.end(), arrivals[m].begin(), arrivals[m].end());
      ops.push_back(std::move(added.op));
    }
    return ops;
  }

  sim::Attributes Facts() const {
    double streams = 1;
    for (const TracedRank& rank : ranks_)
      streams = std::max(streams, sim::FindNumber(rank.graph.attributes, "streams").value_or(1));
    return {{"captured_from", {"torch Kineto traces"}},
            {"traced_step_us", {Micros(end_ - begin_)}},
            {"traced_ranks", {static_cast<std::int64_t>(ranks_.size())}},
            {"streams", {static_cast<std::int64_t>(streams) + 1}}};
  }

  std::vector<std::string> Notes() const {
    const auto least = std::ranges::min_element(waited_), most = std::ranges::max_element(waited_);
    std::vector<std::string> notes;
    notes.push_back(fmt::format(
        "{} ranks of one job, {} collectives; the traced step took {:.6g} us on their common clock",
        ranks_.size(), meetings_.size(), Micros(end_ - begin_)));
    notes.push_back(fmt::format(
        "transfers take {:.6g} us; rank {} waits longest for others at collectives ({:.6g} us), rank {} "
        "least ({:.6g} us)",
        Micros(transfer_), most - waited_.begin(), Micros(*most), least - waited_.begin(), Micros(*least)));
    notes.emplace_back(
        "a Kineto trace has no tensors: ops have no bytes; each rank is placed as one, on a device of its "
        "own to be as it ran");
    return notes;
  }

  std::vector<TracedRank> ranks_;
  const std::vector<std::string>& sources_;
  std::vector<Nanos> offset_;  // by rank, of its clock
  std::vector<Meeting> meetings_;
  std::vector<std::map<sim::OpIndex, std::size_t>> meeting_of_;  // by rank and op
  std::vector<Nanos> waited_;                                    // by rank, at collectives
  Nanos transfer_ = 0, begin_ = 0, end_ = INT64_MIN;
  std::vector<NewOp> new_;
};

// "rank10" is behind "rank9": texts, each with the number behind it.
std::vector<std::pair<std::string, std::uint64_t>> NameParts(const std::string& name) {
  std::vector<std::pair<std::string, std::uint64_t>> parts(1);
  bool in_number = false;
  for (const char c : name) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (in_number && !is_digit) parts.emplace_back();
    in_number = is_digit;
    if (is_digit) {
      parts.back().second = parts.back().second * 10 + static_cast<std::uint64_t>(c - '0');
    } else {
      parts.back().first += c;
    }
  }
  return parts;
}

}  // namespace

ImportedGraph JoinRanks(std::vector<TracedRank> ranks, const std::vector<std::string>& sources) {
  for (std::size_t r = 0; r < ranks.size(); ++r)
    if (ranks[r].starts.empty())
      throw InputError(sources[r] + ": has no work of a device, which ranks of a job have");
  return Joiner(std::move(ranks), sources).Join();
}

ImportedGraph ImportJob(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  std::ranges::sort(files, {}, [](const std::string& file) { return std::pair(NameParts(file), file); });
  std::vector<TracedRank> ranks;
  std::vector<std::string> sources;
  for (const std::string& file : files) {
    if (file.find(".json") == std::string::npos) continue;
    const std::string content = formats::ReadFile(file);
    if (!RecognisesTrace(content) || content.find("\"traceEvents\"") == std::string::npos) continue;
    if (ranks.size() == kMostRanks)
      throw InputError(
          fmt::format("{}: holds more than {} traces, which is not read as one job", folder, kMostRanks));
    ranks.push_back(ReadTracedRank(content, file, {}));
    sources.push_back(file);
  }
  if (ranks.size() < 2)
    throw InputError(
        fmt::format("{}: is a folder with {} Kineto trace{} in it; a job is read of one for each rank",
                    folder, ranks.size(), ranks.size() == 1 ? "" : "s"));
  ImportedGraph job = JoinRanks(std::move(ranks), sources);
  job.graph.name = fs::path(folder).filename().empty() ? fs::path(folder).parent_path().filename().string()
                                                       : fs::path(folder).filename().string();
  formats::CheckedAt(folder, [&] { job.graph.Finish(); });
  return job;
}

}  // namespace stowplan::scenarios::trace
