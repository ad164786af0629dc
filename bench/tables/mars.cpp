// Mars (ICPP 2021): one CPU and 4 P100 of 12 GB. Sizes of docs/protocol.md#sizes, fixed before any fit; the
// rates of the P100 are those fitted for table sgdp, only the host's dispatch cost is fitted here.
#include <fmt/format.h>

#include "bench/console.h"
#include "bench/tables/claims.h"
#include "bench/tables/common.h"
#include "bench/tables/tables.h"

namespace berth::bench {
namespace {

constexpr char kBlock[] = "native";

std::vector<TableColumn> Columns() {
  const std::string ops = "colocation";
  std::vector<TableColumn> columns = {
      {"cpu_only", "CPU only", "cpu_only", CellKind::kPredicted, "", false, false, "", ops},
      {"single_gpu", "GPU only", "single_gpu", CellKind::kPredicted, "gpu_only", false, false, "gpu", ops},
      {"expert", "expert", "", CellKind::kPredicted, "expert", false, false, "", ops},
      {"halves", "contiguous parts", "expert(rule=halves)", CellKind::kPredicted, "", false, false, "gpu",
       ops},
      {"scotch", "Scotch", "scotch", CellKind::kSearched, "", false, false, "", ops},
      {"metis", "METIS", "metis", CellKind::kSearched, "", false, false, "gpu", ops},
      {"metis_mem", "METIS, memory", "metis(memory=yes)", CellKind::kSearched, "", false, false, "gpu", ops},
  };
  const auto learner = [&](const char* key, const char* title, const char* agent) {
    columns.push_back({key, title, agent, CellKind::kSearched, key, true, true, "", ""});
  };
  learner("grouper_placer", "Grouper-placer", "grouper_placer");
  learner("encoder_placer", "Encoder-placer", "encoder_placer");
  learner("mars", "Mars", "mars");
  learner("mars_no_pretraining", "Mars, no pre-training", "mars(pretrain=no)");
  Append(ControlColumns(""), &columns);
  Append(ExtraColumns(""), &columns);
  return columns;
}

TableLine Line(const char* key, const char* title, const char* workload, const char* expert,
               std::vector<std::string> fitted) {
  TableLine line;
  line.key = key;
  line.title = title;
  line.workload = workload;
  line.cluster = "p100(gpus=4,memory=12GB)";
  line.gpus = 4;
  line.paper_workload = key;
  line.grouper = "neighbour(groups=512)";
  line.agents = {{"expert", expert}};
  line.fitted = std::move(fitted);
  return line;
}

}  // namespace

std::vector<TableLine> MarsLines() {
  return {
      Line("inception_v3", "Inception-V3", "inception_v3(batch=1)", "expert(rule=one)", {"single_gpu"}),
      Line("gnmt_4", "GNMT, 4 layers", "gnmt(layers=4,batch=256,optimizer=adam)", "expert(rule=modulo)", {}),
      Line("bert", "BERT-Base", "bert(batch=24)", "expert(rule=one)", {}),
  };
}

namespace {

// The published gain on Inception-V3 lies between the two ways to issue ops.
std::vector<TableLine> ProcessLines() {
  std::vector<TableLine> lines = MarsLines();
  for (TableLine& line : lines) {
    line.cluster = "p100(gpus=4,host=process,memory=12GB)";
    line.fitted.clear();
  }
  return lines;
}

std::vector<TableColumn> ProcessColumns() {
  std::vector<TableColumn> columns;
  for (const TableColumn& column : Columns()) {
    if (!column.learner) columns.push_back(column);
  }
  return columns;
}

// The published searches ended 8 to 10 times above what any split into four contiguous parts takes here.
ClaimVerdict BertLevel(const TableResults& results) {
  ClaimVerdict verdict{
      "BERT: the best placements found take 9.2 to 12.7 s", "not run", ClaimWord::kCannotBeTested,
      "columns contiguous parts, which is no search, and CPU only: the published values are of "
      "unfinished searches on a slower machine, or of ops on the CPU"};
  const CellSummary& parts = results.At(kBlock, "bert", "halves");
  if (parts.state == CellSummary::State::kOutOfMemory) verdict.ours = "four contiguous parts do not fit";
  if (!parts.median) return verdict;
  verdict.ours = fmt::format("four contiguous parts take {} s", SecondsDigits(*parts.median));
  if (const CellSummary& cpu = results.At(kBlock, "bert", "cpu_only"); cpu.median)
    verdict.ours += fmt::format("; everything on the CPU {} s", SecondsDigits(*cpu.median));
  verdict.word = *parts.median < 9.2 / 2 ? ClaimWord::kDoesNotHold : ClaimWord::kUndecided;
  return verdict;
}

std::vector<ClaimVerdict> Claims(const TableResults& results) {
  std::vector<ClaimVerdict> claims = {
      ReductionClaim(results, kBlock, "inception_v3", "expert", 0.056,
                     "Inception-V3: a placement 5.6 % below one GPU exists (67 of 71 ms)", kSearchAndBound),
      ReductionClaim(results, "process", "inception_v3", "expert", 0.056,
                     "the same with one host thread for all devices",
                     "block process, search and bound there"),
      RatioClaim(results, kBlock, "inception_v3", "mars", "single_gpu", 1 - 0.056,
                 "Inception-V3: Mars ends 5.6 % below one GPU", "block process, and the lines above"),
      ReductionClaim(results, kBlock, "gnmt_4", "expert", 0.17,
                     "GNMT, 4 layers: a placement 17 % below the expert exists (1.379 of 1.661 s)",
                     kSearchAndBound),
      RatioClaim(results, kBlock, "gnmt_4", "mars", "expert", 1 - 0.17,
                 "GNMT, 4 layers: Mars ends 17 % below the expert", kSearchAndBound),
      RatioClaim(results, kBlock, "gnmt_4", "mars", "expert", kFaster,
                 "GNMT, 4 layers: Mars ends before the expert (the direction alone)", kSearchAndBound),
      BertLevel(results),
      RatioClaim(results, kBlock, "bert", "mars", "encoder_placer", kFaster,
                 "BERT: Mars ends before the encoder-placer (9.21 and 11.74 s)", kSearchAndBound),
      RatioClaim(results, kBlock, "bert", "encoder_placer", "grouper_placer", kFaster,
                 "BERT: the encoder-placer ends before the grouper-placer (11.74 and 12.66 s)",
                 kSearchAndBound),
      RatioClaim(results, kBlock, "gnmt_4", "mars", "grouper_placer", kFaster,
                 "GNMT: Mars ends before the grouper-placer (1.379 and 1.418 s)", kSearchAndBound),
      RatioClaim(results, kBlock, "bert", "mars", "mars_no_pretraining", kFaster,
                 "BERT: pre-training makes the placement better (9.21 of 11.36 s)",
                 "table mars-pretraining, ten seeds"),
  };
  const std::vector<ClaimVerdict> opponents =
      OpponentClaims(results, kBlock, {"grouper_placer", "encoder_placer", "mars", "mars_no_pretraining"});
  claims.insert(claims.end(), opponents.begin(), opponents.end());
  return claims;
}

TableDefinition Make() {
  TableDefinition table;
  table.name = "mars";
  table.title = "Mars: accelerating device placement optimization with contrastive learning (ICPP 2021)";
  table.papers_csv = "mars.csv";
  table.quick = {200, 1, "neighbour(groups=256)"};
  table.standard = {1'000, 3, {}};
  table.paper = {4'000, 1, {}};
  table.parameters = {{"p100-12gb", {}, 0.5, 500}};
  table.borrowed = {{"sgdp", "p100", "p100-12gb"}};
  table.assumptions = {
      "Batch sizes, steps and vocabularies are recalled or assumed (docs/protocol.md); they are chosen so "
      "that every published verdict about memory comes out on 12.48 GB cards, before any fit.",
      "The slides give no number of GPUs; four are recalled.",
      "A P100 of 12 GB shows 12,198 MiB and 300 MiB are the framework's (recalled).",
      "The P100's efficiencies are those fitted for table sgdp; the CPU's are the catalogue's.",
      "The expert's GNMT is a rule: layer i on GPU i mod 4, attention beside the first decoder layer, the "
      "projection on the last GPU; for Inception-V3 and BERT it is one GPU, as the published cells say.",
      "Random search and local search move the groups of neighbour merging to 512, over CPU and GPUs.",
  };
  table.blocks = {{kBlock, "Native",
                   "One CPU and four P100 cards in berth's own rules: dispatch, links, weights and received "
                   "copies count.",
                   "native", true, Columns(), MarsLines()},
                  {"process", "Native, one host thread",
                   "The same with one host thread that issues the ops of all devices one after another. "
                   "Nothing is fitted "
                   "here.",
                   "native", true, ProcessColumns(), ProcessLines()}};
  table.claims = Claims;
  return table;
}

}  // namespace

const TableDefinition& MarsTable() {
  static const TableDefinition table = Make();
  return table;
}

}  // namespace berth::bench
