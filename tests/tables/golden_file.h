// Texts held against tests/tables/golden. `STOWPLAN_UPDATE_GOLDEN=1 test_tables` writes them anew.
#pragma once

#include "sim/formats/formats.h"
#include "tests/testing.h"

namespace stowplan::testing {

inline void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(STOWPLAN_SOURCE_DIR) + "/tests/tables/golden/" + name;
  if (std::getenv("STOWPLAN_UPDATE_GOLDEN") != nullptr) formats::WriteFile(path, text);
  ASSERT_TRUE(std::filesystem::exists(path)) << path << " is missing; STOWPLAN_UPDATE_GOLDEN=1 writes it";
  if (formats::ReadFile(path) == text) return;
  const std::string fresh = std::string(STOWPLAN_BINARY_DIR) + "/" + name + ".new";
  formats::WriteFile(fresh, text);
  FAIL() << path << " differs from\n" << fresh;
}

}  // namespace stowplan::testing
