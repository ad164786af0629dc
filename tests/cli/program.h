// Runs the real stowplan program as a user would.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace stowplan::testing {

struct ProgramResult {
  int status = -1;  // exit status; 128 + n where signal n ended it
  std::string out;  // standard output
  std::string err;  // standard error
};

// `directory`: where it is started; empty = here. `input`: what it reads.
ProgramResult RunStowplan(const std::vector<std::string>& arguments, const std::string& directory = {},
                          const std::string& input = {});

// A line for /bin/bash, started in an empty folder, in which STOWPLAN is the program.
ProgramResult RunShell(const std::string& line);

// The JSON that a program printed; it must have ended with 0.
nlohmann::json JsonOf(const ProgramResult& result);

// Bad input: status 2, nothing on standard output, exactly one line on standard error, which holds `says`.
void ExpectRefused(const std::vector<std::string>& arguments, const std::string& says);

// A child that is not waited for; see StopAndWait.
class RunningProgram {
 public:
  RunningProgram(const std::vector<std::string>& arguments, const std::string& directory);
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  // Sends the signal and returns the exit status as in ProgramResult.
  int StopAndWait(int signal);

 private:
  int pid_ = -1;
};

}  // namespace stowplan::testing
