// Which recordings are taken, and what is said of those that are not.
#include "tests/cost_models/calibration/calibrating.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

using testing::CalibrateAll;
using testing::ErrorOf;
using testing::FabricatedCpuProbes;
using testing::FabricatedProbes;
using testing::FabricatedSteps;
using testing::LinkOf;
using testing::Truth;
using testing::With;

TEST(CalibrateRecordings, TwoMachinesAreNotMixed) {
  std::vector<NamedRecording> files = FabricatedProbes({}, 2);
  files[1].recording.machine[2].second = {std::string("NVIDIA H100 80GB HBM3")};
  EXPECT_THAT(ErrorOf(files),
              HasSubstr("probes.trace and probes1.trace differ in machine.gpu ('NVIDIA H200' and "
                        "'NVIDIA H100 80GB HBM3')"));
  files = FabricatedProbes({}, 2);
  files[1].recording.software[1].second = {std::int64_t{130200}};
  EXPECT_THAT(ErrorOf(files), HasSubstr("differ in software.cublas ('130100' and '130200')"));
  files = FabricatedProbes({}, 2);
  files[1].recording.software.pop_back();
  EXPECT_THAT(ErrorOf(files), HasSubstr("differ in software.cublas ('130100' and not told)"));
  files = {FabricatedProbes({}).front(), FabricatedCpuProbes()};
  files[1].recording.machine[0].second = {std::string("another CPU")};
  EXPECT_THAT(ErrorOf(files), HasSubstr("differ in machine.cpu"));
  files = FabricatedProbes({}, 2);
  files[1].recording.kind = "pytorch.ops";
  EXPECT_THAT(ErrorOf(files), HasSubstr("differ in their recorders ('profiler' and 'pytorch')"));
  NamedRecording steps = FabricatedSteps({});
  steps.recording.machine[0].second = {std::string("another CPU")};
  EXPECT_THAT(ErrorOf(FabricatedProbes({}), {}, {steps}),
              HasSubstr("probes.trace and mlp.trace differ in machine.cpu"));
}

TEST(CalibrateRecordings, StepsOfAnotherGpuAreRefused) {
  NamedRecording steps = FabricatedSteps({});
  EXPECT_EQ(CalibrateAll(FabricatedProbes({}), {.steps_in_table = true}, {steps}).steps.size(), 1u);
  steps.recording.machine[2].second = {sim::Attributes{{"name", {std::string("NVIDIA H200")}}}};
  EXPECT_EQ(CalibrateAll(FabricatedProbes({}), {}, {steps}).steps.size(), 1u);  // told in other words
  steps.recording.machine[2].second = {std::string("NVIDIA H100 PCIe")};
  EXPECT_THAT(
      ErrorOf(FabricatedProbes({}), {}, {steps}),
      HasSubstr("probes.trace and mlp.trace differ in machine.gpu ('NVIDIA H200' and 'NVIDIA H100 PCIe')"));
  steps.recording.machine.erase(steps.recording.machine.begin() + 2);
  EXPECT_THAT(ErrorOf(FabricatedProbes({}), {.steps_in_table = true}, {steps}),
              HasSubstr("does not say which GPU"));
}

TEST(CalibrateRecordings, APartThatIsNoProbeOrNotWholeIsSaid) {
  const CalibrationResult result = CalibrateAll(With([](auto& recording) {
    recording.Put("zzz", *recording.Find("softmax"));
    recording.Put("strange", {.date = "2026", .result = {sim::Attributes{}}});
    for (auto& [name, part] : recording.parts)
      if (name == "gemm") part.incomplete = "stopped behind 3 rows";
  }));
  EXPECT_THAT(result.notes, Contains(HasSubstr("probes.trace: zzz.rows: is no probe of this version")));
  EXPECT_THAT(result.notes,
              Contains(HasSubstr("probes.trace: strange is no probe that parameters are made of")));
  EXPECT_THAT(result.notes, Contains(HasSubstr("probes.trace: gemm is incomplete: stopped behind 3 rows")));
}

