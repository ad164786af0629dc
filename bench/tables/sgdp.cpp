// SGDP (IEEE Micro 2020; the column GO-one of the NeurIPS 2020 paper): 2, 4 and 8 P100 of 16 GB. Sizes of
// docs/protocol.md#sizes, fixed before any fit. Compared in seconds, never in the paper's percentages, which
// mix two definitions.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/tables/bootstrap.h"
#include "bench/tables/claims.h"
#include "bench/tables/common.h"
#include "bench/tables/tables.h"
#include "sim/spec.h"

namespace berth::bench {
namespace {

constexpr char kBlock[] = "native";
constexpr char kExperiment[] =
    "local search and bound in the same rows; what single decisions explain of the reward of 10,000 random "
    "draws "
    "(results/sgdp/explained.md)";

constexpr char kMeetings[] =
    "section Samples: where both end on one GPU the counts say when each first met it, SGDP at its first "
    "greedy draw (after "
    "50 updates, 800 samples), HDP there too (400) or right after its first update of 8, not who learns "
    "faster; where HDP "
    "ends above random placements SGDP is as good at once";

std::vector<TableColumn> Columns() {
  const std::string gpus = "gpu";
  const std::string ops = "colocation";
  std::vector<TableColumn> columns = {
      {"single_gpu", "single GPU", "single_gpu", CellKind::kPredicted, "", false, false, gpus, ops},
      {"human", "human", "", CellKind::kPredicted, "human", false, false, gpus, ops},
      {"metis", "METIS", "metis", CellKind::kSearched, "metis", false, false, gpus, ops},
      {"metis_mem", "METIS, memory", "metis(memory=yes)", CellKind::kSearched, "", false, false, gpus, ops},
      {"scotch", "Scotch", "scotch(cpu=no)", CellKind::kSearched, "", false, false, gpus, ops},
  };
  columns.push_back({"hdp", "HDP", "hierarchical", CellKind::kSearched, "hdp", true, true, gpus, ops});
  columns.push_back({"sgdp", "SGDP", "sgdp", CellKind::kSearched, "sgdp", true, true, gpus, ""});
  Append(ControlColumns(gpus), &columns);
  Append(ExtraColumns(gpus), &columns);
  return columns;
}

TableLine Line(const char* key, const char* title, const char* workload, int gpus, const char* human,
               bool fitted) {
  TableLine line;
  line.key = key;
  line.title = title;
  line.workload = workload;
  line.cluster = fmt::format("p100(gpus={})", gpus);
  line.gpus = gpus;
  line.paper_workload = key;
  line.grouper = "neighbour(groups=2048)";
  line.agents = {{"human", human}};
  if (fitted) line.fitted = {"human"};
  return line;
}

std::vector<TableLine> Lines() {
  const char* layers = "expert(rule=modulo)";
  const char* halves = "expert(rule=halves)";
  return {
      Line("rnnlm_2", "RNNLM, 2 layers", "rnnlm(layers=2,batch=64)", 2, layers, true),
      Line("rnnlm_4", "RNNLM, 4 layers", "rnnlm(layers=4,batch=64)", 4, layers, false),
      Line("rnnlm_8", "RNNLM, 8 layers", "rnnlm(layers=8,batch=64)", 8, layers, false),
      Line("gnmt_2", "GNMT, 2 layers", "gnmt(layers=2,batch=64,optimizer=sgd)", 2, layers, true),
      Line("gnmt_4", "GNMT, 4 layers", "gnmt(layers=4,batch=64,optimizer=sgd)", 4, layers, false),
      Line("gnmt_8", "GNMT, 8 layers", "gnmt(layers=8,batch=64,optimizer=sgd)", 8, layers, false),
      Line("transformer_xl_2", "Transformer-XL, 2 layers", "transformer_xl(layers=2)", 2, layers, true),
      Line("transformer_xl_4", "Transformer-XL, 4 layers", "transformer_xl(layers=4)", 4, layers, false),
      Line("transformer_xl_8", "Transformer-XL, 8 layers", "transformer_xl(layers=8)", 8, layers, false),
      Line("inception_v3_b32", "Inception-V3, batch 32", "inception_v3(batch=32)", 2, halves, true),
      Line("inception_v3_b64", "Inception-V3, batch 64", "inception_v3(batch=64)", 2, halves, false),
      Line("amoebanet", "AmoebaNet-D", "amoebanet_d(batch=32)", 4, halves, true),
      Line("wavenet_2x9", "WaveNet, 2 stacks of 9", "wavenet(stacks=2)", 2, halves, true),
      Line("wavenet_4x9", "WaveNet, 4 stacks of 9", "wavenet(stacks=4)", 4, halves, false),
  };
}

// The geometric mean over all rows of a column's median over another's. Its interval is that of the rows'
// ends, which is wider than one of the mean itself. A row in which either was not run leaves the claim
// untested; one whose ratio or ends are 0 or infinite, because something does not fit or too few seeds were
// run, leaves it undecided.
ClaimVerdict MeanReduction(const TableResults& results, const char* column, const char* baseline,
                           double claimed, const std::string& text) {
  ClaimVerdict verdict{text, "not run", ClaimWord::kCannotBeTested, kExperiment};
  Estimate mean;
  double logs = 0, low = 0, high = 0;
  std::vector<std::string> without_mean;
  const std::vector<TableLine>& lines = results.table().blocks.front().lines;
  for (const TableLine& line : lines) {
    const CellSummary& ours = results.At(kBlock, line.key, column);
    const CellSummary& base = results.At(kBlock, line.key, baseline);
    if (!ours.was_run() || !base.was_run()) return verdict;
    const Estimate ratio = EstimateRatio({&ours}, {&base});
    if (!ours.median || !base.median) without_mean.push_back(line.title);
    logs += std::log(ratio.value);
    low += std::log(ratio.low);
    high += std::log(ratio.high);
    mean.seeds = mean.sampled ? std::min(mean.seeds, ratio.seeds) : ratio.seeds;
    mean.sampled = true;
  }
  if (!without_mean.empty()) {
    verdict.ours = "no mean, out of memory in " + JoinNames(without_mean);
    verdict.word = ClaimWord::kUndecided;
    return verdict;
  }
  const auto rows = static_cast<double>(lines.size());
  mean.value = std::exp(logs / rows);
  mean.low = std::exp(low / rows);
  mean.high = std::exp(high / rows);
  verdict.ours = fmt::format("{} times{}", RatioText(mean.value), IntervalText(mean));
  verdict.word = ClaimWord::kUndecided;
  if (!std::isfinite(low) || !std::isfinite(high)) return verdict;
  verdict.word =
      Judge(mean, [&](double r) { return r <= 1 - claimed ? ClaimWord::kHolds : ClaimWord::kDoesNotHold; });
  return verdict;
}

// Six of the eight published cells cannot come from memory, since one card holds the model.
ClaimVerdict MetisDoesNotFit(const TableResults& results) {
  const std::vector<TableLine>& lines = results.table().blocks.front().lines;
  const auto metis = [&](const TableLine& line) -> const CellSummary& {
    return results.At(kBlock, line.key, "metis");
  };
  const auto published = std::count_if(lines.begin(), lines.end(), [&](const TableLine& line) {
    return metis(line).published && metis(line).published->out_of_memory;
  });
  ClaimVerdict verdict{fmt::format("METIS runs out of memory in {} of {} rows", published, lines.size()),
                       "not run", ClaimWord::kCannotBeTested,
                       "columns single GPU, METIS and METIS with memory as a constraint"};
  int both = 0;
  int ours = 0;
  int fit_on_one = 0;
  for (const TableLine& line : lines) {
    const CellSummary& cell = metis(line);
    const CellSummary& one = results.At(kBlock, line.key, "single_gpu");
    if (!cell.was_run() || !one.was_run()) return verdict;
    const bool fails = cell.state == CellSummary::State::kOutOfMemory;
    ours += fails;
    if (!cell.published || !cell.published->out_of_memory) continue;
    both += fails;
    fit_on_one += one.state == CellSummary::State::kFits;
  }
  verdict.ours = fmt::format(
      "{} rows of ours, {} of them those of the paper; in {} of the paper's {} rows the "
      "whole model fits on one card here, so memory alone cannot explain them",
      ours, both, fit_on_one, published);
  return verdict;
}

std::vector<ClaimVerdict> Claims(const TableResults& results) {
  std::vector<ClaimVerdict> claims = {
      MeanReduction(results, "sgdp", "human", 0.205,
                    "SGDP is 20.5 % below the human placement (geometric mean of seconds over 14 rows)"),
      MeanReduction(results, "sgdp", "hdp", 0.197,
                    "SGDP is 19.7 % below HDP (geometric mean of seconds over 14 rows)"),
      MeanReduction(results, "sgdp", "human", 0,
                    "SGDP is no slower than the human placement (the direction alone)"),
      MeanReduction(results, "sgdp", "hdp", 0, "SGDP is no slower than HDP (the direction alone)"),
      ReductionClaim(results, kBlock, "rnnlm_8", "human", 0.036,
                     "RNNLM, 8 layers: a placement 3.6 % below the human one exists (0.320 of 0.332 s)",
                     kExperiment),
      ReductionClaim(results, kBlock, "gnmt_8", "human", 0.217,
                     "GNMT, 8 layers: a placement 21.7 % below the human one exists (0.440 of 0.562 s)",
                     kExperiment),
      MetisDoesNotFit(results),
  };
  const std::vector<ClaimVerdict> speedups =
      SpeedupClaims(results, kBlock, "sgdp", "hdp", 1.76, 14,
                    "SGDP needs 1.76 to 58.8 times less search than HDP: in every row at least the least of "
                    "these, in samples",
                    kMeetings);
  claims.insert(claims.end(), speedups.begin(), speedups.end());
  claims.push_back(
      MeanSpeedupClaim(results, kBlock, "sgdp", "hdp", 15,
                       "SGDP needs 15 times less search than HDP on average (geometric mean over 14 rows, in "
                       "samples)",
                       kMeetings));
  const std::vector<ClaimVerdict> opponents = OpponentClaims(results, kBlock, {"sgdp", "hdp"});
  claims.insert(claims.end(), opponents.begin(), opponents.end());
  return claims;
}

TableDefinition Make() {
  TableDefinition table;
  table.name = "sgdp";
  table.title = "SGDP: a single-shot generalized device placer (IEEE Micro 2020; GO-one)";
  table.papers_csv = "sgdp.csv";
  table.quick = {500, 1, "neighbour(groups=512)"};
  table.paper = {10'000, 1, "colocation"};
  table.parameters = {
      {"p100", {"recurrent_gemm"}, 0.02, 1},
      {"p100", {"gemm"}, 0.02, 1},
      {"p100", {"convolution"}, 0.02, 1},
      {"p100", {"dilated_convolution"}, 0.01, 1},
  };
  table.assumptions = {
      "The published numbers are second-hand, from a lecture slide that quotes the paper; the labels of GNMT "
      "with 8 layers and of Inception-V3 with batch 32 were assigned by position.",
      "Batch sizes, widths, steps, vocabularies and optimizers are not published; they are those of "
      "docs/protocol.md (assumed).",
      "The cards are P100 of 16 GB on PCI Express with one Broadwell CPU (recalled).",
      "The human placements are rules: layer i on GPU i mod G with attention beside the first decoder layer "
      "and the projection on the last GPU; contiguous halves of equal cost for the vision models and "
      "WaveNet.",
      "Inception-V3 takes 2.3 times as long with twice the batch in the paper: one of its two cells cannot "
      "be "
      "met.",
      "Random search and local search move the groups of neighbour merging to 2,048; where a graph has no "
      "more ops, groups "
      "are ops and two of the three kinds of random search are one.",
  };
  table.blocks = {{kBlock, "Native",
                   "P100 cards in berth's own rules: dispatch, links, weights and received copies count.",
                   "native", true, Columns(), Lines()}};
  table.claims = Claims;
  return table;
}

}  // namespace

const TableDefinition& SgdpTable() {
  static const TableDefinition table = Make();
  return table;
}

}  // namespace berth::bench
