#include "tables/files/claim_reader.h"

// Claims of a table's file: docs/formats.md#experiment.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "output/console.h"
#include "sim/base/spec.h"
#include "sim/base/units.h"
#include "tables/report/claims.h"
#include "tables/report/common.h"
#include "tables/table_values.h"

namespace stowplan::tables {
namespace {

constexpr std::string_view kKeys[] = {
    "claim",  "kind",  "see",     "block",        "row",          "rows",  "column", "columns", "cells",
    "than",   "by",    "at_most", "below",        "at_least",     "above", "within", "takes",   "in_rows",
    "except", "named", "beside",  "beside_block", "beside_named", "ours",  "blocks", "each"};

// What any kind may have.
constexpr std::string_view kCommonKeys[] = {"kind", "see", "block", "blocks", "claim", "ours", "each"};

// A sentence may name the title of its row many times, and each cell is looked for.
constexpr std::size_t kMaxText = 2'000, kMaxCellsNamed = 50;

// Whether a kind has a field: 0 = it has not, 1 = it may, 2 = it must.
int Has(const ClaimKind& kind, std::string_view key) {
  const std::string padded = fmt::format(" {} ", kind.fields);
  if (padded.find(fmt::format(" {}! ", key)) != std::string::npos) return 2;
  return padded.find(fmt::format(" {} ", key)) != std::string::npos ? 1 : 0;
}

const ClaimKind& KindIn(const formats::Value& value) {
  const std::string name = value.Name();
  std::vector<std::string> known;
  for (const ClaimKind& kind : ClaimKinds()) {
    if (name == kind.name) return kind;
    known.emplace_back(kind.name);
  }
  value.Fail(fmt::format("is {}, which is no kind of claim; there are {}", name, JoinNames(known)));
}

template <typename Entries>
std::string KnownKey(const formats::Value& value, const Entries& entries, const std::string& what) {
  const std::string key = value.Name();
  if (std::ranges::none_of(entries, [&](const auto& entry) { return entry.key == key; }))
    value.Fail(fmt::format("is {}, which is no {}; there are {}", key, what, JoinNames(KeysOf(entries))));
  return key;
}

// A key or a list of keys.
template <typename Entries>
std::vector<std::string> KeysIn(const formats::Value& value, const Entries& entries,
                                const std::string& what) {
  if (!value.IsList()) return {KnownKey(value, entries, what)};
  std::unordered_set<std::string_view> known;  // both lists may be long
  for (const auto& entry : entries) known.insert(entry.key);
  std::vector<std::string> keys;
  std::unordered_set<std::string> listed;
  for (const formats::Value item : value.items()) {
    keys.push_back(known.contains(item.Text()) ? item.Name() : KnownKey(item, entries, what));
    if (!listed.insert(keys.back()).second)
      item.Fail(fmt::format("is {} again; once is enough", keys.back()));
  }
  if (keys.empty()) value.Fail("is empty");
  return keys;
}

// The number that decides; what is claimed to be below or above is not met by what is equal.
void ReadLimit(const formats::Fields& fields, Claim& claim) {
  constexpr double kMost = 1e9;
  if (const auto value = fields.Find("takes")) claim.limit = sim::ToMicros(value->Time()) / 1e6;
  for (const char* key : {"by", "at_most", "below", "at_least", "above", "within"}) {
    if (const auto value = fields.Find(key)) claim.limit = value->Number(0, kMost);
  }
  if (const auto by = fields.Find("by"); by && claim.limit >= 1)
    by->Fail(fmt::format("is {}, but is a part of what `than` takes: 0.1 is 10 %", claim.limit));
  claim.beyond = fields.Has("below") || fields.Has("above");
}

std::string Replaced(std::string text, std::string_view mark, const std::string& by) {
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size()))
    text.replace(at, mark.size(), by);
  return text;
}

// What a kind takes for granted of its columns.
void CheckColumns(const formats::Value& value, const Claim& claim, const TableBlock& block) {
  const auto column = [&](const std::string& key) {
    return std::ranges::find(block.columns, key, &TableColumn::key);
  };
  for (const std::string& key : claim.than) {
    if (std::ranges::find(claim.columns, key) != claim.columns.end())
      value.Fail(fmt::format("compares {} with itself", key));
  }
  if (claim.kind.starts_with("fewer_samples")) {
    for (const std::string& key : {claim.columns.front(), claim.than.front()}) {
      if (!column(key)->sampled) value.Fail(fmt::format("counts the samples of {}, which draws none", key));
    }
  }
  if (claim.kind != "opponents") return;
  for (const auto& keys : {RandomColumns(), LocalSearchColumns()}) {
    for (const std::string& key : keys) {
      if (column(key) == block.columns.end())
        value.Fail(fmt::format("needs column {} beside it; `set: baselines` has it", key));
    }
  }
}

