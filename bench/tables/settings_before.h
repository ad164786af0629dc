// Which rows were run with settings that their agents no longer have: a row names its agent with all parameters in force.
#pragma once

#include <string>

#include "bench/tables/results.h"

namespace berth::bench {

// "SGDP; HDP (12 of 14 rows); RNN (published)": columns whose cells all are, else of how many rows or in which blocks; empty
// where there is none. Of learners that this build lacks today's settings are not known, so they are in none.
std::string SettingsBefore(const TableResults& results);

}  // namespace berth::bench