TEST(CalibrateRecordings, SaysForWhichKindTheCpuWasMeasured) {
  const auto says = HasSubstr("devices of `kind: cpu` alone use");
  EXPECT_THAT(CalibrateAll({FabricatedCpuProbes()}).notes, Contains(says));
  EXPECT_THAT(CalibrateAll({FabricatedCpuProbes()}, {.kinds = {{"cpu", "cpu-broadwell"}}}).notes,
              ::testing::Not(Contains(says)));
  EXPECT_THAT(CalibrateAll(FabricatedProbes({})).notes, ::testing::Not(Contains(says)));
}

TEST(CalibrateRecordings, WhatIsNoMeasurementIsRefused) {
  EXPECT_THAT(ErrorOf(With([](auto& recording) { recording.quick = true; })),
              HasSubstr("probes.trace: is a quick run"));
  EXPECT_THAT(ErrorOf({FabricatedSteps({})}), HasSubstr("isolated probes alone"));
  EXPECT_THAT(ErrorOf(With([](auto& recording) { recording.parts.clear(); })),
              HasSubstr("hold no probe that was measured"));
  EXPECT_THAT(ErrorOf(With([](auto& recording) {
                for (auto& [name, part] : recording.parts) {
                  part.outcome = profiler::Part::Outcome::kSkipped;
                  part.reason = "no permission";
                }
              })),
              AllOf(HasSubstr("hold no probe that was measured"), HasSubstr("no permission")));
  std::vector<NamedRecording> twice = FabricatedProbes({});
  twice.push_back({"again.trace", twice.front().recording});
  EXPECT_THAT(ErrorOf(twice), HasSubstr("again.trace and probes.trace both hold the part 'gemm'"));
  NamedRecording lost = FabricatedSteps({});
  lost.recording.parts.front().second.activity->lost_records = 1000;
  EXPECT_THAT(ErrorOf(FabricatedProbes({}), {}, {lost}), HasSubstr("mlp.trace: "));
}

TEST(CalibrateRecordings, ADamagedRowIsNamed) {
  const auto with_first_row = [](const char* part, const char* key, sim::Attribute value) {
    return With([&](profiler::Recording& recording) {
      for (auto& [name, found] : recording.parts) {
        if (name != part) continue;
        auto& rows = std::get<sim::Attributes>(found.result.value).front().second;
        auto& row = std::get<sim::Attributes>(std::get<sim::Attribute::List>(rows.value).front().value);
        std::ranges::find(row, key, [](const auto& entry) { return entry.first; })->second = std::move(value);
      }
    });
  };
  EXPECT_THAT(ErrorOf(with_first_row("gemm", "hot", {1.0})),
              HasSubstr("probes.trace: gemm.rows[0].hot must be an object"));
  EXPECT_THAT(ErrorOf(with_first_row("gemm", "format", {std::string("f7")})),
              HasSubstr("gemm.rows[0].format must be a number format"));
  EXPECT_THAT(ErrorOf(with_first_row("gemm", "shape", {sim::Attributes{{"m", {std::int64_t{4}}}}})),
              HasSubstr("gemm was recorded without its dimension 'k'"));
  EXPECT_THAT(ErrorOf(with_first_row("copy_h2d_pinned", "bytes", {std::int64_t{-4}})),
              HasSubstr("copy_h2d_pinned.rows[0].bytes must be a whole number"));
}

