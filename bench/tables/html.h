// Pieces of the HTML page that stand in files of their own.
#pragma once

#include <string>
#include <vector>

#include "bench/tables/rendered_table.h"

namespace berth::bench {

std::string EscapeHtml(const std::string& text);

// Bars of ours beside the published number, one figure for each line, all on one log scale.
std::string HtmlBars(const RenderedBlock& block);
// Best runtime against samples, one drawing for each chart.
std::string HtmlCharts(const std::vector<RenderedChart>& charts);
// A lane for each device: when it works, and under it when it sends.
std::string HtmlTimelines(const std::vector<RenderedTimeline>& timelines);

}  // namespace berth::bench
