// stowplan calibrate TRACE…: what it writes, what it refuses, and that what it writes is used.
#include <nlohmann/json.hpp>

#include "cli/calibrate/report.h"
#include "profiler/traces/kineto.h"
#include "profiler/traces/recording.h"
#include "sim/formats/formats.h"
#include "tests/cli/fetches_nothing.h"
#include "tests/cli/program.h"
#include "tests/cost_models/calibration/fabricated.h"
#include "tests/tables/golden_file.h"
#include "tests/testing.h"

namespace stowplan::cli {
namespace {

using cost_models::testing::FabricatedCpuProbes;
using cost_models::testing::FabricatedProbes;
using cost_models::testing::FabricatedSteps;
using testing::ProgramResult;
using testing::RunStowplan;
using tests::TempFolder;

cost_models::testing::Truth Noisy() {
  cost_models::testing::Truth truth;
  truth.noise = 0.02;
  truth.outlier_every = 97;
  return truth;
}

// Probes, steps and a Kineto trace of a made-up H200 in a folder of their own.
class Calibrate : public ::testing::Test {
 protected:
  Calibrate() {
    profiler::WriteRecording(probes_, FabricatedProbes(Noisy()).front().recording);
    const auto steps = FabricatedSteps(Noisy());
    profiler::WriteRecording(steps_, steps.recording);
    formats::WriteFile(kineto_, profiler::PrintKineto(*steps.recording.parts.front().second.activity));
  }

  void ExpectRefused(std::vector<std::string> arguments, const std::string& says) {
    arguments.insert(arguments.begin(), "calibrate");
    const auto before = folder_.Files();
    const ProgramResult result = RunStowplan(arguments);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr(says));
    EXPECT_EQ(folder_.Files(), before);
  }

