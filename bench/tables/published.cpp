#include "bench/tables/published.h"

#include <algorithm>
#include <charconv>

#include "BenchData.h"
#include "sim/error.h"

namespace berth::bench {
namespace {

std::size_t ColumnOf(const CsvLine& header, const std::string& name) {
  const auto found = std::find(header.begin(), header.end(), name);
  BERTH_CHECK(found != header.end());
  return static_cast<std::size_t>(found - header.begin());
}

double Number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  BERTH_CHECK(error == std::errc() && end == text.data() + text.size());
  return value;
}

}  // namespace

PublishedTable::PublishedTable(const std::string& file) {
  if (file.empty()) return;
  lines_ = ParseCsv(BenchData(file), file, true);
  BERTH_CHECK(!lines_.empty());
  header_ = lines_.front();
  lines_.erase(lines_.begin());
  for (const CsvLine& line : lines_) BERTH_CHECK_EQ(line.size(), header_.size());
}

std::optional<PublishedCell> PublishedTable::Find(const std::string& workload, int gpus,
                                                  const std::string& column) const {
  const std::size_t at = ColumnOf(header_, column);
  const std::size_t workload_at = ColumnOf(header_, "workload");
  const auto gpus_at = std::find(header_.begin(), header_.end(), "gpus") - header_.begin();
  for (const CsvLine& line : lines_) {
    if (line[workload_at] != workload) continue;
    if (static_cast<std::size_t>(gpus_at) < line.size() &&
        line[static_cast<std::size_t>(gpus_at)] != std::to_string(gpus)) {
      continue;
    }
    if (line[at] == "-") return std::nullopt;
    if (line[at] == "OOM") return PublishedCell{true, std::nullopt};
    return PublishedCell{false, Number(line[at])};
  }
  return std::nullopt;
}

}  // namespace berth::bench
