#include <algorithm>

#include "scenarios/exporters/exporters.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/rows.h"
#include "sim/base/spec.h"

namespace stowplan::scenarios {

const std::vector<ExporterRow>& Exporters() {
  static const std::vector<ExporterRow> rows = {
      {"device-map", "device_map of accelerate and transformers (JSON)", ExportDeviceMap},
      {"pipeline", "split points for torch.distributed.pipelining (JSON)", ExportPipeline},
      {"onnxruntime", "layer annotations for ONNX Runtime 1.25 or newer (JSON)", ExportOnnxRuntime},
      {"onnxruntime-model", "the ONNX model with those annotations in its nodes", ExportOnnxRuntimeModel},
      {"onnxruntime-memory", "memory of each node, for ONNX Runtime 1.23 or newer (CSV)",
       ExportOnnxRuntimeMemory},
      {"llama.cpp", "arguments for llama.cpp: --tensor-split or --override-tensor", ExportLlamaCpp},
      {"dot", "a picture for Graphviz, a box for each device", ExportDot},
      {"graphml", "ops, tensors and devices for networkx, Gephi, yEd", ExportGraphMl},
      {"perfetto", "the simulated timeline for ui.perfetto.dev (JSON)", ExportPerfetto},
  };
  return rows;
}

const ExporterRow& FindExporter(const std::string& name) {
  if (const ExporterRow* row = FindRow(Exporters(), name)) return *row;
  const std::vector<std::string> known = NamesOf(Exporters());
  throw InputError("--to " + name + ": there is no such exporter" + DidYouMean(name, known) + "; there are " +
                   JoinNames(known));
}

}  // namespace stowplan::scenarios
