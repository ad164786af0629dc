// What options take, checked when the call is parsed. Every option that takes a number says its range here, and what is
// none or outside is refused with a sentence that says it. (CLI11 alone would take 10^30 for the largest number that there
// is room for.)
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class Option;
}

namespace stowplan::problem {

inline constexpr std::int64_t kMaxSamples = 1'000'000'000'000;
inline constexpr std::int64_t kMaxSeed = INT64_MAX;
inline constexpr std::int64_t kMaxSeeds = 10'000;
inline constexpr std::int64_t kMaxThreads = 1'024;

// The option itself, for what is declared of it next. Whole numbers are digits, with a sign where `low` is negative.
CLI::Option* Whole(CLI::Option* option, std::int64_t low, std::int64_t high);
CLI::Option* Real(CLI::Option* option, double low, double high);

// Of one per core (0) or more.
CLI::Option* Threads(CLI::Option* option);

// One of these words, which help lists.
CLI::Option* OneOf(CLI::Option* option, const std::vector<std::string>& words);

// A file that JSON is written to, "-" for standard output. A suffix that says something else (.dot, .onnx, .csv) is refused:
// whoever gives it expects another format.
CLI::Option* JsonFile(CLI::Option* option);
// Why a name is refused there; empty = it is not.
std::string WrongJsonName(const std::string& file);

// Standard output holds one document: throws InputError where two files, each behind its option, are "-".
void RefuseTwoDocuments(const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace stowplan::problem
