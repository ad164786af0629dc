// The factories of the verbs, one file each, and what several of them share.
#pragma once

#include <memory>
#include <string>

#include "bench/command.h"

namespace berth::bench {

std::unique_ptr<Command> MakeListCommand();
std::unique_ptr<Command> MakeGraphCommand();
std::unique_ptr<Command> MakeSimulateCommand();
std::unique_ptr<Command> MakeExplainCommand();
std::unique_ptr<Command> MakePlaceCommand();
std::unique_ptr<Command> MakeTrainCommand();
std::unique_ptr<Command> MakeCompareCommand();
std::unique_ptr<Command> MakeTableCommand();
std::unique_ptr<Command> MakeCalibrateCommand();
std::unique_ptr<Command> MakeValidateCommand();
std::unique_ptr<Command> MakeSpeedCommand();
std::unique_ptr<Command> MakeHelpCommand();

// The reference of a declared program: a section for each verb with its options.
std::string PrintCliMarkdown(const CLI::App& app);

}  // namespace berth::bench
