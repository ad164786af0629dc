// The program of one rank, written out for all of them.
#include "sim/formats/rank_program.h"

#include "sim/collectives.h"
#include "sim/formats/formats.h"
#include "tests/testing.h"

namespace stowplan::formats {
namespace {

// A product whose parts are added over the ranks, and what reads the sum. `collective` is its type and what stands behind it.
std::string Program(const std::string& collective, int bytes_out = 400, const std::string& more = "") {
  return R"({"format": "stowplan.graph", "version": 1, "name": "rank", "ops": [
    {"name": "x", "type": "Placeholder", "outputs": [{"bytes": 400}]},
    {"name": "part", "type": "MatMul", "inputs": ["x"], "flops": 10, "outputs": [{"bytes": 400}], "group": "layer"},
    {"name": "sum", "type": ")" +
         collective + R"(, "inputs": ["part"], "outputs": [{"bytes": )" + std::to_string(bytes_out) + "}]}" +
         more + R"(,
    {"name": "last", "type": "Relu", "inputs": ["sum"], "outputs": [{"bytes": 400}]}]})";
}
std::string Of(int ranks) {
  return R"(AllReduce", "attributes": {"ranks": )" + std::to_string(ranks) + R"(, "module": "layer"})";
}
sim::OpGraph Read(const std::string& json) {
  return ParseGraph(json, "one.json");
}
std::string ProgramError(const std::string& json) {
  return tests::ErrorOf([&] { Read(json); }, "no error");
}

// The same as what a file says that has all ranks.
TEST(RankProgram, IsTheGraphOfAllRanks) {
  const sim::OpGraph all = Read(R"({"format": "stowplan.graph", "version": 1, "name": "rank", "ops": [
    {"name": "rank0/x", "type": "Placeholder", "outputs": [{"bytes": 400}], "group": "rank0", "colocate": "rank0"},
    {"name": "rank1/x", "type": "Placeholder", "outputs": [{"bytes": 400}], "group": "rank1", "colocate": "rank1"},
    {"name": "rank0/part", "type": "MatMul", "inputs": ["rank0/x"], "flops": 10, "outputs": [{"bytes": 400}], "group": "rank0/layer", "colocate": "rank0"},
    {"name": "rank1/part", "type": "MatMul", "inputs": ["rank1/x"], "flops": 10, "outputs": [{"bytes": 400}], "group": "rank1/layer", "colocate": "rank1"},
    {"name": "rank0/sum", "type": "AllReduce", "inputs": ["rank0/part"], "outputs": [{"bytes": 400, "alias": "rank0/part"}], "group": "rank0", "colocate": "rank0", "collective": 7, "attributes": {"ranks": 2, "module": "layer"}},
    {"name": "rank1/sum", "type": "AllReduce", "inputs": ["rank1/part"], "outputs": [{"bytes": 400, "alias": "rank1/part"}], "group": "rank1", "colocate": "rank1", "collective": 7, "attributes": {"ranks": 2, "module": "layer"}},
    {"name": "rank0/last", "type": "Relu", "inputs": ["rank0/sum"], "outputs": [{"bytes": 400}], "group": "rank0", "colocate": "rank0"},
    {"name": "rank1/last", "type": "Relu", "inputs": ["rank1/sum"], "outputs": [{"bytes": 400}], "group": "rank1", "colocate": "rank1"}]})");
  EXPECT_EQ(PrintGraph(Read(Program(Of(2)))), PrintGraph(all));
}

TEST(RankProgram, PlacesRanksAndNothingElse) {
  EXPECT_EQ(Read(Program(Of(8))).colocation_sets(), 8);
}

