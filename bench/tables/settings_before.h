// Which rows were run with settings that their agents no longer have: a row names its agent with all parameters in force.
#pragma once

#include <string>

#include "bench/tables/results.h"

namespace berth::bench {

// "HDP (14 rows), RNN (6 of 12 rows: Rules of the published simulator)": columns, of the cells that were run; empty where
// there is none.
// Of learners that this build lacks today's settings are not known, so they are in none.
std::string SettingsBefore(const TableResults& results);

}  // namespace berth::bench
