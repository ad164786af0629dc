// Programs that end as they should, and those that hang, print without end, ignore signals or are not there.
#include "sim/base/process.h"

#include <cerrno>
#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/testing.h"

namespace stowplan {
namespace {

using namespace std::chrono_literals;
using Stream = Process::Stream;

ProcessResult RunScript(const std::string& script, ProcessLimits limits = {.time = 60s, .output = 1000}) {
  return RunProcess({"/bin/sh", "-c", script}, limits, Stream::kNull);
}

// Waits until the process that the file names has ended: its end may be seen by nobody, or a moment after that of its shell.
void ExpectEnd(const std::string& pid_file) {
  std::string pid, name, state;
  ASSERT_TRUE(std::ifstream(pid_file) >> pid);
  while (std::ifstream("/proc/" + pid + "/stat") >> pid >> name >> state && state != "Z")
    std::this_thread::sleep_for(1ms);
}

TEST(RunProcess, HandsWordsOverAsTheyAre) {
  const ProcessResult result =
      RunProcess({"printf", "%s|", "a b", "$HOME", "'", ""}, {.time = 60s, .output = 100});
  EXPECT_TRUE(result.started);
  EXPECT_EQ(result.output, "a b|$HOME|'||");
  EXPECT_EQ(result.failure, "");
  ASSERT_TRUE(result.end);
  EXPECT_EQ(result.end->status, 0);
  EXPECT_EQ(result.end->signal, 0);
}

TEST(RunProcess, HasNothingToRead) {
  EXPECT_EQ(RunScript("cat; echo end").output, "end\n");
}

TEST(RunProcess, SaysHowItEnded) {
  const ProcessResult status = RunScript("echo half; exit 3");
  EXPECT_EQ(status.output, "half\n");
  EXPECT_EQ(status.failure, "ended with status 3");
  EXPECT_EQ(status.end.value().status, 3);
  EXPECT_EQ(status.end.value().signal, 0);
  const ProcessResult killed = RunScript("echo half; kill -9 $$");
  EXPECT_EQ(killed.output, "half\n");
  EXPECT_EQ(killed.failure, "was ended by signal 9");
  EXPECT_EQ(killed.end.value().status, 137);
  EXPECT_EQ(killed.end.value().signal, 9);
  EXPECT_EQ(RunScript("exec >&-; sleep 0.2; exit 4").failure, "ended with status 4")
      << "its output ends first";
  EXPECT_EQ(RunScript("sleep 1000 & exit 3").failure, "ended with status 3")
      << "what it started holds the pipe";
}

TEST(RunProcess, SaysThatThereIsNoSuchProgram) {
  const tests::TempFolder folder;
  std::ofstream(folder / "text") << "no program";
  for (const auto& [program, why] :
       {std::pair<std::string, std::string>{"no-such-program", "No such file or directory"},
        {folder / "none", "No such file or directory"},
        {folder / "text", "Permission denied"}}) {
    const ProcessResult result = RunProcess({program, "-x"}, {.time = 60s, .output = 100});
    EXPECT_FALSE(result.started);
    EXPECT_FALSE(result.end);
    EXPECT_EQ(result.output, "");
    EXPECT_EQ(result.failure, "cannot be started: " + why);
    try {
      const Process process({program}, {});
      ADD_FAILURE() << program;
    } catch (const InputError& error) {
      EXPECT_EQ(error.what(), program + " cannot be started: " + why);
    }
  }
}

// With all that it has started: the first is the shell, the second its child.
TEST(RunProcess, KillsAtTheLimitOfTime) {
  const tests::TempFolder folder;
  const std::string tell = "echo $$ > " + (folder / "shell") + "; ";
  const std::string start = "sleep 1000 & echo $! > " + (folder / "child") + "; ";
  for (const std::string& script : {tell + start + "echo half; wait", tell + start + "exec >&-; wait",
                                    "trap '' TERM INT HUP; " + tell + start + "while :; do wait; done"}) {
    const ProcessResult result = RunScript(script, {.time = 300ms, .output = 1000});
    EXPECT_EQ(result.failure, "has not ended within 0.3 s") << script;
    EXPECT_TRUE(result.started);
    EXPECT_FALSE(result.end);
    ExpectEnd(folder / "shell");
    ExpectEnd(folder / "child");
  }
  EXPECT_EQ(RunScript("echo half; sleep 1000", {.time = 300ms, .output = 1000}).output, "half\n");
}

TEST(RunProcess, KillsAtTheLimitOfOutput) {
  for (const char* script :
       {"cat /dev/zero", "trap '' PIPE TERM; cat /dev/zero", "head -c 1001 /dev/zero; sleep 1000"}) {
    const ProcessResult result = RunScript(script);
    EXPECT_EQ(result.failure, "has written more than 1000 bytes") << script;
    EXPECT_FALSE(result.end);
    EXPECT_EQ(result.output, std::string(1000, '\0'));
  }
  const ProcessResult whole = RunScript("head -c 1000 /dev/zero");
  EXPECT_EQ(whole.failure, "");
  EXPECT_EQ(whole.output.size(), 1000U);
}

TEST(RunProcess, GoesOnAfterSignalsToUs) {
  struct sigaction before {
  }, handler{};
  handler.sa_handler = [](int) {};  // without SA_RESTART: calls of the system end early
  sigaction(SIGUSR1, &handler, &before);
  const ProcessResult result = RunScript("for i in 1 2 3; do kill -USR1 $PPID; sleep 0.05; done; echo end");
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(result.output, "end\n");
  EXPECT_EQ(result.failure, "");
}

// What is blocked or ignored here is not so there, and its group is its own.
TEST(RunProcess, StartsWithSignalsAndAGroupOfItsOwn) {
  struct sigaction before {
  }, ignore{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGTERM, &ignore, &before);
  sigset_t blocked, mask;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGINT);
  pthread_sigmask(SIG_BLOCK, &blocked, &mask);
  EXPECT_EQ(RunScript("kill -TERM $$").failure, "was ended by signal 15");
  EXPECT_EQ(RunScript("kill -INT $$").failure, "was ended by signal 2");
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  sigaction(SIGTERM, &before, nullptr);
  EXPECT_EQ(RunScript("kill -TERM 0").failure, "was ended by signal 15") << "its group, not ours";
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "nothing is left";
  EXPECT_EQ(errno, ECHILD);
}

TEST(Process, IsOfOurGroupWhereItIsToBe) {
  for (const bool own : {true, false}) {
    Process process({"/bin/sh", "-c", "cut -d ' ' -f 5 /proc/$$/stat"}, {.own_group = own});
    std::string group;
    while (!process.output_ended()) process.Await(1s, false, group, 100);
    EXPECT_EQ(group == std::to_string(getpgrp()) + "\n", !own);
  }
}

TEST(Process, WaitsForNothingOnceTheTimeIsOver) {
  Process silent({"sleep", "60"}, {});
  std::string output;
  EXPECT_FALSE(silent.Await(-5ms, false, output, 100)) << "poll() would wait until it ends";
  silent.Terminate(0s);
  EXPECT_EQ(silent.AwaitEnd(60s).value().signal, SIGTERM);
}

TEST(Process, TakesWhatItIsTold) {
  Process cat({"cat"}, {.input = Stream::kPipe});
  const std::string text(1'000'000, 'x');  // more than a pipe holds
  std::string_view rest = text;
  std::string output;
  while (cat.Write(rest) && !rest.empty()) cat.Await(1s, true, output, text.size());
  cat.CloseInput();
  while (!cat.output_ended()) cat.Await(1s, false, output, text.size());
  EXPECT_EQ(output, text);
  EXPECT_EQ(cat.AwaitEnd(60s).value().status, 0);

  Process gone({"true"}, {.input = Stream::kPipe});
  ASSERT_TRUE(gone.AwaitEnd(60s));
  EXPECT_FALSE(gone.Write(rest = text)) << "and we go on: no SIGPIPE";
}

}  // namespace
}  // namespace stowplan
