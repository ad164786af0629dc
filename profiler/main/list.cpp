#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "profiler/main/commands.h"

namespace stowplan::profiler {

RunVerb DeclareList(CLI::App& app) {
  const auto long_text = std::make_shared<bool>(false);
  app.add_flag("--meaning", *long_text, "also what each number means");
  return [long_text] {
    for (const Probe& probe : Probes()) {
      const std::string rows = probe.cases == nullptr ? "" : fmt::format("{} rows", probe.cases().size());
      fmt::print("{:18} {:>9}  {}\n", probe.name, rows, probe.what);
      if (*long_text) fmt::print("{:30}{}\n", "", probe.meaning);
    }
    return 0;
  };
}

}  // namespace stowplan::profiler
