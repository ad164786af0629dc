// Ctrl-C where nobody listens: the program ends all the same, and keeps what is finished.
#include "output/interrupt.h"

#include <csignal>
#include <cstdio>

#include <unistd.h>

#include "tests/testing.h"

namespace stowplan::output {
namespace {

class Deaf : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // As a library of others works: for ever, and without a look at any flag.
  [[noreturn]] static void Work() {
    for (volatile unsigned turns = 0;;) turns = turns + 1;
  }
};

TEST_P(Deaf, WorkEndsWithWhatIsKept) {
  EXPECT_EXIT(
      {
        const EndsInTime in_time([] {
          std::printf("saved\n");
          return "stopped; it is kept.";
        });
        std::raise(GetParam());
        Work();
      },
      ::testing::ExitedWithCode(kInterruptedStatus), "stowplan: stopped; it is kept");
}

TEST_P(Deaf, WhatCannotBeKeptIsSaid) {
  EXPECT_EXIT(
      {
        const EndsInTime in_time([]() -> std::string { throw std::runtime_error("the disk is full"); });
        std::raise(GetParam());
        Work();
      },
      ::testing::ExitedWithCode(1), "stowplan: the disk is full");
}

// Who listens in time ends by himself, and so does who comes to his end.
TEST_P(Deaf, WhoListensIsLeftAlone) {
  EXPECT_EXIT(
      {
        {
          const EndsInTime in_time([]() -> std::string { std::abort(); });
          std::raise(GetParam());
          while (!StopRequested()) {
          }
        }
        usleep(2'500'000);  // longer than the other thread would have waited
        std::_Exit(7);
      },
      ::testing::ExitedWithCode(7), "");
}

INSTANTIATE_TEST_SUITE_P(Signals, Deaf, ::testing::Values(SIGINT, SIGTERM));

}  // namespace
}  // namespace stowplan::output