TEST(CalibrateRecordings, BoardsOfOneDieAreToldApart) {
  for (const auto& [gpu, kind] :
       std::vector<std::pair<std::string, std::string>>{{"Tesla P100-PCIE-16GB", "p100-pcie-16gb"},
                                                        {"NVIDIA A100-SXM4-40GB", "a100-sxm-40gb"},
                                                        {"NVIDIA A100-SXM4-80GB", "a100"},
                                                        {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb"},
                                                        {"NVIDIA GeForce RTX 4090", "rtx4090"},
                                                        {"NVIDIA H100 80GB HBM3", "h100"}}) {
    const auto named = With([&](auto& recording) { recording.machine[2].second = {gpu}; });
    EXPECT_NE(CalibrateAll(named).parameters.Find(kind), nullptr) << gpu;
  }
}

TEST(CalibrateRecordings, DevicesAreToldByNameOrByTheUser) {
  const auto unknown =
      With([](auto& recording) { recording.machine[2].second = {std::string("NVIDIA GeForce Q1")}; });
  EXPECT_THAT(ErrorOf(unknown),
              HasSubstr("'NVIDIA GeForce Q1' is no device that the catalogue knows by name"));
  EXPECT_EQ(CalibrateAll(unknown, {.kinds = {{"gpu", "h100"}}}).parameters.links.front().kind,
            "h100-pinned-h2d");
  EXPECT_TRUE(CalibrateAll(unknown, {.kinds = {{"gpu", "gpu"}}}).parameters.Find("gpu")->curves.empty());
  EXPECT_THAT(ErrorOf(unknown, {.kinds = {{"gpu", "cpu"}}}),
              HasSubstr("--kind gpu=cpu: 'cpu' is no gpu of the catalogue"));
  EXPECT_THAT(ErrorOf(unknown, {.kinds = {{"tpu", "v5"}}}), HasSubstr("'tpu' is no class of devices"));
}

// What profiler/pytorch/record.py writes, in its own words: numbers {"…"} stand for summaries.
NamedRecording PytorchRecording(const std::string& kind, std::string parts) {
  for (std::size_t at = 0; (at = parts.find('<', at)) != std::string::npos;) {
    const std::size_t end = parts.find('>', at);
    const std::string us = parts.substr(at + 1, end - at - 1);
    parts.replace(at, end - at + 1,
                  "{\"count\": 20, \"median_us\": " + us + ", \"mad_us\": null, \"p05_us\": " + us +
                      ", \"p95_us\": " + us + ", \"min_us\": " + us + "}");
  }
  std::string part = "\": {\"outcome\": \"measured\", \"date\": \"2026-11-21T03:00:00+00:00\", \"result\": ";
  for (std::size_t at = 0; (at = parts.find('@', at)) != std::string::npos;) parts.replace(at, 1, part);
  return {
      kind + ".json",
      profiler::ParseRecording(
          R"({"format": "stowplan.trace", "version": 1, "kind": "pytorch.)" + kind +
              R"(", "device": "cuda", "machine": {"cpu": "a CPU", "cores": 8, "gpu": {"name": "NVIDIA H200", "driver_version": "570.1"}},
                     "software": {"torch": "2.9"}, "parts": {)" +
              parts + "}}",
          kind + ".json")};
}

TEST(CalibrateRecordings, RecordingsOfPytorchSayTheSame) {
  const std::string conv =
      R"({"op": "conv2d", "phase": "data_gradient", "format": "bfloat16", "flops": 1, "bytes": 1,
      "shape": {"batch": 2, "in": 64, "out": 128, "kernel": [3, 3], "stride": 2, "side": 56}, "hot": <20>, "cold": <30>})";
  const std::string tanh = R"({"op": "tanh", "phase": "forward", "format": "float32", "flops": 0, "bytes": 1,
      "shape": {"elements": 4096}, "hot": <5>})";
  const CalibrationResult result = CalibrateAll(
      {PytorchRecording("ops", R"("device_conv2d@{"rows": [)" + conv +
                                   R"(]}}, "host_memory_bound@{"rows": [)" + tanh + "]}}"),
       PytorchRecording(
           "launch", R"("event_pair@{"device": <1>}}, "add@{"call": <6>, "roundtrip": <12>, "queued": <2>}},
           "empty@{"call": <3>, "roundtrip": <9>, "queued": <2>}}, "view@{"call": <1>}},
           "traced@{"kernel": <1>, "gap_queued": <0.5>, "launch_call": <4>, "launch_to_start": <7>, "summary": []}})"),
       PytorchRecording("copies",
                        R"("pinned_h2d@{"rows": [{"bytes": 4, "host": <9>, "device": <3>, "queued": <1>},
                                                           {"bytes": 1073741824, "host": <20009>, "device": <20001>, "queued": <20000>}]}},
           "pageable_h2d@{"rows": [{"bytes": 4, "host": <9>}, {"bytes": 1073741824, "host": <60009>}]}},
           "pinned_d2h@{"rows": [{"bytes": 4, "host": <9>, "device": <3>, "queued": <1>},
                                 {"bytes": 1073741824, "host": <20009>, "device": <20001>, "queued": <20000>}]}},
           "both_pinned_h2d@{"rows": [{"bytes": 1073741824, "busy": <25000>, "covered": true}]}})")});
  EXPECT_EQ(result.parameters.provenance.driver, "570.1");
  EXPECT_EQ(result.parameters.provenance.library, "torch 2.9");
  ASSERT_EQ(result.parameters.table.size(), 2u);
  EXPECT_EQ(result.parameters.table[0].signature, "Tanh(f32[4096])->f32[4096]");
  EXPECT_EQ(result.parameters.table[0].kind, "cpu");
  EXPECT_EQ(result.parameters.table[0].us, 5);
  EXPECT_EQ(result.parameters.table[1].signature,
            "Conv2DBackpropInput(bf16[2,28,28,128],bf16[3,3,64,128])->bf16[2,56,56,64]"
            "{kernel=[3,3],padding=SAME,strides=[2,2]}");
  EXPECT_EQ(result.parameters.table[1].us, 20 - 1);
  EXPECT_EQ(result.parameters.Find("h200")->dispatch_us->value, 6);  // a framework's op, not an empty kernel
  EXPECT_NEAR(LinkOf(result, "h200-pinned-h2d").knots.front().us, 2 + 6, 1e-3);  // 9 - 3 are the host's
  EXPECT_NEAR(LinkOf(result, "h200-pageable-h2d").knots.front().us, 9, 1e-3);
  EXPECT_EQ(LinkOf(result, "h200-pinned").both->value, 0.8);
}

