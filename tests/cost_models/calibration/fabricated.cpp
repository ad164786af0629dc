#include "tests/cost_models/calibration/fabricated.h"

#include <cmath>
#include <string_view>

#include "cost_models/calibration/probe_graph.h"
#include "profiler/op_cases.h"
#include "profiler/probes.h"
#include "sim/base/error.h"

namespace stowplan::cost_models::testing {
namespace {

using profiler::Part;
using profiler::Recording;

class Maker {
 public:
  explicit Maker(const Truth& truth) : truth_(truth) {}

  // {count, median_us, …} of a number, with the truth's noise on its median.
  sim::Attribute Summary(double us, bool may_stand_out = false) {
    ++number_;
    const double turn = 2 * std::fmod(number_ * 0.6180339887498949, 1.0) - 1;
    us *= std::exp(truth_.noise * turn);
    if (may_stand_out && truth_.outlier_every > 0 && number_ % truth_.outlier_every == 0) us *= 5;
    return {sim::Attributes{{"count", {std::int64_t{30}}},
                            {"median_us", {us}},
                            {"mad_us", {us * 0.01}},
                            {"p05_us", {us * 0.98}},
                            {"p95_us", {us * 1.04}},
                            {"min_us", {us * 0.97}}}};
  }

  sim::Attribute Ops(const std::vector<profiler::OpCase>& cases) {
    sim::Attribute::List rows;
    for (const profiler::OpCase& one : cases) {
      sim::Attributes shape;
      ObservedOp op{.op = one.op, .phase = one.phase, .format = one.format, .shape = one.shape};
      for (const auto& [name, size] : one.shape) shape.emplace_back(name, sim::Attribute{size});
      const double us = TrueMicros(op, truth_) + truth_.excess_us;
      rows.push_back({sim::Attributes{{"op", {one.op}},
                                      {"phase", {one.phase}},
                                      {"format", {one.format}},
                                      {"shape", {shape}},
                                      {"flops", {one.flops}},
                                      {"bytes", {one.bytes}},
                                      {"hot", Summary(us, true)},
                                      {"cold", Summary(us * 1.2)}}});
    }
    return Rows(std::move(rows));
  }

  double CopyMicros(bool to_host, sim::Bytes bytes) const {
    return truth_.alpha_us + static_cast<double>(bytes) / (truth_.gigabytes * 1e3) * (to_host ? 1.1 : 1);
  }

  sim::Attribute Copies(bool to_host, bool pinned) {
    sim::Attribute::List rows;
    for (const sim::Bytes bytes : profiler::CopySizes(false)) {
      const double us = CopyMicros(to_host, bytes) * (pinned ? 1 : 3);
      sim::Attributes row = {{"bytes", {bytes}}, {"host", Summary(us + 8)}};
      if (pinned) {
        row.emplace_back("call", Summary(truth_.copy_call_us));
        row.emplace_back("device", Summary(us + truth_.event_pair_us, true));
        row.emplace_back("queued", Summary(us - truth_.alpha_us + 0.5));
      }
      rows.push_back({std::move(row)});
    }
    return Rows(std::move(rows));
  }

  sim::Attribute Both(const char* there, const char* back, double share) {
    sim::Attribute::List rows;
    for (const sim::Bytes bytes : profiler::CopySizes(false)) {
      for (const bool to_host : {false, true}) {
        const double alone = CopyMicros(to_host, bytes) - truth_.alpha_us + 0.5;
        rows.push_back({sim::Attributes{{"direction", {std::string(to_host ? back : there)}},
                                        {"bytes", {bytes}},
                                        {"busy", Summary(alone / share)},
                                        {"covered", {bytes < (1 << 29)}}}});
      }
    }
    return Rows(std::move(rows));
  }

  sim::Attribute Nodes() {
    sim::Attribute::List rows;
    for (const std::int64_t nodes : {1, 10, 100, 1000}) {
      const double total = 4 + truth_.node_us * static_cast<double>(nodes);
      rows.push_back({sim::Attributes{{"nodes", {nodes}},
                                      {"replay", Summary(total / static_cast<double>(nodes))},
                                      {"call", Summary(5)}}});
    }
    return Rows(std::move(rows));
  }

  sim::Attribute Streams() {
    const double o = truth_.overlap_copy, c = truth_.concurrency;
    sim::Attribute::List rows;
    const auto add = [&](const std::string& pair, double first, double second, double both) {
      rows.push_back({sim::Attributes{{"pair", {pair}},
                                      {"calls", {std::int64_t{20}}},
                                      {"first", Summary(first)},
                                      {"second", Summary(second)},
                                      {"both", Summary(both)}}});
    };
    add("gemm bf16 512 | gemm bf16 512", 62, 62, 124);  // as fast as the host launches: says nothing
    add("gemm bf16 4096 | gemm bf16 4096", 4000, 4000, 4000 / c);
    add("gemm bf16 4096 | add f32 16777216", 4000, 1000, 1000 / c + 3000);
    add("add f32 16777216 | add f32 16777216", 1000, 1000, 1000 / c);
    add("gemm bf16 4096 | copy h2d 16 MiB", 4000, 650, 650 + (4000 - o * 650));
    add("add f32 16777216 | copy h2d 64 MiB", 1000, 26000, 26010);  // the copies outlast the ops
    return Rows(std::move(rows));
  }

