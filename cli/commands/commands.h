// The factories of the verbs, and the verbs within a verb, one file each.
#pragma once

#include <memory>
#include <vector>

#include "cli/command.h"

namespace stowplan::cli {

std::unique_ptr<Command> MakeListCommand();
const std::vector<CommandRow>& GraphVerbs();
std::unique_ptr<Command> MakeSimulateCommand();
std::unique_ptr<Command> MakeExplainCommand();
std::unique_ptr<Command> MakeLayoutsCommand();
std::unique_ptr<Command> MakePlaceCommand();
std::unique_ptr<Command> MakeExportCommand();
std::unique_ptr<Command> MakeTrainCommand();
std::unique_ptr<Command> MakeCompareCommand();
const std::vector<CommandRow>& TableVerbs();
std::unique_ptr<Command> MakeCalibrateCommand();
std::unique_ptr<Command> MakeValidateCommand();
std::unique_ptr<Command> MakeSpeedCommand();
std::unique_ptr<Command> MakeCollectivesCommand();
std::unique_ptr<Command> MakeCompletionCommand();
std::unique_ptr<Command> MakeManCommand();
std::unique_ptr<Command> MakeHelpCommand();

}  // namespace stowplan::cli
