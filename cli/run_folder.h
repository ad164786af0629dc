// A folder of results says what it is of, in a JSON file that is written before the work begins. So another call does not
// mix its results with these, or replace hours of work by mistake.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace stowplan::cli {

struct RunFolder {
  std::string path;
  std::string record;              // the file that says it: "run.json"
  nlohmann::ordered_json run;      // what this call is: the keys below and "command"
  std::vector<std::string> same;   // keys that results to go on from must share
  std::vector<std::string> alike;  // keys that results to be replaced must share besides
  std::vector<std::string>
      files;  // what else such a folder holds, the checkpoint first; empty text = none is kept
  bool resume = false;
  bool force = false;  // replace whatever is there
};

// Makes the folder, and throws InputError where it holds results of something else, of this but not finished while
// nobody said --resume, or such files that nothing says the origin of. The sentence says what is there and what would
// be right.
void ClaimFolder(const RunFolder& folder);

// Throws InputError: the folder holds the file, and nothing that says what it is of ("no run.json").
[[noreturn]] void RefuseUnknownFile(const std::string& folder, const std::string& file,
                                    const std::string& record);

}  // namespace stowplan::cli