void RefuseMoreThan(std::size_t room, std::size_t claims, const formats::Value& value) {
  if (claims > room) value.Fail("makes more claims than the 1,000 that a table may have");
}

// What makes several claims of one: the mark in its text that the title of each stands for, and what stands there in the text
// of all.
struct Family {
  const char* mark;
  std::string each;
  std::vector<std::pair<std::string, std::string>> titles;  // by key
};

// A claim for each key of a family, as `make` reads it.
template <typename Make>
std::vector<Claim> OneOfEach(const formats::Value& value, const Family& family, std::size_t room, Make make) {
  RefuseMoreThan(room, family.titles.size(), value);
  std::vector<Claim> claims;
  for (const auto& [key, title] : family.titles) {
    Claim& one = claims.emplace_back(make(key));
    const std::string text = one.text;
    if (family.titles.size() > 1 && text.find(family.mark) == std::string::npos)
      value.Fail(
          fmt::format("makes several claims of one text; {} in it stands for what each is of", family.mark));
    one.text = Replaced(text, family.mark, title);
    if (one.text.size() > kMaxText)
      value.Fail(fmt::format("has more than {} characters with the title of {}", kMaxText, key));
    if (family.titles.size() == 1) continue;
    one.family = Replaced(text, family.mark, family.each);
    one.member = title;
  }
  return claims;
}

// Those that its kind must have and no others, and of each pair that excludes itself one.
void CheckFields(const formats::Value& value, const formats::Fields& fields, const ClaimKind& kind) {
  for (const std::string_view key : kKeys) {
    if (Has(kind, key) == 2) fields.Require(key);
    if (std::ranges::find(kCommonKeys, key) != std::end(kCommonKeys)) continue;
    if (Has(kind, key) == 0 && fields.Has(key))
      value.Fail(fmt::format("has {}, which a claim of kind {} has not; its fields are {}", key, kind.name,
                             Replaced(kind.fields, "!", "")));
  }
  for (const auto& [one, other, of_other] : {std::tuple{"at_most", "below", "below"},
                                             {"at_least", "above", "above"},
                                             {"row", "rows", "rows: all"},
                                             {"column", "columns", "columns"}}) {
    if (Has(kind, one) == 1 && Has(kind, other) == 1 && fields.Has(one) == fields.Has(other))
      value.Fail(fmt::format("takes `{}` or `{}`, one of them", one, of_other));
  }
  if (kind.name == std::string_view("opponents") && fields.Has("ours"))
    value.Fail("has `ours`; claims of kind opponents always are");
  if (!fields.Has("blocks")) return;
  if (fields.Has("block")) value.Fail("takes `block` or `blocks`, one of them");
  if (kind.name == std::string_view("opponents"))
    value.Fail("has `blocks`, which a claim of kind opponents has not");
  if (kind.name == std::string_view("ratio") && fields.Has("rows"))
    value.Fail("takes `rows: all` or `blocks`, one of them");
  if (kind.name == std::string_view("mean_ratio") && fields.Has("columns"))
    value.Fail("takes `columns` or `blocks`, one of them");
}

// "ROW/COLUMN", into rows and columns of one length.
void ReadCells(const formats::Value& cells, const TableDefinition& table, Claim& claim) {
  if (cells.size() > kMaxCellsNamed)
    cells.Fail(fmt::format("has {} cells; a claim may name {}", cells.size(), kMaxCellsNamed));
  for (const formats::Value cell : cells.items()) {
    const std::string text = cell.Name();
    const std::size_t slash = text.find('/');
    claim.rows.push_back(text.substr(0, slash));
    claim.columns.push_back(slash == std::string::npos ? "" : text.substr(slash + 1));
    for (const std::string& in : {claim.block, claim.beside.empty() ? claim.block : claim.beside.front()}) {
      if (!table.HasCell(in, claim.rows.back(), claim.columns.back()))
        cell.Fail(fmt::format("is {}, which is no cell of block {}; wanted ROW/COLUMN", text, in));
    }
  }
}

// Which cells it is about.
void ReadSubjects(const formats::Fields& fields, const TableDefinition& table, const TableBlock& block,
                  Claim& claim) {
  const std::string column_of = "column of block " + block.key, row_of = "row of block " + block.key;
  if (const auto rows = fields.Find("rows"); rows && !(claim.kind == "ratio" && !rows->IsList()))
    claim.rows = KeysIn(*rows, block.lines, row_of);
  if (const auto row = fields.Find("row")) claim.rows = {KnownKey(*row, block.lines, row_of)};
  if (const auto column = fields.Find("column"))
    claim.columns = {KnownKey(*column, block.columns, column_of)};
  if (const auto columns = fields.Find("columns")) claim.columns = KeysIn(*columns, block.columns, column_of);
  if (const auto than = fields.Find("than")) {
    claim.than = KeysIn(*than, block.columns, column_of);
    if (claim.than.size() > 1 && claim.kind != "beats")
      than->Fail("is a list; only a claim of kind beats has several");
  }
  if (const auto except = fields.Find("except")) claim.except = KnownKey(*except, block.columns, column_of);
  if (const auto beside = fields.Find("beside")) claim.beside = KeysIn(*beside, block.columns, column_of);
  if (const auto beside = fields.Find("beside_block"))
    claim.beside = {KnownKey(*beside, table.blocks, "block")};
  if (const auto cells = fields.Find("cells")) ReadCells(*cells, table, claim);
}

