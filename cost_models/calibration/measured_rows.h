// A plain table of measured ops, from any program: what `stowplan calibrate ROWS.csv` reads. The columns are in
// docs/calibration.md#rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cost_models/ops/op_work.h"

namespace stowplan::cost_models {

struct MeasuredRow {
  int line = 0;
  std::string device;  // the column's, else the table's
  std::string op;      // "linear"
  std::string name;    // the framework's, "relu"; may be empty; says what an element-wise op computes
  std::string shape;   // op, name and dimensions, whatever the number format
  OpWork work;
  double us = 0;
};

struct MeasuredRows {
  std::string source;                        // what messages call the file
  std::map<std::string, std::string> facts;  // "# key: value" in front of the header
  std::vector<MeasuredRow> rows;
  std::int64_t unreadable = 0;        // rows left out: a time or a dimension that is no positive number
  std::int64_t first_unreadable = 0;  // the line of the first
};

// Throws InputError, naming `source` and the line: no header, a column that is not known or missing, two columns of
// time, an op or number format that is not known, tensors that are no whole
// number of 1 or more, a fact that is not known or missing (machine, library, date, source,
// licence).
MeasuredRows ParseMeasuredRows(std::string_view csv, const std::string& source);

}  // namespace stowplan::cost_models
