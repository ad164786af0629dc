// The factories of the verbs, one file each.
#pragma once

#include <memory>

#include "cli/command.h"

namespace stowplan::cli {

std::unique_ptr<Command> MakeListCommand();
std::unique_ptr<Command> MakeGraphCommand();
std::unique_ptr<Command> MakeSimulateCommand();
std::unique_ptr<Command> MakeExplainCommand();
std::unique_ptr<Command> MakePlaceCommand();
std::unique_ptr<Command> MakeExportCommand();
std::unique_ptr<Command> MakeTrainCommand();
std::unique_ptr<Command> MakeCompareCommand();
std::unique_ptr<Command> MakeTableCommand();
std::unique_ptr<Command> MakeCalibrateCommand();
std::unique_ptr<Command> MakeValidateCommand();
std::unique_ptr<Command> MakeSpeedCommand();
std::unique_ptr<Command> MakeCompletionCommand();
std::unique_ptr<Command> MakeManCommand();
std::unique_ptr<Command> MakeHelpCommand();

}  // namespace stowplan::cli
