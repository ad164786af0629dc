// Where the device's time of a recorded step is: copies and collectives beside ops.
#include "cost_models/calibration/step_ops.h"

#include "sim/formats/document/json_reader.h"
#include "tests/testing.h"

namespace stowplan::cost_models {
namespace {

// A step in which each op runs one thing on the device for 10 us, 100 us after the other.
class TracedStep {
 public:
  profiler::Marker& Op(const char* name, const char* arguments) {
    ++id_;
    const formats::Document document = formats::ParseJson(arguments, "arguments");
    profiler::Marker marker{.name = name, .start = At() - 50'000, .end = At() - 10'000};
    marker.process = marker.thread = 1;
    marker.external = id_;
    marker.attributes = std::get<sim::Attributes>(document.root().Free().value);
    trace.markers.push_back(marker);
    profiler::ApiCall call{.name = "cudaLaunchKernel", .start = At() - 30'000, .end = At() - 20'000};
    call.process = call.thread = 1;
    call.correlation = id_;
    trace.calls.push_back(call);
    trace.external.push_back({id_, id_});
    return trace.markers.back();
  }
  void Copy(profiler::MemoryKind from, profiler::MemoryKind to, sim::Bytes bytes) {
    profiler::Copy copy;
    Fill(&copy);
    copy.from = from, copy.to = to, copy.bytes = bytes;
    copy.from_device = copy.to_device = 0;
    trace.copies.push_back(copy);
  }
  void Kernel(const char* name) {
    profiler::KernelRecord kernel;
    Fill(&kernel);
    kernel.name = name;
    trace.kernels.push_back(kernel);
  }
  StepOps Told() const { return OpsOfSteps("step.json", trace, 0); }

  profiler::ActivityTrace trace;

 private:
  profiler::Nanos At() const { return 1'000'000 + 100'000 * id_; }
  void Fill(profiler::DeviceWork* work) const {
    work->start = At();
    work->end = At() + 10'000;
    work->correlation = id_;
  }
  profiler::Id id_ = 0;
};

std::vector<std::string> Labels(const StepOps& steps) {
  std::vector<std::string> labels;
  for (const StepOp& one : steps.ops) labels.push_back(LabelOf(one.op));
  return labels;
}

TEST(StepOps, CopiesAreToldByEndsAndBytes) {
  using enum profiler::MemoryKind;
  const char* const images =
      R"({"Input Dims": [[5, 8], [5, 8], []], "Input type": ["float", "float", "Scalar"]})";
  TracedStep step;
  step.Op("aten::copy_", images);
  step.Copy(kPinned, kDevice, 1000);
  step.Op("aten::copy_", images);
  step.Copy(kPageable, kDevice, 0);  // as ROCm records it
  step.Op("aten::strange", "{}");
  step.Copy(kDevice, kPageable, 0);
  const StepOps told = step.Told();
  EXPECT_THAT(Labels(told),
              UnorderedElementsAre("copy pinned to device bytes=1000", "copy pageable to device bytes=160"));
  EXPECT_DOUBLE_EQ(told.copies_us, 20);
  ASSERT_EQ(told.untold.size(), 1u);
  EXPECT_EQ(told.untold[0].why, "copies without bytes");
}

TEST(StepOps, CollectivesAreToldByTheirOpOrTheRangeWithinIt) {
  TracedStep step;
  step.Op("record_param_comms",
          R"({"Collective name": "allreduce", "In msg nelems": 10, "Group size": 4, "dtype": "Float"})");
  step.Kernel("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE");
  profiler::Marker range = step.Op("record_param_comms", "{}");
  step.Kernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t");
  const formats::Document dims =
      formats::ParseJson(R"({"Input Dims": [[8, 4]], "Input type": ["float"]})", "dims");
  range.name = "nccl:all_to_all";
  range.what = profiler::Marker::What::kAnnotation;
  range.external = 0;
  range.start += 1'000, range.end -= 1'000;
  range.attributes = std::get<sim::Attributes>(dims.root().Free().value);
  step.trace.markers.push_back(range);
  step.Op("record_param_comms", "{}");
  step.Kernel("ncclKernel_AllReduce_RING_LL_Sum_float");
  const StepOps told = step.Told();
  EXPECT_THAT(Labels(told), UnorderedElementsAre("allreduce bytes=40 ranks=4", "all_to_all bytes=128"));
  EXPECT_DOUBLE_EQ(told.collectives_us, 20);
  EXPECT_DOUBLE_EQ(told.told_us, 20);
  ASSERT_EQ(told.untold.size(), 1u);
  EXPECT_EQ(told.untold[0].why, "collectives without bytes");
}

TEST(StepOps, WhatShapesWouldTellIsCounted) {
  TracedStep step;
  step.Op("aten::mm", "{}");
  step.Kernel("ampere_sgemm_128x64_nn");
  step.Op("aten::strange", "{}");
  step.Kernel("strange");
  const StepOps told = step.Told();
  EXPECT_DOUBLE_EQ(told.unshaped_us, 10);
  EXPECT_DOUBLE_EQ(told.told_us, 0);
  EXPECT_DOUBLE_EQ(told.device_us, 20);
  EXPECT_EQ(AccountOf(told), "0.0 % told; aten::mm, without shapes 50.0 %; aten::strange 50.0 %");
}

}  // namespace
}  // namespace stowplan::cost_models
