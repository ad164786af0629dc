#include "tests/tables/readers.h"

#include <fstream>
#include <iterator>

#include "agents/shared_evaluation.h"
#include "cost_models/calibration/measured_rows.h"
#include "cost_models/cost_models.h"
#include "cost_models/parameters/parameters.h"
#include "sim/base/error.h"
#include "sim/base/spec.h"
#include "sim/formats/document/compression.h"
#include "sim/formats/document/units_text.h"
#include "sim/formats/formats.h"
#include "tables/derive/gate_rows.h"
#include "tables/record.h"
#include "tables/store.h"
#include "tests/tables/tiny_table.h"
#include "tests/temp_folder.h"

namespace stowplan::tables {
namespace {

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Rows() {
  return PrintRows(testing::TinyRecords());
}

void ReadRows(std::string_view bytes) {
  std::string printed;
  Tolerate([&] { printed = PrintRows(ParseRows(bytes, "input")); });
  if (!printed.empty()) STOWPLAN_CHECK_EQ(PrintRows(ParseRows(printed, "printed")), printed);
}

std::string Store() {
  const tests::TempFolder folder;
  {
    TableStore store(folder / "tables.db");
    for (const CellRecord& record : testing::TinyRecords()) store.Put("tiny", record);
  }
  return BytesOf(folder / "tables.db");
}

// A damaged store is opened and read, or refused; after it was salvaged it can be used.
void ReadStore(std::string_view bytes) {
  const tests::TempFolder folder;
  const std::string path = folder / "tables.db";
  std::ofstream(path, std::ios::binary) << bytes;
  Tolerate([&] { TableStore(path).All("tiny"); });
  std::ofstream(path, std::ios::binary) << bytes;
  Tolerate([&] {
    const SalvagedStore salvaged = SalvageStore(path);
    STOWPLAN_CHECK_EQ(BytesOf(salvaged.damaged), std::string(bytes));
    TableStore store(path);
    STOWPLAN_CHECK_LE(static_cast<std::int64_t>(store.All("tiny").size()), salvaged.kept);
    store.Put("tiny", testing::TinyRecords().front());
  });
}

std::string Parameters() {
  return formats::ReadFile(STOWPLAN_SOURCE_DIR "/tests/formats/samples/cost_model.json");
}

void ReadParameters(std::string_view bytes) {
  const cost_models::Catalogue& catalogue = cost_models::BuiltinCatalogue();
  const auto print = [&](std::string_view json, const char* source) {
    return cost_models::PrintParameters(cost_models::ParseParameters(json, source, catalogue));
  };
  std::string printed;
  Tolerate([&] { printed = print(bytes, "input"); });
  if (!printed.empty()) STOWPLAN_CHECK_EQ(print(printed, "printed"), printed);
}

std::string Sheet() {
  return formats::ReadFile(STOWPLAN_SOURCE_DIR "/cost_models/data/devices.yaml");
}

void ReadSheet(std::string_view bytes) {
  Tolerate([&] {
    cost_models::CatalogueWith(cost_models::BuiltinCatalogue(), {{std::string(bytes), "input"}});
  });
}

std::string MeasuredOps() {
  return "# machine: a card\n# device: t4\n# driver: 1\n# library: 2\n# date: 2026-11-22\n# source: here\n"
         "# licence: none\nop,name,dtype,batch,rows,columns,depth,us\nlinear,,f32,,128,256,512,12.5\n"
         "bmm,,f16,4,1,2,3,4e2\nelementwise,relu,f32,,4096,1024,,142.7\n";
}

void ReadMeasuredOps(std::string_view bytes) {
  Tolerate([&] { cost_models::ParseMeasuredRows(bytes, "input"); });
}

std::string Units() {
  return "7.6GB/s";
}

void ReadUnits(std::string_view bytes) {
  Tolerate([&] { STOWPLAN_CHECK_LE(0, formats::ParseBytes(bytes, "input")); });
  Tolerate([&] { STOWPLAN_CHECK_LE(0, formats::ParseTime(bytes, "input")); });
  Tolerate([&] { STOWPLAN_CHECK_LE(0, formats::ParseBandwidth(bytes, "input")); });
}

std::string SpecSample() {
  return "neighbour(groups=128,of='a,b')";
}

void ReadSpec(std::string_view bytes) {
  std::string printed;
  Tolerate([&] { printed = Spec::Parse(bytes).ToString(); });
  if (!printed.empty()) STOWPLAN_CHECK_EQ(Spec::Parse(printed).ToString(), printed);
}

std::string GateRows() {
  return PrintGateRuns({{"inception_v3", "rnn(lr=1e-3)", 2, 1.5, 1.75, 1.25, 0.5, 3, 1e-2, "0123", "abc"}});
}

void ReadGateRows(std::string_view bytes) {
  std::string printed;
  Tolerate([&] { printed = PrintGateRuns(ParseGateRuns(std::string(bytes))); });
  if (!printed.empty()) STOWPLAN_CHECK_EQ(PrintGateRuns(ParseGateRuns(printed)), printed);
}

// What a rank says of a batch, and what the checkpoint of a search without weights says of each sample.
std::string Report() {
  agents::Evaluation fits{.runtime = 42, .peak = {1, 2}, .start = {0, 7}};
  agents::Evaluation fails{.feasible = false, .peak = {3, 4}};
  fails.oom = sim::OutOfMemory{1, 2, sim::OutOfMemory::What::kCopy, 3, 4, 5};
  return agents::ToBytes({{fits, fails}, true});
}

void ReadReport(std::string_view bytes) {
  const auto report = agents::FromBytes(bytes);
  if (!report) return;
  const auto again = agents::FromBytes(agents::ToBytes(*report));
  STOWPLAN_CHECK(again.has_value());
  STOWPLAN_CHECK_EQ(again->evaluations.size(), report->evaluations.size());
}

std::string Zstd() {
  return formats::Compress(Sheet());
}

// printf '{"name": "a"}\n{"name": "b"}\n' | gzip -9n
std::string Gzip() {
  return std::string(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\xca\x4b\xcc\x4d\x55\xb2\x52\x50\x4a\x54\xaa\xe5\xaa"
      "\x86"
      "\xf3\x92\x80\x3c\x00\x31\x48\xe9\x20\x1c\x00\x00\x00",
      39);
}

void ReadCompressed(std::string_view bytes) {
  Tolerate([&] { formats::Decompressed(std::string(bytes), "input"); });
}

constexpr FileReader kReaders[] = {
    {"rows", Rows, ReadRows},
    {"store", Store, ReadStore},
    {"parameters", Parameters, ReadParameters},
    {"sheet", Sheet, ReadSheet},
    {"measured", MeasuredOps, ReadMeasuredOps},
    {"units", Units, ReadUnits},
    {"spec", SpecSample, ReadSpec},
    {"gate", GateRows, ReadGateRows},
    {"report", Report, ReadReport},
    {"zstd", Zstd, ReadCompressed},
    {"gzip", Gzip, ReadCompressed},
};

}  // namespace

std::span<const FileReader> FileReaders() {
  return kReaders;
}

}  // namespace stowplan::tables
