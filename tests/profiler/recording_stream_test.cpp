#include "profiler/traces/recording_stream.h"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <rapidcheck/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler/traces/activity_merge.h"
#include "sim/formats/formats.h"
#include "tests/profiler/testing.h"
#include "tests/testing.h"

namespace {
bool has_locks = true;  // false: as a file system without
}  // namespace

// The stream's, too.
extern "C" int flock(int fd, int operation) noexcept {
  if (has_locks) return static_cast<int>(::syscall(SYS_flock, fd, operation));
  errno = ENOLCK;
  return -1;
}

namespace stowplan::profiler {
namespace {

Recording OneOf(const std::string& name, ActivityTrace trace) {
  Recording recording;
  recording.kind = kActivityKind;
  Part part;
  part.date = "2026-11-21T03:00:00+00:00";
  part.activity = std::move(trace);
  recording.Put(name, std::move(part));
  return recording;
}

ActivityTrace KernelAt(std::int64_t base_ns, Nanos start, Id correlation) {
  ActivityTrace trace;
  trace.base_ns = base_ns;
  trace.buffers = 1;
  KernelRecord& kernel = trace.kernels.emplace_back();
  kernel.start = start, kernel.end = start + 10, kernel.correlation = correlation;
  return trace;
}

std::string Bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(RecordingStream, PiecesReadAsOneOnOneClock) {
  const tests::TempFolder folder;
  const std::string path = folder / "steps.zst";
  RecordingStream stream(path);
  EXPECT_EQ(stream.Append(OneOf("a", KernelAt(1000, 50, 1))), "");
  EXPECT_EQ(stream.Append(OneOf("b", KernelAt(7, 1, 9))), "");
  EXPECT_EQ(stream.Append(OneOf("a", KernelAt(400, 20, 2))), "");  // an earlier clock than the first
  EXPECT_EQ(stream.Append(OneOf("a", KernelAt(5000, 0, 3))), "");  // without a stamp
  const Recording read = ReadRecording(path);
  ASSERT_EQ(read.parts.size(), 2u);
  const ActivityTrace& a = *read.Find("a")->activity;
  EXPECT_EQ(a.base_ns, 400);
  EXPECT_EQ(a.buffers, 3);
  ASSERT_EQ(a.kernels.size(), 3u);
  EXPECT_EQ(a.kernels[0].start, 650);
  EXPECT_EQ(a.kernels[0].end, 660);
  EXPECT_EQ(a.kernels[1].start, 20);
  EXPECT_EQ(a.kernels[2].start, kNoStamp);
  EXPECT_EQ(read.Find("b")->activity->base_ns, 7);
}

TEST(RecordingStream, WhatIsSaidLaterOfAPartReplacesWhatWasSaid) {
  Recording whole, first = OneOf("a", KernelAt(0, 50, 1)), last = OneOf("a", {});
  first.machine = {{"gpu", {std::string("H100")}}};
  first.parts[0].second.incomplete = "not closed";
  last.parts[0].second.command = "train";
  Merge(whole, first), Merge(whole, last);
  EXPECT_EQ(whole.machine, first.machine);
  EXPECT_EQ(whole.parts[0].second.incomplete, "");
  EXPECT_EQ(whole.parts[0].second.command, "train");
  EXPECT_EQ(whole.parts[0].second.activity->kernels.size(), 1u);
  Recording probes;
  probes.kind = kProbesKind;
  EXPECT_THROW(Merge(whole, probes), InputError);
}

TEST(RecordingStream, PiecesTooFarApartAreRefused) {
  ActivityTrace whole = KernelAt(0, 5, 1);
  ActivityTrace far = KernelAt(std::int64_t{1} << 61, std::int64_t{1} << 61, 2);
  EXPECT_THROW(AppendTrace(whole, far), InputError);
}

// Writes them, a kernel each, and says where each ends.
std::vector<std::size_t> ThreeFrames(const std::string& path) {
  RecordingStream stream(path);
  std::vector<std::size_t> ends;
  for (Id id = 1; id <= 3; ++id) {
    EXPECT_EQ(stream.Append(OneOf("a", KernelAt(0, 100 * id, id))), "");
    ends.push_back(std::filesystem::file_size(path));
  }
  return ends;
}

// Whatever byte the file ends with: what was whole before is read, and the loss is said.
TEST(RecordingStream, CutAnywhereKeepsWhatWasWhole) {
  const tests::TempFolder folder;
  const std::string path = folder / "steps.zst", cut = folder / "cut.zst";
  const std::vector<std::size_t> ends = ThreeFrames(path);
  const std::string whole = Bytes(path);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    std::ofstream(cut, std::ios::binary) << whole.substr(0, size);
    const auto frames = std::ranges::count_if(ends, [&](std::size_t end) { return end <= size; });
    if (frames == 0) {
      EXPECT_THROW(ReadRecording(cut), InputError) << size;
      continue;
    }
    const Recording read = ReadRecording(cut);
    EXPECT_EQ(std::ssize(read.parts[0].second.activity->kernels), frames) << size;
    EXPECT_EQ(read.parts[0].second.incomplete.empty(), std::ranges::find(ends, size) != ends.end()) << size;
  }
}

// A process that was killed while it wrote leaves a part of a frame before those of others.
TEST(RecordingStream, FramesBehindADamagedOneAreRead) {
  const tests::TempFolder folder;
  const std::string path = folder / "steps.zst", damaged = folder / "damaged.zst";
  const std::vector<std::size_t> ends = ThreeFrames(path);
  const std::string whole = Bytes(path);
  for (std::size_t kept = ends[0] + 1; kept < ends[1]; ++kept) {
    std::ofstream(damaged, std::ios::binary) << whole.substr(0, kept) + whole.substr(ends[1]);
    const Recording read = ReadRecording(damaged);
    ASSERT_EQ(read.parts[0].second.activity->kernels.size(), 2u) << kept;
    EXPECT_EQ(read.parts[0].second.activity->kernels[1].correlation, 3) << kept;
    EXPECT_NE(read.parts[0].second.incomplete, "") << kept;
  }
}

TEST(RecordingStream, SeveralWritersDoNotMixTheirFrames) {
  const tests::TempFolder folder;
  const std::string path = folder / "steps.zst";
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      RecordingStream stream(path);
      for (Id id = 1; id <= 50; ++id)
        EXPECT_EQ(stream.Append(OneOf(std::to_string(writer), KernelAt(0, 100 * id, id))), "");
    });
  }
  for (std::thread& writer : writers) writer.join();
  const Recording read = ReadRecording(path);
  ASSERT_EQ(read.parts.size(), 4u);
  for (const auto& [name, part] : read.parts) {
    ASSERT_EQ(part.activity->kernels.size(), 50u);
    for (std::size_t i = 0; i < 50; ++i)
      EXPECT_EQ(part.activity->kernels[i].correlation, static_cast<Id>(i + 1));
  }
}

