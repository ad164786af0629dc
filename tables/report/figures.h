// The figures of a table's page.
#pragma once

#include <string>
#include <vector>

#include "tables/report/rendered_table.h"

namespace stowplan::tables {

// The cells of each line on one scale: times the best that was found, with the range over seeds, the published number
// and the proven bound. Empty where nothing ran.
std::string DotFigures(const RenderedBlock& block);
// One drawing of stairs for each chart. A name is drawn alike in all of them.
std::string CurveFigures(const std::vector<RenderedChart>& charts);
// A lane for each device: when it works, and under it when it sends.
std::string TimelineFigures(const std::vector<RenderedTimeline>& timelines);

}  // namespace stowplan::tables
