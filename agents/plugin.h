// Parts of stowplan that stand in modules of their own because what they link costs too much at start-up, or is not on every
// machine. A module is opened when it is first used and stays open.
//
// Every module also carries the text of sim/base/plugin_interface.h.
#pragma once

#include <string>

namespace stowplan::agents {

struct Plugin {
  const char* what;      // "the learning agents": for messages
  const char* file;      // "libstowplan_rl.so"
  const char* folder;    // where the build tree has it, beside the program's folder: "agents/rl"
  const char* variable;  // environment variable that names another path
  const char* symbol;    // what it exports
  bool built;            // whether this build has it
  const char* needs;     // what was not found where it has not: "libtorch"
  const char* target;    // that builds it: "stowplan_rl"
};

// Where a program that is not installed beside stowplan's own has the plug-ins (an absolute path): call it before the first is
// opened, from one thread. Programs that find_package(stowplan) builds are told the folder as STOWPLAN_PLUGIN_FOLDER.
void SetPluginFolder(const std::string& folder);

// The address of its symbol. Looks for the module where the variable says, else beside the program as it was built or
// installed (../<folder>, ../lib/stowplan), else in SetPluginFolder's; never in the working directory. Throws RunError where
// this build has none, or where it cannot be opened (with the reason), and InputError where it is one of another build,
// before anything of it runs.
void* PluginSymbol(const Plugin& plugin);

}  // namespace stowplan::agents