  sim::Attribute Launch() {
    return {sim::Attributes{{"call", Summary(truth_.launch_us)},
                            {"roundtrip", Summary(9)},
                            {"queued", Summary(truth_.empty_kernel_us + truth_.gap_us)},
                            {"event_pair", Summary(truth_.event_pair_us)}}};
  }
  sim::Attribute EmptyKernel() {
    return {sim::Attributes{{"device", Summary(truth_.excess_us + truth_.empty_kernel_us + truth_.gap_us)},
                            {"event_pair", Summary(truth_.event_pair_us)}}};
  }
  sim::Attribute Gap() {
    return {sim::Attributes{{"kernel", Summary(truth_.empty_kernel_us)},
                            {"gap_queued", Summary(truth_.gap_us)},
                            {"launch_call", Summary(3)},
                            {"launch_to_start", Summary(truth_.launch_to_start_us)}}};
  }

  // From one CPU device to another, and beside ops of its ends: the receiver copies.
  sim::Attribute CopiesBetweenCpus() {
    sim::Attribute::List rows;
    for (const sim::Bytes bytes : {0, 1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 22}) {
      const double us = truth_.cpu_copy_us + static_cast<double>(bytes) / (truth_.cpu_gigabytes * 1e3);
      rows.push_back({sim::Attributes{{"bytes", {bytes}}, {"host", Summary(us)}}});
    }
    return Rows(std::move(rows));
  }
  sim::Attribute CpuOverlap() {
    sim::Attribute::List rows;
    for (const bool receiver : {true, true, false, false}) {
      const double rate = truth_.cpu_overlap + (receiver ? -0.4 : 0.4);
      rows.push_back({sim::Attributes{{"pair", {std::string("ops of cpu0 | copy between cpu0 and cpu1")}},
                                      {"end", {std::string(receiver ? "receiver" : "sender")}},
                                      {"calls", {std::int64_t{1}}},
                                      {"first", Summary(1000)},
                                      {"second", Summary(400)},
                                      {"both", Summary(1000 + (1 - rate) * 400)}}});
    }
    return Rows(std::move(rows));
  }
  sim::Attribute CpuDispatch() { return {sim::Attributes{{"gap", Summary(truth_.cpu_dispatch_us)}}}; }

  sim::Attribute Result(const std::string& probe, const profiler::Probe& row) {
    if (row.cases != nullptr) return Ops(row.cases());
    if (probe == "launch") return Launch();
    if (probe == "empty_kernel") return EmptyKernel();
    if (probe == "kernel_gap") return Gap();
    if (probe == "graph_node") return Nodes();
    if (probe == "streams") return Streams();
    if (probe == "copy_both_pinned") return Both("h2d", "d2h", truth_.both);
    if (probe == "copy_both_peer") return Both("there", "back", truth_.peer_both);
    if (probe == "allocation") return Rows({});
    return Copies(probe.starts_with("copy_d2h") || probe == "copy_peer_back", !probe.ends_with("_pageable"));
  }

 private:
  static sim::Attribute Rows(sim::Attribute::List rows) {
    return {sim::Attributes{{"rows", {std::move(rows)}}}};
  }

