#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "sim/formats/formats.h"
#include "tests/cost_models/calibration/calibrating.h"

namespace stowplan::cost_models {
namespace {

using ::testing::AllOf;
using testing::CalibrateAll;
using ::testing::Contains;
using testing::ErrorOf;
using testing::FabricatedCpuProbes;
using testing::FabricatedProbes;
using testing::FabricatedSteps;
using ::testing::HasSubstr;
using testing::LinkOf;
using testing::Truth;
using testing::With;

// Property tests draw the same cases on every run; a seed given from outside wins.
[[maybe_unused]] const int kSeeded = ::setenv("RC_PARAMS", "seed=20261121 max_success=40", 0);

#define EXPECT_CLOSE(value, wanted, tolerance) EXPECT_NEAR((value) / (wanted), 1, tolerance)

// Every planted number is found again; `tolerance` relative.
void ExpectTruth(const CalibrationResult& result, const Truth& truth, double tolerance) {
  const KindParameters& h200 = *result.parameters.Find("h200");
  for (const auto& [op_class, number] : h200.efficiency)
    EXPECT_CLOSE(number.value, truth.EfficiencyOf(op_class), tolerance) << ToString(op_class);
  EXPECT_EQ(h200.efficiency.size(), 8u);
  EXPECT_CLOSE(h200.dispatch_us->value, truth.launch_us, tolerance);
  EXPECT_CLOSE(h200.kernel_gap_us->value, truth.gap_us, tolerance);
  EXPECT_CLOSE(h200.launch_to_start_us->value, truth.launch_to_start_us, tolerance);
  EXPECT_CLOSE(h200.graph_node_us->value, truth.node_us, tolerance);
  EXPECT_CLOSE(h200.concurrency->rates.at(1), truth.concurrency, tolerance);
  // From the difference of two long times: what they are off by counts six times.
  EXPECT_CLOSE(h200.overlap_copy->value, truth.overlap_copy, 6 * tolerance);
  const LinkParameters& down = LinkOf(result, "h200-pinned-h2d");
  EXPECT_CLOSE(down.knots.front().us, truth.alpha_us + truth.copy_call_us, 2 * tolerance + 0.02);
  EXPECT_CLOSE(static_cast<double>(down.bandwidth), truth.gigabytes * 1e9, tolerance + 0.01);
  EXPECT_CLOSE(static_cast<double>(LinkOf(result, "h200-pinned-d2h").bandwidth), truth.gigabytes * 1e9 / 1.1,
               tolerance + 0.01);
  EXPECT_CLOSE(LinkOf(result, "h200-pinned").both->value, truth.both, tolerance + 0.01);
  if (truth.two_gpus) {
    EXPECT_CLOSE(LinkOf(result, "h200-peer").both->value, truth.peer_both, tolerance + 0.01);
  }
}

TEST(Calibrate, FindsThePlantedNumbersAgain) {
  const Truth truth{.two_gpus = true};
  const CalibrationResult result = CalibrateAll(FabricatedProbes(truth));
  ExpectTruth(result, truth, 0.005);
  EXPECT_EQ(result.parameters.provenance.machine, "NVIDIA H200, a made-up CPU, 16 cores");
  EXPECT_EQ(result.parameters.provenance.driver, "580.95.05");
  EXPECT_EQ(result.parameters.provenance.library, "cublas 130100");
  EXPECT_EQ(result.parameters.provenance.date, "2026-11-21");
  EXPECT_EQ(result.parameters.provenance.commit, "0123abc");
  EXPECT_EQ(result.clocks, "clocks.sm 1980 MHz");
}

// With noise of 3 % in every number and every 41st op and copy five times as long.
TEST(Calibrate, NoiseAndOutliersMoveLittle) {
  Truth truth;
  truth.noise = 0.03;
  truth.outlier_every = 41;
  ExpectTruth(CalibrateAll(FabricatedProbes(truth)), truth, 0.06);
}

RC_GTEST_PROP(CalibrateProperties, RecoversWhatIsPlanted, ()) {
  Truth truth;
  truth.gemm = *rc::gen::inRange(20, 95) / 100.0;
  truth.convolution = *rc::gen::inRange(20, 95) / 100.0;
  truth.elementwise = *rc::gen::inRange(40, 95) / 100.0;
  truth.others = *rc::gen::inRange(30, 95) / 100.0;
  truth.alpha_us = *rc::gen::inRange(10, 120) / 10.0;
  truth.gigabytes = *rc::gen::inRange(10, 400);
  truth.both = *rc::gen::inRange(50, 100) / 100.0;
  truth.launch_us = *rc::gen::inRange(10, 100) / 10.0;
  truth.concurrency = *rc::gen::inRange(51, 100) / 100.0;
  truth.overlap_copy = *rc::gen::inRange(50, 95) / 100.0;
  const CalibrationResult result = CalibrateAll(FabricatedProbes(truth));
  const KindParameters& h200 = *result.parameters.Find("h200");
  const auto close = [](double found, double wanted, double tolerance) {
    return std::abs(found / wanted - 1) < tolerance;
  };
  RC_ASSERT(close(h200.efficiency.at(OpClass::kGemm).value, truth.gemm, 0.01));
  RC_ASSERT(close(h200.efficiency.at(OpClass::kConvolution).value, truth.convolution, 0.01));
  RC_ASSERT(close(h200.efficiency.at(OpClass::kElementwise).value, truth.elementwise, 0.01));
  RC_ASSERT(close(h200.efficiency.at(OpClass::kOptimizer).value, truth.others, 0.01));
  RC_ASSERT(close(h200.dispatch_us->value, truth.launch_us, 0.001));
  RC_ASSERT(close(h200.concurrency->rates.at(1), truth.concurrency, 0.001));
  RC_ASSERT(close(h200.overlap_copy->value, truth.overlap_copy, 0.02));
  RC_ASSERT(
      close(LinkOf(result, "h200-pinned-h2d").knots.front().us, truth.alpha_us + truth.copy_call_us, 0.03));
  RC_ASSERT(
      close(static_cast<double>(LinkOf(result, "h200-pinned-h2d").bandwidth), truth.gigabytes * 1e9, 0.02));
  RC_ASSERT(close(LinkOf(result, "h200-pinned").both->value, truth.both, 0.05));
}

TEST(Calibrate, NeitherOrderNorFilesMatter) {
  Truth truth;
  truth.noise = 0.03;
  const std::string whole = PrintParameters(CalibrateAll(FabricatedProbes(truth)).parameters);
  std::vector<NamedRecording> split = FabricatedProbes(truth, 3);
  EXPECT_EQ(PrintParameters(CalibrateAll(split).parameters), whole);
  do {
    EXPECT_EQ(PrintParameters(CalibrateAll(split).parameters), whole);
  } while (std::ranges::next_permutation(split, {}, &NamedRecording::source).found);
  EXPECT_EQ(PrintParameters(ParseParameters(whole, "p.json", BuiltinCatalogue())), whole);
}

TEST(Calibrate, OpTimesAreWithoutEventsAndWithOneTransition) {
  const Truth truth;
  const CalibrationResult result = CalibrateAll(FabricatedProbes(truth));
  const ObservedOp op = {
      .op = "gemm", .phase = "forward", .format = "bf16", .shape = {{"m", 4096}, {"n", 768}, {"k", 768}}};
  const auto entry =
      std::ranges::find(result.parameters.table, "MatMul(bf16[4096,768],bf16[768,768])->bf16[4096,768]",
                        &TableEntry::signature);
  ASSERT_NE(entry, result.parameters.table.end());
  EXPECT_CLOSE(entry->us, testing::TrueMicros(op, truth), 1e-5);
  EXPECT_LT(entry->low_us, entry->us);
  EXPECT_GT(entry->high_us, entry->us);
  EXPECT_EQ(entry->samples, 30);
}

// An empty kernel between the events has the op's transition, so that what is left of the op holds one.
TEST(Calibrate, WithoutAnEmptyKernelTheEventsAreTakenOffAndNoGapIsAdded) {
  const auto without = With([](profiler::Recording& recording) {
    std::erase_if(recording.parts, [](const auto& part) { return part.first == "empty_kernel"; });
  });
  const Truth truth;
  const auto first = [](const std::vector<NamedRecording>& probes) {
    return CalibrateAll(probes).parameters.table.front().us;
  };
  EXPECT_NEAR(first(without) - first(FabricatedProbes(truth)), truth.excess_us - truth.event_pair_us, 1e-4);
}

// "gemm f32", "conv2d tf32", …: what the f32 entries of contractions were measured as.
std::set<std::string> ModesOf(const CalibrationResult& result) {
  std::set<std::string> modes;
  for (const ClassFit& fit : result.ops.front().classes) {
    if (!IsContraction(fit.op_class) || fit.dtype != "f32" || fit.borrowed) continue;
    for (const OpPoint& point : fit.points) {
      const std::size_t op = point.label.find(' ');
      modes.insert(point.label.substr(0, point.label.find(' ', op + 1)));
    }
  }
  return modes;
}

// The executor's convolutions run in TF32 and its products do not; so do its probes' rows, unless told otherwise.
TEST(Calibrate, TheModeOfF32IsThatOfTheOpClass) {
  using ::testing::ElementsAre;
  const CalibrationResult plain = CalibrateAll(FabricatedProbes({}));
  EXPECT_THAT(ModesOf(plain), ElementsAre("bmm f32", "conv2d tf32", "gemm f32"));
  EXPECT_EQ(plain.parameters.Find("h200")->tf32, Convolutions());
  EXPECT_THAT(plain.notes, Contains(AllOf(HasSubstr("gemm in tf32 left out"), HasSubstr("--tf32"))));
  const CalibrationResult all = CalibrateAll(FabricatedProbes({}), {.ops = {.tf32 = AllContractions()}});
  EXPECT_THAT(ModesOf(all), ElementsAre("bmm tf32", "conv2d tf32", "gemm tf32"));
  EXPECT_EQ(all.parameters.Find("h200")->tf32, AllContractions());
  const CalibrationResult none = CalibrateAll(FabricatedProbes({}), {.ops = {.tf32 = Tf32Classes()}});
  EXPECT_THAT(ModesOf(none), ElementsAre("bmm f32", "conv2d f32", "gemm f32"));
  for (const CalibrationResult* result : {&plain, &all, &none}) {
    const auto& efficiency = result->parameters.Find("h200")->efficiency;
    EXPECT_CLOSE(efficiency.at(OpClass::kConvolution).value, Truth().convolution, 0.005);
    EXPECT_CLOSE(efficiency.at(OpClass::kGemm).value, Truth().gemm, 0.005);
  }
}

// record.py says what PyTorch was found to allow.
TEST(Calibrate, TheModeOfF32IsAsTheFrameworkWasFound) {
  const auto found = [](bool matmul, bool cudnn) {
    return *CalibrateAll(With([&](profiler::Recording& recording) {
              recording.software.emplace_back(
                  "allow_tf32", sim::Attribute{sim::Attributes{{"matmul", {matmul}}, {"cudnn", {cudnn}}}});
            })).parameters.Find("h200");
  };
  EXPECT_EQ(found(false, true).tf32, Convolutions());
  EXPECT_EQ(found(true, true).tf32, AllContractions());
  EXPECT_EQ(found(false, false).tf32, Tf32Classes());
}

TEST(Calibrate, ColdTimesOnRequest) {
  const auto of_first = [](const CalibrationResult& result) { return result.parameters.table.front().us; };
  EXPECT_GT(of_first(CalibrateAll(FabricatedProbes({}), {.ops = {.cold = true}})),
            1.1 * of_first(CalibrateAll(FabricatedProbes({}))));
}

TEST(Calibrate, TheHostsCpuIsAKindOfItsOwn) {
  std::vector<NamedRecording> both = FabricatedProbes({});
  both.push_back(FabricatedCpuProbes());
  const CalibrationResult result = CalibrateAll(both);
  const auto entries = std::ranges::count(result.parameters.table, "cpu", &TableEntry::kind);
  EXPECT_GT(entries, 25);
  // A CPU has no TF32: its rows in f32 are what they were.
  const CalibrationResult tf32 = CalibrateAll(both, {.ops = {.tf32 = AllContractions()}});
  EXPECT_EQ(std::ranges::count(tf32.parameters.table, "cpu", &TableEntry::kind), entries);
  EXPECT_EQ(result.parameters.provenance.library, "cublas 130100, onednn 2.6");
  EXPECT_FALSE(result.parameters.Find("cpu")->cpu_lines.lines.empty());  // which need no rates
  const CalibrationResult named = CalibrateAll(both, {.kinds = {{"cpu", "cpu-broadwell"}}});
  EXPECT_FALSE(named.parameters.Find("cpu-broadwell")->cpu_lines.lines.empty());
  EXPECT_TRUE(named.parameters.Find("cpu-broadwell")->curves.empty());
  const CalibrationResult alone = CalibrateAll({FabricatedCpuProbes()});
  EXPECT_EQ(alone.parameters.provenance.driver, "none");
  EXPECT_EQ(alone.parameters.provenance.machine, "a made-up CPU, 16 cores");
}

// All that a cluster of CPU devices takes from a parameter file.
TEST(Calibrate, CpuDevicesHaveCopiesDispatchAndOverlap) {
  const Truth truth;
  const CalibrationResult result = CalibrateAll({FabricatedCpuProbes(truth)});
  const KindParameters& cpu = *result.parameters.Find("cpu");
  EXPECT_CLOSE(cpu.dispatch_us->value, truth.cpu_dispatch_us, 1e-6);
  EXPECT_CLOSE(cpu.overlap_copy->value, truth.cpu_overlap, 1e-6);
  EXPECT_FALSE(cpu.concurrency.has_value());
  ASSERT_EQ(result.parameters.links.size(), 1u);
  const LinkParameters& link = result.parameters.links.front();
  EXPECT_EQ(link.kind, "cpu-copies");
  EXPECT_CLOSE(link.knots.front().us, truth.cpu_copy_us, 1e-3);
  EXPECT_CLOSE(static_cast<double>(link.bandwidth), truth.cpu_gigabytes * 1e9, 1e-3);
  // One rate stands for both ends: without one of them there is none.
  NamedRecording receivers = FabricatedCpuProbes(truth);
  for (auto& [name, part] : receivers.recording.parts) {
    if (name != "overlap") continue;
    auto& rows =
        std::get<sim::Attribute::List>(std::get<sim::Attributes>(part.result.value).front().second.value);
    rows.resize(2);
  }
  const CalibrationResult lacking = CalibrateAll({receivers});
  EXPECT_FALSE(lacking.parameters.Find("cpu")->overlap_copy.has_value());
  EXPECT_THAT(lacking.notes, Contains(HasSubstr("at both ends of them")));
  // What was stopped before its first number lacks that alone.
  NamedRecording stopped = FabricatedCpuProbes(truth);
  for (auto& [name, part] : stopped.recording.parts) {
    if (name != "dispatch") continue;
    part.result = {sim::Attributes{{"rows", {sim::Attribute::List{}}}}};
    part.incomplete = "stopped behind 0 rows; the same command continues there";
  }
  const CalibrationResult later = CalibrateAll({stopped});
  EXPECT_FALSE(later.parameters.Find("cpu")->dispatch_us.has_value());
  EXPECT_THAT(later.notes, Contains(HasSubstr("dispatch is incomplete")));
  // Of the accelerator nothing is said that was not probed, and the other way round.
  std::vector<NamedRecording> both = FabricatedProbes({});
  both.push_back(FabricatedCpuProbes(truth));
  const CalibrationResult all = CalibrateAll(both);
  EXPECT_CLOSE(all.parameters.Find("cpu")->dispatch_us->value, truth.cpu_dispatch_us, 1e-6);
  EXPECT_CLOSE(all.parameters.Find("h200")->dispatch_us->value, truth.launch_us, 1e-6);
  EXPECT_EQ(all.hosts.size(), 2u);
}

// Rows that know their workload are predicted from those of the others.
TEST(Calibrate, WorkloadsAreLeftOutWhole) {
  const CalibrationResult result = CalibrateAll(With([](profiler::Recording& recording) {
    auto& rows = std::get<sim::Attributes>(recording.parts.front().second.result.value).front().second;
    int i = 0;
    for (sim::Attribute& row : std::get<sim::Attribute::List>(rows.value))
      std::get<sim::Attributes>(row.value).emplace_back(
          "workload", sim::Attribute{std::string(i++ / 4 % 2 == 0 ? "bert" : "nmt")});
  }));
  int predicted = 0;
  for (const ClassFit& fit : result.ops.front().classes) {
    for (const OpPoint& point : fit.points) {
      EXPECT_EQ(point.other_workloads_us > 0, !point.workload.empty()) << point.label;
      predicted += point.other_workloads_us > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(predicted, 50);
}

// A fit for each of them would take hours.
TEST(Calibrate, VeryManyWorkloadsAreLeftOutInTime) {
  NamedRecording probes = FabricatedCpuProbes();
  auto& rows = std::get<sim::Attributes>(probes.recording.parts.front().second.result.value).front().second;
  auto& list = std::get<sim::Attribute::List>(rows.value);
  const sim::Attribute::List once = list;
  while (list.size() < 2000) list.insert(list.end(), once.begin(), once.end());
  for (std::size_t i = 0; i < list.size(); ++i)
    std::get<sim::Attributes>(list[i].value).emplace_back("workload", sim::Attribute{fmt::format("w{}", i)});
  const CalibrationResult result = CalibrateAll({probes});
  int predicted = 0;
  for (const ClassFit& fit : result.ops.front().classes)
    for (const OpPoint& point : fit.points) predicted += point.other_workloads_us > 0 ? 1 : 0;
  EXPECT_GE(predicted, 2000);
}

TEST(Calibrate, StepsArePredictedAndNothingIsFittedToThem) {
  const Truth truth;
  const CalibrationResult plain = CalibrateAll(FabricatedProbes(truth));
  const CalibrationResult result = CalibrateAll(FabricatedProbes(truth), {}, {FabricatedSteps(truth)});
  EXPECT_EQ(PrintParameters(result.parameters), PrintParameters(plain.parameters));
  ASSERT_EQ(result.steps.size(), 1u);
  const StepFit& step = result.steps.front();
  EXPECT_EQ(step.ops.workload, "mlp");
  ASSERT_EQ(step.ops.untold.size(), 1u);
  EXPECT_EQ(step.ops.untold[0].why, "aten::strange");
  EXPECT_NEAR(step.ops.untold[0].us, 10, 0.01);
  EXPECT_NEAR(step.ops.told_us + step.ops.untold[0].us, step.ops.device_us, 0.01);
  EXPECT_THAT(AccountOf(step.ops), ::testing::MatchesRegex("[0-9.]+ % told; aten::strange [0-9.]+ %"));
  ASSERT_EQ(step.points.size(), 2u);
  EXPECT_EQ(step.points[0].tier, 'A');  // that very product was probed
  EXPECT_EQ(step.points[0].calls, 2);
  EXPECT_CLOSE(step.points[0].measured_us, 1.03 * step.points[0].predicted_us, 0.001);
  EXPECT_EQ(step.points[1].tier, 'B');
  EXPECT_CLOSE(step.points[1].measured_us, 1.1 * step.points[1].predicted_us, 0.05);
}

TEST(Calibrate, StepsGiveEntriesOnRequestAlone) {
  const Truth truth;
  const auto rectifiers = [&](const CalibrationOptions& options) {
    const CalibrationResult result = CalibrateAll(FabricatedProbes(truth), options, {FabricatedSteps(truth)});
    EXPECT_EQ(result.steps.front().points.back().tier, 'B');  // predicted without it all the same
    return std::ranges::count(result.parameters.table, "Relu(f32[12582912])->f32[12582912]",
                              &TableEntry::signature);
  };
  EXPECT_EQ(rectifiers({}), 0);
  EXPECT_EQ(rectifiers({.steps_in_table = true}), 1);
  NamedRecording unknown = FabricatedSteps(truth);
  unknown.recording.machine.clear();
  unknown.recording.software.clear();
  EXPECT_EQ(CalibrateAll(FabricatedProbes(truth), {}, {unknown}).steps.size(), 1u);
  EXPECT_THAT(ErrorOf(FabricatedProbes(truth), {.steps_in_table = true}, {unknown}),
              HasSubstr("mlp.trace: does not say which GPU"));
}

}  // namespace
}  // namespace stowplan::cost_models
