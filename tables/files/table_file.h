// A table as a file: stowplan.experiment (docs/formats.md). Those of the papers are compiled in (tables/papers); a
// user's stands anywhere.
#pragma once

#include <string>
#include <string_view>

#include "tables/table.h"

namespace stowplan::tables {

// Whether `stowplan table` is given a file: a path, or what ends as one.
bool IsTableFile(const std::string& name);

// `source`: what messages call the text. Paths of graphs and clusters are relative to `folder`. Throws InputError with
// the line of what is wrong. Agents are known by name; their parameters are not looked at.
TableDefinition ParseTable(std::string_view yaml, const std::string& source, const std::string& folder = {});

// A user's file. Its name is none of ours, and its agents are made once, so that wrong parameters are told before
// anything runs.
TableDefinition ReadTable(const std::string& path);

}  // namespace stowplan::tables
