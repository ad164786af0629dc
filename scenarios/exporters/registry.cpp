#include <algorithm>

#include "scenarios/exporters/exporters.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/rows.h"
#include "sim/base/spec.h"

namespace stowplan::scenarios {

const std::vector<ExporterRow>& Exporters() {
  using Devices = PlanSpace::Devices;
  constexpr const char* kSession = "any op on one GPU or one CPU";
  static const std::vector<ExporterRow> rows = {
      {"device-map", "device_map of accelerate and transformers (JSON)", ExportDeviceMap,
       PlanSpace{"whole modules on GPUs or one CPU", "whole_module", false, Devices::kGpusAndCpu,
                 "device_map.json"}},
      {"pipeline", "split points for torch.distributed.pipelining (JSON)", ExportPipeline,
       PlanSpace{"two stages or more in order, each from the beginning of a module on, one for each GPU, or "
                 "each CPU",
                 "chain(at=module)", true, Devices::kOneClass, "pipeline.json"}},
      {"megatron", "arguments for Megatron-LM: --pipeline-model-parallel-layout", ExportMegatron,
       PlanSpace{"two stages or more in order, of whole layers, one for each GPU", "chain(at=layer)", true,
                 Devices::kGpus, "megatron.txt"}},
      {"vllm", "the layers of each stage for vLLM: VLLM_PP_LAYER_PARTITION", ExportVllm,
       PlanSpace{"two stages or more in order, of whole layers, one for each GPU", "chain(at=block)", true,
                 Devices::kGpus, "vllm.txt"}},
      {"onnxruntime", "layer annotations for ONNX Runtime 1.25 or newer (JSON)", ExportOnnxRuntime,
       PlanSpace{kSession, "colocation", false, Devices::kGpuAndCpu, "onnxruntime.json"}},
      {"onnxruntime-model", "the ONNX model with those annotations in its nodes", ExportOnnxRuntimeModel,
       PlanSpace{kSession, "colocation", false, Devices::kGpuAndCpu, "annotated.onnx"}},
      {"onnxruntime-memory", "memory of each node, for ONNX Runtime 1.23 or newer (CSV)",
       ExportOnnxRuntimeMemory},
      {"llama.cpp", "arguments for llama.cpp: --tensor-split or --override-tensor", ExportLlamaCpp,
       PlanSpace{"attention, feed-forward and experts of layers on GPUs or one CPU", "layer", false,
                 Devices::kGpusAndCpu, "llama_cpp.txt"}},
      {"dot", "a picture for Graphviz, a box for each device", ExportDot},
      {"graphml", "ops, tensors and devices for networkx, Gephi, yEd", ExportGraphMl},
      {"perfetto", "the simulated timeline for ui.perfetto.dev (JSON)", ExportPerfetto},
  };
  return rows;
}

const ExporterRow& FindExporter(const std::string& name, const std::string& option) {
  if (const ExporterRow* row = FindRow(Exporters(), name)) return *row;
  const std::vector<std::string> known = NamesOf(Exporters());
  throw InputError(option + " " + name + ": there is no such exporter" + DidYouMean(name, known) +
                   "; there are " + JoinNames(known));
}

}  // namespace stowplan::scenarios