// As Python's do, whose handlers do not restart what they interrupt.
TEST(RecordingStream, ASignalDoesNotEndTheWaitForTheLock) {
  const tests::TempFolder folder;
  const std::string path = folder / "steps.zst";
  struct sigaction interrupts {
  }, before{};
  interrupts.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR1, &interrupts, &before), 0);
  RecordingStream stream(path);
  const int other = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  std::thread writer([&] { EXPECT_EQ(stream.Append(OneOf("a", KernelAt(0, 100, 1))), ""); });
  for (int i = 0; i < 60; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::pthread_kill(writer.native_handle(), SIGUSR1);
    EXPECT_EQ(std::filesystem::file_size(path), 0u) << i;
  }
  ::close(other);  // and with it the lock
  writer.join();
  ::sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(ReadRecording(path).parts[0].second.activity->kernels.size(), 1u);
}

// A file that may not grow above 20 bytes behind a frame; what it has then, and what is said.
struct Refusal {
  std::uintmax_t bytes = 0;
  std::string reason;
};
Refusal AppendToFullFile(const std::string& path) {
  RecordingStream stream(path);
  EXPECT_EQ(stream.Append(OneOf("a", KernelAt(0, 100, 1))), "");
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit full{std::filesystem::file_size(path) + 20, limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &full);
  const std::string reason = stream.Append(OneOf("a", KernelAt(0, 200, 2)));
  ::setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  return {std::filesystem::file_size(path), reason};
}

