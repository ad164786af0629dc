// What a page draws beside its tables: curves of searches and timelines of placements.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "output/console.h"
#include "tables/report/rendered_table.h"

namespace stowplan::tables {
namespace {

constexpr std::size_t kOthers = 5;

}  // namespace

std::vector<RenderedSeries> Readable(std::vector<std::pair<RenderedSeries, bool>> series_and_is_learner) {
  std::stable_sort(series_and_is_learner.begin(), series_and_is_learner.end(),
                   [](const auto& a, const auto& b) {
                     return std::pair(!a.second, a.first.points.back().second) <
                            std::pair(!b.second, b.first.points.back().second);
                   });
  std::vector<RenderedSeries> kept;
  std::size_t others = 0;
  for (auto& [series, is_learner] : series_and_is_learner) {
    if (is_learner || ++others <= kOthers) kept.push_back(std::move(series));
  }
  return kept;
}

std::vector<RenderedChart> BuildCharts(const TableResults& results) {
  std::vector<RenderedChart> charts;
  for (const TableBlock& block : results.table().blocks) {
    for (const TableLine& line : block.lines) {
      RenderedChart chart{.title = fmt::format("{} on {} GPUs ({})", line.title, line.gpus, block.title)};
      std::vector<std::pair<RenderedSeries, bool>> series;
      for (const TableColumn& column : block.columns) {
        const CellSummary& cell = results.At(block.key, line.key, column.key);
        if (!column.sampled || cell.records.empty() || !cell.median) continue;
        // The seed whose result is the median by rank, as in the table.
        std::vector<const CellRecord*> sorted;
        for (const CellRecord& record : cell.records) {
          if (record.runtime_us) sorted.push_back(&record);
        }
        std::sort(sorted.begin(), sorted.end(),
                  [](auto* a, auto* b) { return *a->runtime_us < *b->runtime_us; });
        const auto points = CurvePoints(*sorted[sorted.size() / 2]);
        const std::string last = output::SecondsDigits(points.back().second);
        series.emplace_back(RenderedSeries{column.title, last,
                                           fmt::format("{} ends at {} s after {:.0f} samples", column.title,
                                                       last, points.back().first),
                                           points},
                            column.learner);
      }
      chart.series = Readable(std::move(series));
      if (!chart.series.empty()) charts.push_back(std::move(chart));
    }
  }
  return charts;
}

std::vector<RenderedTimeline> BuildTimelines(const TableResults& results) {
  std::vector<RenderedTimeline> timelines;
  for (const TableBlock& block : results.table().blocks) {
    for (const TableLine& line : block.lines) {
      const CellRecord* best = nullptr;
      const TableColumn* by = nullptr;
      for (const TableColumn& column : block.columns) {
        for (const CellRecord& record : results.At(block.key, line.key, column.key).records) {
          if (!record.runtime_us || record.timeline.empty() ||
              (best != nullptr && *best->runtime_us <= *record.runtime_us))
            continue;
          best = &record;
          by = &column;
        }
      }
      if (best == nullptr) continue;
      RenderedTimeline timeline;
      timeline.seconds = *best->runtime_us / 1e6;
      timeline.title = fmt::format("{} on {} GPUs ({}): {}, {} s", line.title, line.gpus, block.title,
                                   by->title, output::SecondsDigits(timeline.seconds));
      timeline.lanes = ReadTimeline(best->timeline, fmt::format("rows.csv of {}", results.table().name));
      for (const TimelineLane& lane : timeline.lanes) {
        const auto part = [](const auto& parts) {
          return 100 * std::accumulate(parts.begin(), parts.end(), 0.0) / static_cast<double>(parts.size());
        };
        timeline.spoken +=
            fmt::format("{}{} works {:.0f} % and sends {:.0f} % of the time",
                        timeline.spoken.empty() ? "" : "; ", lane.device, part(lane.works), part(lane.sends));
      }
      timelines.push_back(std::move(timeline));
    }
  }
  return timelines;
}

}  // namespace stowplan::tables
