// Parts of berth that stand in modules of their own because what they link costs too much at start-up, or is not on every
// machine. A module is opened when it is first used and stays open.
#pragma once

namespace berth::agents {

struct Plugin {
  const char* what;      // "the learning agents": for messages
  const char* file;      // "libberth_rl.so"
  const char* folder;    // where the build tree has it, beside the program's folder: "agents/rl"
  const char* variable;  // environment variable that names another path
  const char* symbol;    // the one that it exports
  bool built;            // whether this build has it
  const char* needs;     // what was not found where it has not: "libtorch"
};

// The address of its symbol. Looks for the module where the variable says, else in the build tree, in lib and in ../lib
// beside the program. Throws RunError where this build has none, or where it cannot be opened (with the loader's reason).
void* PluginSymbol(const Plugin& plugin);

}  // namespace berth::agents