  const Truth truth_;
  int number_ = 0;
};

Part Measured(sim::Attribute result) {
  Part part;
  part.date = "2026-11-21T03:00:00+00:00";
  part.command = "stowplan-profile run all --out probes.trace";
  part.revision = "0123abc";
  part.clocks = {sim::Attributes{{"clocks.sm", {std::string("1980 MHz")}}}};
  part.result = std::move(result);
  return part;
}

Recording Empty(const std::string& device) {
  Recording recording;
  recording.kind = profiler::kProbesKind;
  recording.device = device;
  recording.machine = {{"cpu", {std::string("a made-up CPU")}}, {"cores", {std::int64_t{16}}}};
  return recording;
}

}  // namespace

double Truth::EfficiencyOf(OpClass op_class) const {
  if (op_class == OpClass::kGemm || op_class == OpClass::kRecurrentGemm) return gemm;
  if (op_class == OpClass::kConvolution) return convolution;
  return op_class == OpClass::kElementwise ? elementwise : others;
}

double TrueMicros(const ObservedOp& op, const Truth& truth) {
  const auto graph = GraphOf(op);
  if (!graph) return 50;
  ClassEfficiency efficiency{};
  for (int i = 0; i < kOpClasses; ++i)
    efficiency[static_cast<std::size_t>(i)] = truth.EfficiencyOf(static_cast<OpClass>(i));
  return RooflineMicros(WorkOf(*graph->graph, graph->op), *BuiltinCatalogue().FindSheet("h200"), efficiency,
                        BuiltinCatalogue().Tiles(),
                        {.tf32 = op.format == "tf32" ? AllContractions() : Tf32Classes()});
}

std::vector<NamedRecording> FabricatedProbes(const Truth& truth, int files) {
  Maker maker(truth);
  std::vector<NamedRecording> made;
  for (int i = 0; i < files; ++i) {
    Recording recording = Empty("cuda");
    recording.machine.emplace_back("gpu", sim::Attribute{std::string("NVIDIA H200")});
    recording.machine.emplace_back(
        "gpu_settings", sim::Attribute{sim::Attributes{{"driver_version", {std::string("580.95.05")}}}});
    recording.software = {{"cuda_driver", {std::string("13.0")}}, {"cublas", {std::int64_t{130100}}}};
    made.push_back({i == 0 ? "probes.trace" : "probes" + std::to_string(i) + ".trace", std::move(recording)});
  }
  std::size_t next = 0;
  for (const profiler::Probe& probe : profiler::Probes()) {
    if (probe.device != nullptr && std::string_view(probe.device) == "cpu") continue;
    if (!truth.two_gpus && std::string_view(probe.name).find("_peer") != std::string_view::npos) continue;
    made[next++ % made.size()].recording.Put(probe.name, Measured(maker.Result(probe.name, probe)));
  }
  return made;
}

NamedRecording FabricatedCpuProbes(const Truth& truth) {
  Maker maker(truth);
  Recording recording = Empty("cpu");
  recording.software = {{"onednn", {std::string("2.6")}}};
  std::vector<profiler::OpCase> cases = profiler::ElementwiseCases();
  cases.resize(20);
  recording.Put("elementwise", Measured(maker.Ops(cases)));
  std::vector<profiler::OpCase> products = profiler::GemmCases();
  std::erase_if(products, [](const profiler::OpCase& one) { return one.format != "f32" || one.flops > 1e9; });
  recording.Put("gemm", Measured(maker.Ops(products)));
  recording.Put("copy_cores", Measured(maker.CopiesBetweenCpus()));
  recording.Put("dispatch", Measured(maker.CpuDispatch()));
  recording.Put("overlap", Measured(maker.CpuOverlap()));
  return {"cpu.trace", std::move(recording)};
}

NamedRecording FabricatedSteps(const Truth& truth) {
  profiler::ActivityTrace trace;
  trace.buffers = 1;
  const auto list = [](std::vector<std::int64_t> sizes) {
    sim::Attribute::List items;
    for (const std::int64_t size : sizes) items.push_back({size});
    return sim::Attribute{std::move(items)};
  };
  struct Call {
    const char* name;
    sim::Attribute::List dims;
    profiler::Nanos ns;
  };
  const auto nanos = [&](const ObservedOp& op, double factor) {
    return static_cast<profiler::Nanos>(1e3 * (factor * TrueMicros(op, truth) - truth.gap_us));
  };
  const ObservedOp product = {
      .op = "gemm", .phase = "forward", .format = "f32", .shape = {{"m", 4096}, {"n", 3072}, {"k", 768}}};
  const ObservedOp rectifier = {
      .op = "relu", .phase = "forward", .format = "f32", .shape = {{"elements", 4096 * 3072}}};
  const sim::Attribute::List inputs = {list({4096, 768}), list({768, 3072})};
  const std::vector<Call> calls = {{"aten::mm", inputs, nanos(product, 1.02)},
                                   {"aten::relu", {list({4096, 3072})}, nanos(rectifier, 1.1)},
                                   {"aten::mm", inputs, nanos(product, 1.04)},
                                   {"aten::strange", {list({4096, 3072})}, 10'000}};
  profiler::Nanos at = 1'000'000;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto id = static_cast<profiler::Id>(i + 1);
    profiler::Marker marker;
    marker.name = calls[i].name;
    marker.start = at - 20'000;
    marker.end = at - 5'000;
    marker.process = 1;
    marker.thread = 1;
    marker.external = id;
    marker.attributes = {
        {"Input Dims", {calls[i].dims}},
        {"Input type", {sim::Attribute::List{{std::string("float")}, {std::string("float")}}}}};
    trace.markers.push_back(marker);
    profiler::ApiCall launch;
    launch.name = "cudaLaunchKernel";
    launch.start = at - 15'000;
    launch.end = at - 10'000;
    launch.process = launch.thread = 1;
    launch.correlation = id;
    trace.calls.push_back(launch);
    profiler::KernelRecord kernel;
    kernel.name = "kernel";
    kernel.start = at;
    kernel.end = at + calls[i].ns;
    kernel.stream = 7;
    kernel.correlation = id;
    trace.kernels.push_back(kernel);
    trace.external.push_back({id, id});
    at += calls[i].ns + 50'000;
  }
  Recording recording = Empty("cuda");
  recording.machine.emplace_back("gpu", sim::Attribute{std::string("NVIDIA H200")});
  recording.kind = profiler::kActivityKind;
  Part part = Measured({});
  part.activity = std::move(trace);
  recording.Put("step", std::move(part));
  return {"mlp.trace", std::move(recording)};
}

}  // namespace stowplan::cost_models::testing