// What `rows: all` of a ratio, or `columns` of a mean, makes of one: a claim of each.
std::vector<Claim> Expanded(const formats::Value& value, const formats::Fields& fields, const Claim& claim,
                            const TableBlock& block, std::size_t room) {
  const auto rows = claim.kind == "ratio" ? fields.Find("rows") : std::nullopt;
  const auto of = [&](std::vector<std::string> Claim::*field) {
    return [&claim, field](const std::string& key) {
      Claim one = claim;
      one.*field = {key};
      return one;
    };
  };
  if (rows && !rows->IsList()) {
    if (rows->Text() != "all") rows->Fail("must be `all`; one row is a `row`");
    Family family{"{row}", fields.Name("each", "each row"), {}};
    for (const TableLine& line : block.lines)
      family.titles.emplace_back(line.key, fmt::format("{}, {} GPUs", line.title, line.gpus));
    return OneOfEach(value, family, room, of(&Claim::rows));
  }
  if (claim.kind == "mean_ratio" && fields.Has("columns")) {
    Family family{"{column}", fields.Name("each", "each agent"), {}};
    for (const std::string& key : claim.columns) family.titles.emplace_back(key, ColumnOf(block, key).title);
    return OneOfEach(value, family, room, of(&Claim::columns));
  }
  if (fields.Has("each"))
    value.Fail("has `each`, which names what `rows: all`, `columns` or `blocks` make of one");
  return {claim};
}

// As it says of one block.
Claim ReadOfBlock(const formats::Value& value, const formats::Fields& fields, const ClaimKind& kind,
                  const TableDefinition& table, const TableBlock& block) {
  Claim claim;
  claim.kind = kind.name;
  claim.of_paper = claim.kind != "opponents" && !fields.Bool("ours", false);
  if (claim.kind != "opponents") claim.text = fields.Require("claim").Name();  // which words its own
  if (claim.text.size() > kMaxText) value.Fail(fmt::format("has more than {} characters", kMaxText));
  claim.experiment = fields.Name("see", "local search and bound in the same row");
  claim.block = block.key;
  ReadSubjects(fields, table, block, claim);
  CheckColumns(value, claim, block);
  ReadLimit(fields, claim);
  claim.in_rows =
      static_cast<int>(fields.Int("in_rows", 0, 1, static_cast<std::int64_t>(block.lines.size())));
  claim.named = fields.Name("named", "");
  claim.beside_named = fields.Name("beside_named", "");
  return claim;
}

// All that an entry makes.
std::vector<Claim> ReadAll(const formats::Value& value, const TableDefinition& table, std::size_t room) {
  RefuseMoreThan(room, 1, value);
  const formats::Fields fields(value, kKeys);
  const ClaimKind& kind = KindIn(fields.Require("kind"));
  CheckFields(value, fields, kind);
  const auto of_block = [&](const std::string& key) {
    return ReadOfBlock(value, fields, kind, table, BlockOf(table, key));
  };
  if (const auto blocks = fields.Find("blocks")) {
    Family family{"{block}", fields.Name("each", "each block"), {}};
    for (const std::string& key : KeysIn(*blocks, table.blocks, "block"))
      family.titles.emplace_back(key, BlockOf(table, key).title);
    return OneOfEach(value, family, room, of_block);
  }
  const auto block = fields.Find("block");
  const std::string key = block ? KnownKey(*block, table.blocks, "block") : table.blocks.front().key;
  return Expanded(value, fields, of_block(key), BlockOf(table, key), room);
}

}  // namespace

std::vector<Claim> ReadClaim(const formats::Value& value, const TableDefinition& table, std::size_t room) {
  std::vector<Claim> claims = ReadAll(value, table, room);
  for (const Claim& claim : claims) {
    for (const auto& [mark, field] :
         {std::pair{"{row}", "rows: all"}, {"{column}", "columns"}, {"{block}", "blocks"}}) {
      for (const std::string& text : {claim.text, claim.family}) {
        if (text.find(mark) != std::string::npos)
          value.Fail(fmt::format("has {} in its text, for which only `{}` puts a title", mark, field));
      }
    }
  }
  return claims;
}

}  // namespace stowplan::tables
