#include "agents/external/line_process.h"

#include <utility>

#include <fmt/format.h>

#include "sim/base/error.h"

namespace stowplan::agents {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// To end by itself once it has nothing more to do, and then after it was asked to.
constexpr auto kGrace = 2s;

}  // namespace

LineProcess::LineProcess(const std::string& command, Options options)
    : options_(std::move(options)), process_({"/bin/sh", "-c", command}, {.input = Process::Stream::kPipe}) {}

LineProcess::~LineProcess() {
  process_.CloseInput();
  if (!process_.AwaitEnd(0ns)) process_.Terminate(kGrace);
}

void LineProcess::Finish() {
  process_.CloseInput();
  process_.AwaitEnd(kGrace);
}

// Its input is full, or its output empty, until something happens; what it says is taken at once in either case, so that
// neither waits for the other for ever. False where we are to stop.
bool LineProcess::WaitUntil(bool readable, Clock::time_point deadline) {
  for (;;) {
    if (options_.stop && options_.stop()) return false;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left <= 0ms)
      throw InputError(
          fmt::format("has said nothing for {:g} s; timeout=SECONDS gives it longer",
                      std::chrono::duration_cast<std::chrono::duration<double>>(options_.timeout).count()));
    if (process_.Await(left, !readable, received_, options_.longest_line)) return true;
  }
}

void LineProcess::FailAsEnded() {
  const std::optional<ProcessEnd> end = process_.AwaitEnd(kGrace);
  if (!end) throw InputError("closed its standard output, but did not end");
  constexpr int kShellFoundNone = 127;
  if (end->status == kShellFoundNone) throw InputError("is no program that the shell finds (status 127)");
  throw InputError(end->Sentence());
}

bool LineProcess::Write(std::string_view line) {
  const std::string text = std::string(line) + '\n';
  std::string_view rest = text;
  // Where it reads no more, what it has said is still read, and then how it ended.
  while (process_.Write(rest) && !rest.empty()) {
    if (!WaitUntil(false, Clock::now() + options_.timeout)) return false;
    if (received_.size() > options_.longest_line)
      throw InputError(fmt::format("writes more than {} bytes without reading", options_.longest_line));
  }
  return true;
}

std::optional<std::string> LineProcess::Read() {
  const Clock::time_point deadline = Clock::now() + options_.timeout;
  for (;;) {
    const std::size_t end = received_.find('\n', searched_);
    if (end != std::string::npos && end <= options_.longest_line) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      searched_ = 0;
      return line;
    }
    searched_ = received_.size();
    if (received_.size() > options_.longest_line)
      throw InputError(fmt::format("wrote a line of more than {} bytes", options_.longest_line));
    if (process_.output_ended()) FailAsEnded();
    if (!WaitUntil(true, deadline)) return std::nullopt;
  }
}

}  // namespace stowplan::agents
