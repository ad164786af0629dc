#include "profiler/cuda/probe_table.h"

#include <map>

namespace stowplan::profiler::cuda {

MeasureProbe FindMeasurement(std::string_view probe) {
  static const std::map<std::string_view, MeasureProbe> table = {
      {"copy_h2d_pinned", MeasureCopies},
      {"copy_d2h_pinned", MeasureCopies},
      {"copy_h2d_pageable", MeasureCopies},
      {"copy_d2h_pageable", MeasureCopies},
      {"copy_on_device", MeasureCopies},
      {"copy_both_pinned", MeasureBothCopies},
      {"copy_peer_there", MeasurePeerCopies},
      {"copy_peer_back", MeasurePeerCopies},
      {"copy_both_peer", MeasureBothPeerCopies},
      {"launch", MeasureLaunch},
      {"empty_kernel", MeasureEmptyKernel},
      {"kernel_gap", MeasureKernelGap},
      {"graph_node", MeasureGraphNodes},
      {"allocation", MeasureAllocation},
      {"streams", MeasureStreams},
  };
  const auto found = table.find(probe);
  if (found != table.end()) return found->second;
  const Probe* const known = FindProbe(probe);
  return known != nullptr && known->cases != nullptr ? MeasureOps : nullptr;
}

}  // namespace stowplan::profiler::cuda
