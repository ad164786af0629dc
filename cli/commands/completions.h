// What could stand next on a command line: one answer for all shells, made from the verbs as they are declared.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stowplan::cli {

// Words that the last of `typed`, which may be empty, is the beginning of: verbs, options, names of what `stowplan list` lists,
// choices. `typed`: what stands behind the program's name, up to the cursor. Empty where a file is wanted, or anything.
std::vector<std::string> Completions(const CLI::App& program, const std::vector<std::string>& typed);

// What bash, zsh or fish is given to ask for them. Throws InputError for another shell.
std::string CompletionScript(const std::string& shell);

}  // namespace stowplan::cli
