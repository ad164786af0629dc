// stowplan.table (docs/schema/table.json): the blocks of a rendered table for scripts, texts and the numbers behind them.
#include <nlohmann/json.hpp>

#include "tables/report/rendered_table.h"

namespace stowplan::tables {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// A cell of ratios has no seconds of its own.
Json CellJson(const RenderedBlock& block, std::size_t column, const RenderedCell& cell) {
  return {{"column", block.columns[column].title},
          {"text", cell.ours},
          {"spread", cell.spread},
          {"published", cell.published},
          {"ratio", cell.ratio},
          {"kind", cell.kind},
          {"remark", cell.remark},
          {"seconds", block.dots ? OrNull(cell.ours_seconds) : Json(nullptr)},
          {"published_seconds", OrNull(cell.published_seconds)}};
}

Json ColumnTitles(const RenderedBlock& block) {
  Json titles = Json::array();
  for (const RenderedColumn& column : block.columns) titles.push_back(column.title);
  return titles;
}

Json RowJson(const RenderedBlock& block, const RenderedLine& line) {
  Json row = {{"row", line.title},
              {"what", line.what},
              {"gpus", line.gpus},
              {"lower_bound_seconds", OrNull(line.bound_seconds)},
              {"cells", Json::array()}};
  for (std::size_t c = 0; c < line.cells.size(); ++c)
    row["cells"].push_back(CellJson(block, c, line.cells[c]));
  return row;
}

}  // namespace

std::string RenderJson(const RenderedTable& table) {
  Json json = {{"format", "stowplan.table"}, {"version", 1},           {"name", table.name},
               {"title", table.title},       {"legend", table.legend}, {"blocks", Json::array()}};
  for (const RenderedBlock& block : table.blocks) {
    Json out = {{"key", block.key},     {"title", block.title},           {"note", block.note},
                {"shows", block.shows}, {"columns", ColumnTitles(block)}, {"rows", Json::array()}};
    for (const RenderedLine& line : block.lines) out["rows"].push_back(RowJson(block, line));
    json["blocks"].push_back(std::move(out));
  }
  json["provenance"] = Json::object();
  for (const auto& [what, value] : table.provenance) json["provenance"][what] = value;
  return json.dump(1) + "\n";
}

}  // namespace stowplan::tables
