// How a program from outside can go wrong, each in a sentence. What it does when it goes right: conformance_test.cpp and
// outside_test.py.
#include <cerrno>
#include <csignal>

#include <sys/wait.h>

#include "agents/agent.h"
#include "agents/external/line_process.h"
#include "tests/agents/problems.h"
#include "tests/testing.h"

namespace stowplan::agents {
namespace {

std::string Refusal(const std::string& command, std::int64_t budget = 10, const std::string& timeout = "60") {
  const auto c = TinyCase();  // 3 units, 3 devices
  const Task task = MakeTask(*c->problem, "");
  Evaluator evaluator(task, {.budget = budget});
  try {
    MakeAgent("external(command=" + command + ",timeout=" + timeout + ")")->Search(task, evaluator, {});
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), StartsWith("external: \"")) << "which program";
    return error.what();
  }
  return {};
}

// What it writes before it reads anything.
std::string RefusedLine(const std::string& line) {
  const tests::TempFolder folder;
  std::ofstream(folder / "line") << line << '\n';
  return Refusal("cat " + (folder / "line"));
}

TEST(External, WantsAProgram) {
  EXPECT_THROW(MakeAgent("external"), InputError);
  EXPECT_THROW(MakeAgent("external(command=cat,timeout=0)"), InputError);
  EXPECT_THROW(MakeAgent(R"(external(command="cat))"), InputError);
  EXPECT_EQ(MakeAgent(R"(external(command="a (b, c", timeout=2))")->name(),
            R"(external(command="a (b, c",timeout=2))");
}

TEST(External, LinesThatAreNoRequest) {
  for (const char* line : {"hello", "[]", "1", "", "{}", R"({"evaluate": [[0, 0, 0]], "done": true})"})
    EXPECT_THAT(RefusedLine(line), HasSubstr("line 1 is ")) << line;
  for (const char* line : {R"({"evaluat": [[0, 0, 0]]})", R"({"done": false})", R"({"error": 3})"})
    EXPECT_THAT(RefusedLine(line), HasSubstr("line 1 has ")) << line;
  for (const char* list : {"[]", "3", "{}", R"("aaa")"})
    EXPECT_THAT(RefusedLine(std::string(R"({"evaluate": )") + list + "}"),
                HasSubstr("at least one placement"));
  EXPECT_THAT(RefusedLine(R"({"error": "needs a TPU"})"), HasSubstr(R"(line 1 gives up: "needs a TPU")"));
}

TEST(External, PlacementsThatAreNone) {
  const auto refused = [](const std::string& placement) {
    return RefusedLine(R"({"evaluate": [[0, 1, 2], )" + placement + "]}");
  };
  EXPECT_THAT(refused("[0, 1]"), HasSubstr("line 1 has evaluate[1] for 2 units, but there are 3"));
  EXPECT_THAT(refused(R"("abca")"), HasSubstr("evaluate[1] for 4 units, but there are 3"));
  EXPECT_THAT(refused("[0, 1, 3]"), HasSubstr("evaluate[1][2]: \"3\", but must have the number of a"));
  for (const char* device : {"-1", "1.0", "true", "null", "[0]", "18446744073709551616", R"("a")"})
    EXPECT_THAT(refused(std::string("[") + device + ", 0, 0]"), HasSubstr("evaluate[1][0]: ")) << device;
  EXPECT_THAT(refused(R"("abd")"),
              HasSubstr("evaluate[1][2]: \"d\", but must have the letter of a device there, a to c"));
  EXPECT_THAT(refused("7"), HasSubstr("evaluate[1]: "));
}

TEST(External, ProgramsThatEnd) {
  EXPECT_THAT(Refusal("exit 3"), HasSubstr("ended with status 3"));
  EXPECT_THAT(Refusal("/no/such/program 2> /dev/null"), HasSubstr("no program that the shell finds"));
  EXPECT_THAT(Refusal("kill -9 $$"), HasSubstr("ended by signal 9"));
  EXPECT_THAT(Refusal("sleep 1000 & exit 3"), HasSubstr("ended with status 3"))
      << "what it started holds the pipe";
  // It has read nothing: what is written to it would be a SIGPIPE.
  EXPECT_THAT(Refusal("exec <&-; echo '{\"evaluate\":[\"aaa\"]}'; sleep 0.1"),
              HasSubstr("ended with status 0"));
}

TEST(External, ProgramsThatGoOnForEver) {
  EXPECT_THAT(Refusal("sleep 1000", 10, "0.05"), HasSubstr("said nothing for 0.05 s"));
  EXPECT_THAT(Refusal("trap '' TERM; while read line; do :; done", 10, "0.05"), HasSubstr("said nothing"));
  EXPECT_THAT(Refusal("cat /dev/zero"), HasSubstr("a line of more than 1048576 bytes"));
}

// The last answer lies in no pipe, and it never reads it.
TEST(External, WhatItDoesAfterTheBudgetIsItsOwnBusiness) {
  const tests::TempFolder folder;
  std::ofstream line(folder / "line");
  line << R"({"evaluate": ["aaa")";
  for (int i = 1; i < 2000; ++i) line << R"(, "bbb")";
  line << "]}" << std::endl;
  EXPECT_EQ(Refusal("cat " + (folder / "line") + "; sleep 1000", 2000, "0.5"), "");
  EXPECT_THAT(Refusal("cat " + (folder / "line") + "; sleep 1000", 2001, "0.5"), HasSubstr("said nothing"));
}

// 100 KB lie in no pipe: it must be read while it is written to.
TEST(External, NeitherWaitsForTheOther) {
  LineProcess cat("cat",
                  {.timeout = std::chrono::seconds(60), .longest_line = std::size_t{1} << 23, .stop = {}});
  for (const std::size_t size : {0u, 1u, 65535u, 65536u, 4'000'000u}) {
    const std::string line(size, 'x');
    ASSERT_TRUE(cat.Write(line));
    EXPECT_EQ(cat.Read(), line) << size;
  }
}

TEST(External, LeavesNoProcessAndNoSignal) {
  struct sigaction before {};
  sigaction(SIGPIPE, nullptr, &before);
  Refusal("exit 3");
  Refusal("sleep 1000", 10, "0.05");
  Refusal("echo '{\"done\": true}'; sleep 1000");
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  struct sigaction after {};
  sigaction(SIGPIPE, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

// The shell ends at once where it is told to; its program may take a moment.
TEST(External, TheProgramMaySaveWhenItIsEnded) {
  const tests::TempFolder folder;
  std::ofstream(folder / "agent.sh") << "trap 'sleep 0.2; echo saved > " << folder / "saved"
                                     << "; exit' TERM\nwhile :; do sleep 0.05; done\n";
  Refusal("true; sh " + (folder / "agent.sh") + "; true", 10, "0.3");
  EXPECT_TRUE(std::ifstream(folder / "saved").good());
}

TEST(External, StopsWhileTheProgramThinks) {
  const auto c = TinyCase();
  const Task task = MakeTask(*c->problem, "");
  std::atomic<bool> stop{false};
  Evaluator evaluator(task, {.budget = 10, .stop = &stop});
  std::thread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop = true;
  });
  MakeAgent("external(command=sleep 1000)")
      ->Search(task, evaluator, {});  // else it would take a minute, and throw
  user.join();
  EXPECT_EQ(evaluator.samples(), 0);
}

// Numbers and letters say the same; a batch beyond the budget is cut.
TEST(External, SamplesWhatItWasAskedFor) {
  const auto c = TinyCase();
  const Task task = MakeTask(*c->problem, "");
  const std::vector<UnitPlacement> wanted = {{0, 1, 2}, {2, 1, 0}, {1, 1, 1}};
  const tests::TempFolder folder;
  std::ofstream(folder / "line") << R"({"evaluate": [[0, 1, 2], "cba", "bbb", "aaa"]})" << '\n';
  EXPECT_EQ(Record("external(command=cat " + (folder / "line") + " -)", task, 3), wanted);
  Evaluator evaluator(task, {.budget = 5});
  MakeAgent(R"(external(command=read hello; echo '{"evaluate": ["abc"]}'; read told; echo '{"done": true}'))")
      ->Search(task, evaluator, {});
  EXPECT_EQ(evaluator.samples(), 1);
  EXPECT_EQ(evaluator.proposals(), 1);
}

}  // namespace
}  // namespace stowplan::agents
