// The file: a line that says which search it is of, then a frame for each answer: the number of bytes behind the frame's
// head, their hash, the placement's hash, the two times, the answer (shared_evaluation.h).
#include "agents/evaluation_log.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "agents/placements.h"
#include "agents/random_numbers.h"
#include "agents/shared_evaluation.h"
#include "sim/base/error.h"
#include "sim/base/fnv.h"

namespace stowplan::agents {
namespace {

constexpr std::string_view kFormat = "stowplan.evaluations 1 ";
constexpr auto kFlushEvery = std::chrono::seconds(1);
// Of a file. Where so many answers were cheap, those behind them are simulated again; the search is the same.
constexpr std::size_t kMostBytes = std::size_t{512} << 20;

struct Head {
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;
  std::uint64_t placement = 0;
  double wall_seconds = 0;
  double simulator_seconds = 0;
};

std::uint64_t HashOfBytes(std::string_view bytes) {
  return Mix(Fnv1a(bytes, bytes.size()));
}

// The frame that begins at `at`; nothing where it is not whole.
struct Frame {
  Head head;
  std::string_view body;
  std::size_t end = 0;
};
std::optional<Frame> FrameAt(std::string_view text, std::size_t at) {
  Frame frame;
  if (text.size() - at < sizeof(Head)) return std::nullopt;
  std::memcpy(&frame.head, text.data() + at, sizeof(Head));
  const std::string_view rest = text.substr(at + sizeof(Head));
  if (rest.size() < frame.head.bytes) return std::nullopt;
  frame.body = rest.substr(0, frame.head.bytes);
  if (HashOfBytes(frame.body) != frame.head.hash) return std::nullopt;
  frame.end = at + sizeof(Head) + frame.head.bytes;
  return frame;
}

bool IsTime(double seconds) {
  return seconds >= 0 && seconds < 1e12;
}

// Agents index it by device and by op.
bool IsAnswer(const Task& task, const Evaluation& evaluation, const sim::RunOptions& asked) {
  const bool starts = asked.record == sim::RunOptions::Record::kOps && !evaluation.stopped;
  const auto ops = task.problem->graph().ops.size();
  const auto devices = task.problem->cluster().devices.size();
  const auto below = [](auto index, std::size_t size) {
    return index >= 0 && static_cast<std::size_t>(index) < size;
  };
  const auto negative = [](std::int64_t value) { return value < 0; };
  return (!evaluation.stopped || asked.cutoff) && !negative(evaluation.runtime) &&
         evaluation.feasible == !evaluation.oom &&
         (!evaluation.oom || (below(evaluation.oom->device, devices) && below(evaluation.oom->op, ops))) &&
         evaluation.peak.size() == devices && std::ranges::none_of(evaluation.peak, negative) &&
         evaluation.start.size() == (starts ? ops : 0) && std::ranges::none_of(evaluation.start, negative);
}

}  // namespace

EvaluationLog::EvaluationLog(const Task& task, const std::string& agent, std::uint64_t seed, std::string path,
                             std::string earlier)
    : task_(task), path_(std::move(path)), earlier_(std::move(earlier)) {
  const std::string search = agent + " seed " + std::to_string(seed);
  const std::string header =
      std::string(kFormat) + search + " task " + std::to_string(Fingerprint(task)) + '\n';
  std::size_t whole = 0;
  if (!earlier_.empty()) {
    if (!earlier_.starts_with(kFormat) || earlier_.find('\n') == std::string::npos)
      throw InputError(path_ + ": holds no evaluations of a search; start without --resume");
    const std::string its = earlier_.substr(0, earlier_.find('\n') + 1);
    if (its != header) {
      const std::string of = its.substr(kFormat.size(), its.rfind(" task ") - kFormat.size());
      throw InputError(path_ + ": holds the evaluations of " + of +
                       (of == search ? " on another problem" : "") + ", not of " + search +
                       "; give the same call again, or start without --resume");
    }
    at_ = whole = header.size();
    for (auto frame = FrameAt(earlier_, whole); frame; frame = FrameAt(earlier_, whole)) {
      whole = frame->end;
      ++kept_;
    }
    earlier_.resize(whole);
  }
  if (!path_.empty()) Open(header, whole);
}

EvaluationLog::~EvaluationLog() {
  file_.flush();  // where that fails the next run simulates a little more
}

void EvaluationLog::Open(const std::string& header, std::size_t whole) {
  if (whole > 0) std::filesystem::resize_file(path_, whole);
  file_.open(path_, std::ios::binary | (whole > 0 ? std::ios::app : std::ios::trunc));
  if (whole == 0) file_ << header;
  bytes_ = std::max(whole, header.size());
  Flush();
}

std::optional<EvaluationLog::Entry> EvaluationLog::Next(const UnitPlacement& placement,
                                                        const sim::RunOptions& asked) {
  const auto frame = FrameAt(earlier_, at_);
  if (!frame) return std::nullopt;
  ++answered_;
  if (frame->head.placement != HashOf(placement)) {
    throw InputError(
        path_ + ": was made by a search that tried another placement as its sample " +
        std::to_string(answered_) +
        ", with another budget or by another version of stowplan or of the agent; start without --resume");
  }
  at_ = frame->end;
  const Head& head = frame->head;
  std::optional<RankReport> report = FromBytes(frame->body);
  if (!report || report->evaluations.size() != 1 || !IsTime(head.wall_seconds) ||
      !IsTime(head.simulator_seconds) || !IsAnswer(task_, report->evaluations.front(), asked)) {
    throw InputError(path_ + ": what it says of sample " + std::to_string(answered_) +
                     " is no answer for this problem; start without --resume");
  }
  return Entry{std::move(report->evaluations.front()), head.wall_seconds, head.simulator_seconds};
}

void EvaluationLog::Append(const UnitPlacement& placement, const Entry& entry) {
  if (path_.empty() || bytes_ >= kMostBytes) return;
  const std::string body = ToBytes({{entry.evaluation}, false});
  const Head head = {body.size(), HashOfBytes(body), HashOf(placement), entry.wall_seconds,
                     entry.simulator_seconds};
  file_.write(reinterpret_cast<const char*>(&head), sizeof head);
  file_ << body;
  bytes_ += sizeof head + body.size();
  if (std::chrono::steady_clock::now() - flushed_ >= kFlushEvery) Flush();
}

void EvaluationLog::Flush() {
  file_.flush();
  if (!file_) throw RunError(path_ + ": the evaluations of the search cannot be written");
  flushed_ = std::chrono::steady_clock::now();
}

}  // namespace stowplan::agents
