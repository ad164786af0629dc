#include "tables/files/table_columns.h"

#include <string_view>

#include "TableData.h"
#include "agents/agent.h"
#include "problem/options.h"
#include "sim/base/spec.h"
#include "sim/formats/document/yaml_reader.h"
#include "tables/table_values.h"

namespace stowplan::tables {
namespace {

using formats::Fields;
using formats::Value;

constexpr std::string_view kColumn[] = {"agent",   "key",     "title",   "cell",      "devices",
                                        "grouper", "samples", "trained", "zero_shot", "last"};
constexpr std::string_view kSet[] = {"set", "devices"};
constexpr std::string_view kSets[] = {"controls", "baselines"};
constexpr std::string_view kCells[] = {"fitted", "predicted", "searched"};  // as CellKind has them

std::vector<TableColumn> ShippedColumns(std::string_view set) {
  const formats::Document document = formats::ParseYaml(TableData("columns.yaml"), "columns.yaml");
  return ReadColumns(Fields(document.root(), kSets).Require(set));
}

// A count, `pass`, or `pass(every=16)`.
void ReadSamples(const Value& value, TableColumn& column) {
  if (value.IsNumber()) {
    column.samples = value.Int(1, problem::kMaxSamples);
    return;
  }
  const Spec pass = At(value, [&] { return Spec::Parse(value.Text()); });
  if (pass.name != "pass" || !pass.positional.empty())
    value.Fail(
        "is neither a count nor `pass`, one sample for each group, nor `pass(every=16)`, one for each 16");
  column.pass_every = At(value, [&] {
    return Settings(pass, {{{"every", "groups a sample", Whole(1, problem::kMaxSamples), "1"}}}).Int("every");
  });
}

TableColumn ReadColumn(const Value& value) {
  TableColumn column;
  column.place = value.Place();
  column.kind = CellKind::kPredicted;
  const auto is_of = [&](const Value& agent) {
    const agents::AgentRow& row = AgentIn(agent);
    column.agent = agent.Name();
    column.key = KeyOf(column.agent);
    column.title = column.agent;
    column.sampled = agents::Samples(row);
    column.learner = row.kind == agents::AgentKind::kLearner;
    if (column.sampled || row.kind != agents::AgentKind::kBaseline) column.kind = CellKind::kSearched;
  };
  if (!value.IsObject()) {
    is_of(value);
    return column;
  }
  const Fields fields(value, kColumn);
  if (const auto agent = fields.Find("agent")) {
    is_of(*agent);
  } else if (!fields.Has("key")) {
    value.Fail("has no `agent`; only a column whose rows each name theirs goes without, and has a `key`");
  }
  if (const auto key = fields.Find("key")) column.key = KeyIn(*key);
  if (column.title.empty()) column.title = column.key;
  column.title = fields.Name("title", column.title);
  if (const auto cell = fields.Find("cell")) column.kind = static_cast<CellKind>(cell->Choice(kCells));
  column.devices = fields.String("devices", "");
  if (const auto grouper = fields.Find("grouper")) column.grouper = GrouperIn(*grouper);
  if (const auto samples = fields.Find("samples")) ReadSamples(*samples, column);
  column.zero_shot = fields.Bool("zero_shot", false);
  column.trained = fields.Bool("trained", column.zero_shot);
  if (column.zero_shot && !column.trained)
    value.Fail("is `zero_shot` and not `trained`; a zero-shot column applies what its block's training left");
  column.last = fields.Bool("last", false);
  return column;
}

}  // namespace

std::vector<TableColumn> ReadColumns(const Value& list) {
  std::vector<TableColumn> columns;
  for (const Value item : list.items()) {
    if (HasKey(item, "set")) {
      const Fields fields(item, kSet);
      const std::size_t set = fields.Require("set").Choice(kSets);
      for (TableColumn& column : ShippedColumns(kSets[set])) {
        column.devices = fields.String("devices", "");
        column.place = item.Place();
        Add(std::move(column), item, columns);
      }
    } else {
      Add(ReadColumn(item), item, columns);
    }
  }
  if (columns.empty()) list.Fail("is empty; a column is an agent of `stowplan list agents`");
  return columns;
}

}  // namespace stowplan::tables