  const TempFolder folder_;
  const std::string probes_ = folder_ / "probes.trace.zst";
  const std::string steps_ = folder_ / "mlp.trace";
  const std::string kineto_ = folder_ / "kineto.json";
  const std::string out_ = folder_ / "h200.json";
};

TEST_F(Calibrate, WritesParametersAndReports) {
  const ProgramResult result = RunStowplan({"calibrate", probes_, "--steps", steps_, kineto_, "--out", out_});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(folder_.Files(), ElementsAre("h200.json", "h200.report.html", "h200.report.txt", "kineto.json",
                                           "mlp.trace", "probes.trace.zst"));
  const std::string text = formats::ReadFile(folder_ / "h200.report.txt");
  EXPECT_EQ(result.out.substr(0, text.size()), text);
  const std::string html = formats::ReadFile(folder_ / "h200.report.html");
  EXPECT_THAT(html, AllOf(HasSubstr("measured against predicted"), HasSubstr("<figure data-kind=\"points\""),
                          HasSubstr("gemm on h200"), HasSubstr("h200-pinned-h2d"), HasSubstr("</html>")));
  testing::ExpectFetchesNothing(html);
}

TEST_F(Calibrate, TheSameInputGivesTheSameBytes) {
  ASSERT_EQ(RunStowplan({"calibrate", "probes.trace.zst", "--out", "p.json"}, folder_.path()).status, 0);
  std::vector<std::string> first;
  for (const char* name : {"p.json", "p.report.txt", "p.report.html"}) {
    first.push_back(formats::ReadFile(folder_ / name));
    std::filesystem::remove(folder_ / name);
  }
  ASSERT_EQ(RunStowplan({"calibrate", "probes.trace.zst", "--out", "p.json"}, folder_.path()).status, 0);
  std::size_t i = 0;
  for (const char* name : {"p.json", "p.report.txt", "p.report.html"})
    EXPECT_EQ(formats::ReadFile(folder_ / name), first[i++]) << name;
}

// A product that was probed, behind a copy of 2 MiB over the measured link, issued at the measured cost: the step is
// their sum.
TEST_F(Calibrate, SimulationsUseWhatWasMeasured) {
  ASSERT_EQ(RunStowplan({"calibrate", probes_, "--out", out_}).status, 0);
  formats::WriteFile(folder_ / "box.yaml",
                     "format: stowplan.cluster\nversion: 1\nname: box\ndevices:\n"
                     "  - {name: c, kind: cpu-broadwell, memory: 64GiB}\n"
                     "  - {name: g, kind: h200, streams: 2, concurrency: auto, overlap_copy: auto}\n"
                     "links:\n  - {name: l, ends: [c, g], kind: h200-pinned}\ndispatch: {cost: auto}\n");
  formats::WriteFile(folder_ / "graph.json",
                     R"({"format": "stowplan.graph", "version": 1, "name": "two", "ops": [
    {"name": "a", "type": "Load", "cost_us": 10, "outputs": [{"bytes": 2097152, "dtype": "bf16", "shape": [2048, 512]}]},
    {"name": "w", "type": "Variable", "outputs": [{"bytes": 524288, "dtype": "bf16", "shape": [512, 512]}]},
    {"name": "b", "type": "MatMul", "inputs": ["a:0", "w:0"], "flops": 1073741824,
     "outputs": [{"bytes": 2097152, "dtype": "bf16", "shape": [2048, 512]}]}]})");
  formats::WriteFile(folder_ / "placement.json",
                     R"({"format": "stowplan.placement", "version": 1, "graph": "two",
                         "placement": {"a": "c", "w": "g", "b": "g"}})");
  const auto simulate = [&](const std::string& model) {
    return RunStowplan({"simulate", "--graph", folder_ / "graph.json", "--cluster", folder_ / "box.yaml",
                        "--placement", folder_ / "placement.json", "--cost-model", model, "--json", "-"});
  };
  const ProgramResult result = simulate(out_);
  ASSERT_EQ(result.status, 0) << result.err;

  const auto& catalogue = cost_models::BuiltinCatalogue();
  const auto parameters = cost_models::ReadParameters(out_, catalogue);
  const auto link = std::ranges::find(parameters.links, "h200-pinned", &cost_models::LinkParameters::kind);
  const auto product =
      std::ranges::find(parameters.table, "MatMul(bf16[2048,512],bf16[512,512])->bf16[2048,512]",
                        &cost_models::TableEntry::signature);
  ASSERT_NE(link, parameters.links.end());
  ASSERT_NE(product, parameters.table.end());
  const double expected = sim::ToMicros(catalogue.FindDevice("cpu-broadwell")->launch_cost) + 10 +
                          cost_models::CopyMicros(link->knots, 2 << 20) +
                          parameters.Find("h200")->dispatch_us->value + product->us;
  EXPECT_NEAR(nlohmann::json::parse(result.out).at("runtime_us").get<double>(), expected, 1e-3);

  // So does what is written for `stowplan-profile graph`, which knows no catalogue.
  const ProgramResult chosen = RunStowplan({"validate", "--choose", "--workloads", folder_ / "graph.json",
                                            "--cluster", folder_ / "box.yaml", "--cost-model", out_,
                                            "--placements", "3", "--out", folder_ / "chosen"});
  ASSERT_EQ(chosen.status, 0) << chosen.err;
  EXPECT_THAT(formats::ReadFile(folder_ / "chosen/cluster.yaml"), HasSubstr("curve: [["));

  // Without the file neither the link's kind nor the measured rates are there.
  const ProgramResult without = simulate("analytic");
  EXPECT_EQ(without.status, 2);
  EXPECT_THAT(without.err, HasSubstr("concurrency is auto, but it was not measured"));
}

// The cluster of CPU devices in docs/calibration.md: two ops of 10 us, each issued at the measured cost, and the copy of
// 1 MiB between them.
TEST_F(Calibrate, SimulationsOfCpuDevicesUseWhatWasMeasured) {
  const cost_models::testing::Truth truth;
  profiler::WriteRecording(folder_ / "cpu.trace.zst", FabricatedCpuProbes(truth).recording);
  ASSERT_EQ(RunStowplan({"calibrate", folder_ / "cpu.trace.zst", "--out", folder_ / "cpu.json"}).status, 0);
  formats::WriteFile(folder_ / "two.yaml",
                     "format: stowplan.cluster\nversion: 1\nname: two\ndevices:\n"
                     "  - {name: cpu0, kind: cpu, memory: 4GiB, overlap_copy: auto}\n"
                     "  - {name: cpu1, kind: cpu, memory: 4GiB, overlap_copy: auto}\n"
                     "links:\n  - {name: copies, ends: [cpu0, cpu1], kind: cpu-copies}\n"
                     "dispatch: {per: device, order: ready, cost: auto}\n");
  const ProgramResult result = RunStowplan({"simulate", "--graph", "chain(ops=2,us=10,bytes=1048576)",
                                            "--cluster", folder_ / "two.yaml", "--placement", "round_robin",
                                            "--cost-model", folder_ / "cpu.json", "--json", "-"});
  ASSERT_EQ(result.status, 0) << result.err;
  const double copy = truth.cpu_copy_us + (1 << 20) / (truth.cpu_gigabytes * 1e3);
  EXPECT_NEAR(nlohmann::json::parse(result.out).at("runtime_us").get<double>(),
              2 * (truth.cpu_dispatch_us + 10) + copy, 0.05);
}