TEST(RankProgram, PartsOfASumMayDifferByAByte) {
  const sim::OpGraph graph = Read(Program(R"(ReduceScatter", "attributes": {"ranks": 3})", 134));
  for (int rank = 0; rank < 3; ++rank) {
    const auto member = graph.Find("rank" + std::to_string(rank) + "/sum");
    EXPECT_EQ(graph.ops[static_cast<std::size_t>(member)].outputs[0].bytes, rank < 2 ? 133 : 134);
  }
}

// Of 400 bytes each of three ranks gives 133, 133 and 134.
TEST(RankProgram, ExchangesItsParts) {
  const sim::OpGraph graph = Read(Program(R"(AllToAll", "attributes": {"ranks": 3})"));
  for (int rank = 0; rank < 3; ++rank) {
    const sim::Op& ends =
        graph.ops[static_cast<std::size_t>(graph.Find("rank" + std::to_string(rank) + "/sum"))];
    EXPECT_EQ(ends.outputs[0].bytes, 3 * (rank < 2 ? 133 : 134));
  }
  EXPECT_THAT(ProgramError(Program(R"(AllToAll", "attributes": {"ranks": 2})", 300)),
              HasSubstr("op 'rank0/sum': its output has 300 bytes, but must have 400"));
}

// A framework's `root` of another meaning, which is no whole number, is forgotten.
TEST(RankProgram, KeepsTheRoot) {
  const auto root = [](const std::string& type, const std::string& text) {
    const sim::OpGraph graph =
        Read(Program(type + R"(", "attributes": {"ranks": 3, "module": "m")" + text + "}", 400));
    return sim::CollectivesOf(graph).at(0).root;
  };
  EXPECT_EQ(root("Broadcast", R"(, "root": 1)"), 1);
  EXPECT_EQ(root("Broadcast", R"(, "root": "self")"), 0);
  EXPECT_EQ(root("AllReduce", R"(, "root": 1)"), 0);
  EXPECT_THAT(ProgramError(Program(R"(Reduce", "attributes": {"ranks": 2, "root": 2})")),
              HasSubstr("op 'rank0/sum': `root` must be a whole number from 0 to 1"));
}

TEST(RankProgram, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(ProgramError(Program(Of(1))), HasSubstr("op 'sum': `ranks` must be a whole number from 2 to"));
  EXPECT_THAT(ProgramError(Program(R"(AllReduce", "attributes": {"ranks": "all"})")),
              HasSubstr("must be a whole number"));
  EXPECT_THAT(ProgramError(Program(R"(AllGather", "attributes": {"ranks": 2})")),
              HasSubstr("its output has 400 bytes, but must have 800"));
  EXPECT_THAT(ProgramError(Program(
                  Of(2), 400,
                  R"(, {"name": "two", "type": "AllReduce", "inputs": ["x"], "outputs": [{"bytes": 400}],
                                   "attributes": {"ranks": 4}})")),
              HasSubstr("op 'two': is of 4 ranks, 'sum' of 2"));
  EXPECT_THAT(
      ProgramError(Program(Of(2), 400,
                           R"(, {"name": "two", "type": "AllReduce", "inputs": ["x", "part"],
                                   "outputs": [{"bytes": 400}, {"bytes": 400}], "attributes": {"ranks": 2}})")),
      HasSubstr("op 'two': says its `ranks`, so it takes and gives the tensor of one rank, not 2 and 2"));
}

// A small file whose ops would fill the memory when each rank has its own.
TEST(RankProgram, RefusesToCopyTooMuch) {
  const auto with = [](const std::string& op) { return ProgramError(Program(Of(512), 400, ", " + op)); };
  EXPECT_THAT(with(R"({"type": "T", "name": ")" + std::string(600'000, 'n') + "\"}"),
              HasSubstr("of 512 ranks take"));
  std::string outputs = "{}";
  for (int i = 0; i < 10'000; ++i) outputs += ",{}";
  EXPECT_THAT(with(R"({"type": "T", "name": "many", "outputs": [)" + outputs + "]}"),
              HasSubstr("op 'many': up to here the names, attributes and tensors of 512 ranks take"));
  std::string list = "0";
  for (int i = 0; i < 20'000; ++i) list += ",[0]";
  EXPECT_THAT(with(R"({"type": "T", "name": "list", "attributes": {"a": [)" + list + "]}}"),
              HasSubstr("268435456 are the most of a graph"));
}

}  // namespace
}  // namespace stowplan::formats
