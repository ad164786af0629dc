// What `berth list` prints, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "bench/console.h"

namespace berth::bench {

struct ListingColumn {
  ListingColumn(const char* name) : key(name), title(name) {}
  // A column of numbers.
  ListingColumn(const char* in_json, const char* in_text)
      : key(in_json), title(in_text), align(TextTable::Align::kRight) {}

  std::string key;    // in JSON
  std::string title;  // in text
  TextTable::Align align = TextTable::Align::kLeft;
};

struct Listing {
  std::vector<ListingColumn> columns;  // "name" first
  std::vector<std::vector<std::string>> rows;
  std::string legend = {};  // what stands under the text
};

// Workloads with their sizes, ours beside what bench/data/papers/workloads.csv has. Builds the graphs that it
// counts: lean, and with `raw` the raw ones too, which take longer.
Listing ListWorkloads(bool raw);

}  // namespace berth::bench