TEST_F(Calibrate, WrongCallsGetOneSentence) {
  ExpectRefused({}, "either TRACE... --out PARAMETERS");
  ExpectRefused({probes_, "--table", "hierarchical"}, "either TRACE... --out PARAMETERS");
  ExpectRefused({probes_}, "needs --out PARAMETERS");
  formats::WriteFile(folder_ / "file", "mine");
  ExpectRefused({probes_, "--out", folder_ / "file/p.json"}, "cannot be made one");
  ExpectRefused({probes_, "--out", folder_ / "absent/p.json", "--kind", "h200"}, "wanted CLASS=KIND");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "absent"));
  ExpectRefused({probes_, "--out", out_, "--kind", "h200"}, "wanted CLASS=KIND");
  ExpectRefused({probes_, "--out", out_, "--steps-in-table"}, "--steps-in-table needs --steps");
  ExpectRefused({folder_ / "missing.trace", "--out", out_}, "missing.trace");
}

TEST_F(Calibrate, NothingIsWrittenOver) {
  for (const char* name : {"h200.json", "h200.report.txt", "h200.report.html"}) {
    formats::WriteFile(folder_ / name, "mine");
    ExpectRefused({probes_, "--out", out_}, std::string(name) + " is there already");
    EXPECT_EQ(formats::ReadFile(folder_ / name), "mine");
    std::filesystem::remove(folder_ / name);
  }
  formats::WriteFile(folder_ / "fit.md", "mine");
  ExpectRefused({"--table", "hierarchical", "--out", folder_.path()}, "fit.md is there already");
}

TEST_F(Calibrate, WritesOverWhereItIsForced) {
  formats::WriteFile(out_, "mine");
  EXPECT_EQ(RunStowplan({"calibrate", probes_, "--out", out_, "--force"}).status, 0);
  EXPECT_NE(formats::ReadFile(out_), "mine");
}

TEST_F(Calibrate, SumsUpForScripts) {
  const auto fit =
      testing::JsonOf(RunStowplan({"calibrate", probes_, "--steps", steps_, "--out", out_, "--json", "-"}));
  EXPECT_EQ(fit["format"], "stowplan.fit");
  EXPECT_EQ(fit["parameters"], out_);
  EXPECT_THAT(fit["kinds"], ::testing::Contains("h200"));
  ASSERT_FALSE(fit["ops"].empty());
  EXPECT_GT(fit["ops"][0]["points"], 0);
  EXPECT_LT(fit["ops"][0]["held_out_error"]["median"], 0.5);
  ASSERT_FALSE(fit["copies"].empty());
  ASSERT_EQ(fit["steps"].size(), 1u);
  EXPECT_GT(fit["steps"][0]["ops"], 0);
  ExpectRefused({probes_, "--out", folder_ / "p.onnx"}, "ends in .onnx");
}

TEST_F(Calibrate, RecordingsThatAreNoProbesAreRefused) {
  ExpectRefused({steps_, "--out", out_}, "mlp.trace: records whole steps");
  ExpectRefused({kineto_, "--out", out_}, "kineto.json: records whole steps");
  ExpectRefused({probes_, "--steps", probes_, "--out", out_}, "probes.trace.zst: is no recording of steps");
  const std::string broken = folder_ / "broken.trace";
  const std::string text = formats::ReadFile(probes_);
  formats::WriteFile(broken, text.substr(0, text.size() / 2));
  ExpectRefused({broken, "--out", out_}, "broken.trace");
  auto other = FabricatedProbes(Noisy()).front().recording;
  other.machine[2].second = {std::string("NVIDIA H100 PCIe")};
  profiler::WriteRecording(folder_ / "other.trace", other);
  ExpectRefused({probes_, folder_ / "other.trace", "--out", out_}, "differ in machine.gpu ('NVIDIA H200'");
}

TEST(CalibrationReport, TextIsAsInTheGoldenFile) {
  auto probes = FabricatedProbes(Noisy());
  probes.push_back(FabricatedCpuProbes());
  const auto result = cost_models::Calibrate(probes, {FabricatedSteps(Noisy())}, {.name = "a made-up H200"},
                                             cost_models::BuiltinCatalogue());
  testing::ExpectGolden("calibration.txt", output::PrintReportText(MakeFitReport(result)));
}

}  // namespace
}  // namespace stowplan::cli