// Without the lock the frames of others may be behind the part of ours, and would be cut off with it.
TEST(RecordingStream, WhatHadNoRoomIsTakenBackWhereNobodyElseCanHaveWritten) {
  const tests::TempFolder folder;
  const std::string locked = folder / "locked.zst", unlocked = folder / "unlocked.zst";
  const Refusal with = AppendToFullFile(locked);
  has_locks = false;
  const Refusal without = AppendToFullFile(unlocked);
  has_locks = true;
  EXPECT_EQ(with.reason, "File too large");
  EXPECT_EQ(without.reason, "File too large, and a part of a frame is left");
  EXPECT_EQ(without.bytes, with.bytes + 20);
  EXPECT_EQ(ReadRecording(locked).parts[0].second.incomplete, "");
  EXPECT_NE(ReadRecording(unlocked).parts[0].second.incomplete, "");
}

TEST(RecordingStream, IsReadDecompressedByHandToo) {
  const tests::TempFolder folder;
  const std::string path = folder / "steps.zst", plain = folder / "steps.json";
  RecordingStream stream(path);
  for (Id id = 1; id <= 3; ++id) EXPECT_EQ(stream.Append(OneOf("a}{\\\"", KernelAt(0, 100 * id, id))), "");
  formats::WriteFile(plain, formats::ReadFile(path));
  EXPECT_EQ(ReadRecording(plain), ReadRecording(path));
  EXPECT_EQ(ReadRecording(plain).parts[0].second.activity->kernels.size(), 3u);
}

// In seconds where each would cost what its frame holds.
TEST(RecordingStream, AFrameOfManyRecordingsIsReadOneByOne) {
  const tests::TempFolder folder;
  const std::string path = folder / "steps.zst";
  constexpr Id kMany = 60'000;
  std::string text;
  for (Id id = 1; id <= kMany; ++id)
    text += PrintRecording(OneOf("a", KernelAt(0, 100, id))) + (id % 3 == 0 ? " \n" : "");
  const std::size_t half = text.find("{\"format\"", text.size() / 2) + 20;  // a recording in two frames
  std::ofstream(path, std::ios::binary) << formats::Compress(text.substr(0, half), formats::kQuick)
                                        << formats::Compress(text.substr(half), formats::kQuick);
  formats::FrameReader frames(path);
  RecordingReader reader(frames);
  Id read = 0;
  while (const auto one = reader.Next())
    ASSERT_EQ(one->parts[0].second.activity->kernels[0].correlation, ++read);
  EXPECT_EQ(read, kMany);
  EXPECT_FALSE(reader.cut());
}

RC_GTEST_PROP(RecordingStream, ATraceInTwoPiecesIsTheWhole, ()) {
  const ActivityTrace trace = SoundTrace(*rc::gen::inRange(1, 20));
  ActivityTrace first = trace, second = trace;
  const auto cut = *rc::gen::inRange<std::size_t>(0, trace.kernels.size() + 1);
  const auto halve = [&](auto& keeps_front, auto& keeps_back) {
    keeps_front.resize(std::min(cut, keeps_front.size()));
    keeps_back.erase(keeps_back.begin(), keeps_back.begin() + std::ssize(keeps_front));
  };
  halve(first.kernels, second.kernels), halve(first.calls, second.calls),
      halve(first.markers, second.markers);
  halve(first.external, second.external), halve(first.synchronisations, second.synchronisations);
  second.buffers = second.lost_records = second.cut_records = 0;
  ActivityTrace whole = trace;
  MoveToOrigin(whole), MoveToOrigin(first), MoveToOrigin(second);
  AppendTrace(first, second);
  RC_ASSERT(first == whole);
}

}  // namespace
}  // namespace stowplan::profiler