TEST(CalibrateRecordings, AMissingProbeIsSaid) {
  const CalibrationResult result = CalibrateAll(With([](profiler::Recording& recording) {
    std::erase_if(recording.parts, [](const auto& part) {
      return part.first == "launch" || part.first == "streams" || part.first == "softmax" ||
             part.first == "norm" || part.first == "copy_d2h_pinned";
    });
  }));
  EXPECT_THAT(result.notes, Contains(HasSubstr("h200: no probe of what launching costs")));
  EXPECT_THAT(result.notes, Contains(HasSubstr("h200: no probe of two streams at once")));
  EXPECT_THAT(result.notes, Contains(AllOf(HasSubstr("h200: no probe of"), HasSubstr("normalisation"))));
  EXPECT_THAT(result.notes,
              Contains(HasSubstr("copies from and to pinned memory were measured in one direction")));
  EXPECT_FALSE(result.parameters.Find("h200")->dispatch_us.has_value());
}

TEST(CalibrateRecordings, CopiesBetweenGpusSayWhichWayTheyWent) {
  const Truth truth{.two_gpus = true};
  const auto through_host = [](profiler::Recording& recording) {
    for (auto& [name, part] : recording.parts) {
      if (name != "copy_peer_there") continue;
      auto& rows = std::get<sim::Attributes>(part.result.value).front().second;
      for (sim::Attribute& row : std::get<sim::Attribute::List>(rows.value))
        std::get<sim::Attributes>(row.value).emplace_back("through_host", sim::Attribute{true});
    }
  };
  EXPECT_THAT(CalibrateAll(With(through_host, truth)).notes,
              Contains(HasSubstr("h200-peer: the two GPUs do not reach each other's memory")));
  const auto one_way = [](profiler::Recording& recording) {
    std::erase_if(recording.parts, [](const auto& part) { return part.first == "copy_peer_there"; });
  };
  EXPECT_THAT(CalibrateAll(With(one_way, truth)).notes,
              Contains(HasSubstr("copies between two GPUs were measured in one direction; there is no link "
                                 "kind h200-peer")));
  const auto sideways = [](profiler::Recording& recording) {
    for (auto& [name, part] : recording.parts) {
      if (name != "copy_both_peer") continue;
      auto& rows = std::get<sim::Attributes>(part.result.value).front().second;
      auto& row = std::get<sim::Attribute::List>(rows.value).front();
      std::get<sim::Attributes>(row.value).front().second = {std::string("sideways")};
    }
  };
  EXPECT_THAT(ErrorOf(With(sideways, truth)),
              HasSubstr("copy_both_peer.rows[0].direction must be back or there"));
}

}  // namespace
}  // namespace stowplan::cost_models
