#include "scenarios/clusters/host_text.h"

#include <fmt/format.h>

namespace stowplan::scenarios {

void WriteCpu(ClusterText& yaml, int cpu) {
  yaml.Line(fmt::format("  - {{name: cpu{}, kind: cpu-broadwell, memory: 1TiB}}", cpu),
            cpu == 0 ? "assumption: a stand-in for the host's CPU" : "");
}

void WriteGpus(ClusterText& yaml, int first, int gpus, const std::string& kind, const std::string& memory) {
  for (int gpu = first; gpu < first + gpus; ++gpu) {
    yaml.Line(fmt::format("  - {{name: gpu{}, kind: {},{} reserve: auto}}", gpu, kind, memory));
  }
}

void WriteRootPorts(ClusterText& yaml, int cpu, int first, int gpus, const std::string& pcie_kind) {
  for (int gpu = first; gpu < first + gpus; ++gpu) {
    yaml.Line(
        fmt::format("  - {{name: pcie-gpu{0}, ends: [gpu{0}, cpu{1}], kind: {2}}}", gpu, cpu, pcie_kind),
        gpu == 0 ? "assumption: a root port for each GPU" : "");
  }
}

void WriteNvswitch(ClusterText& yaml, const std::string& name, int first, int gpus, const std::string& kind) {
  for (int gpu = first; gpu < first + gpus; ++gpu)
    yaml.Line(fmt::format("  - {{name: nvlink-gpu{0}, ends: [gpu{0}, {1}], kind: {2}}}", gpu, name, kind));
}

}  // namespace stowplan::scenarios
