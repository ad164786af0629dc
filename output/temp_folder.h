// A fresh folder below the system's for temporary files, removed with all that is in it at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "sim/base/error.h"

namespace stowplan::output {

class TempFolder {
 public:
  // Throws RunError where there is no room for it.
  TempFolder() : path_((std::filesystem::temp_directory_path() / "stowplan-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw RunError(path_ + ": the folder cannot be made.");
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace stowplan::output
