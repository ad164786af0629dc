// Stages of whole numbered layers, one for each GPU in order: the layout of Megatron-LM's
// --pipeline-model-parallel-layout ("Et*3|t*4|t*3L"; megatron/core/transformer/pipeline_parallel_layer_layout.py) and vLLM's
// VLLM_PP_LAYER_PARTITION ("3,4,3"; vllm/distributed/utils.py, get_pp_indices). Both keep the table of tokens with the first
// stage and the head with the last. In Megatron either may be a stage without layers.
#include <map>
#include <optional>

#include <fmt/format.h>

#include "scenarios/exporters/exporters.h"
#include "scenarios/exporters/placed_stages.h"
#include "sim/base/error.h"

namespace stowplan::scenarios {
namespace {

class LayerStages {
 public:
  LayerStages(const ExportInput& input, const char* exporter, bool ends_alone)
      : input_(input), exporter_(exporter), stages_(input, exporter) {
    CheckGpus();
    FindLayers();
    CheckBegins(ends_alone);
  }

  // By stage, how many layers it has.
  const std::vector<int>& counts() const { return counts_; }

  std::vector<std::string> Notes() const {
    std::vector<std::string> names;
    bool in_order = true;
    for (std::size_t s = 0; s < stages_.stages().size(); ++s) {
      names.push_back(stages_.Device(stages_.stages()[s]));
      in_order =
          in_order && GpuNumber(input_.problem.cluster(), stages_.stages()[s].device) == static_cast<int>(s);
    }
    if (in_order) return {};
    return {fmt::format("the ranks of the pipeline are {} in this order", fmt::join(names, ", "))};
  }

 private:
  void CheckGpus() const {
    const PlacedStage& first = stages_.stages().front();
    if (GpuNumber(input_.problem.cluster(), first.device) >= 0) return;
    throw InputError(fmt::format("{}: there is a stage on {}, but its stages are on GPUs.", exporter_,
                                 stages_.Device(first)));
  }

  std::optional<sim::LayerName> Layer(sim::OpIndex op) const {
    const auto home = stages_.modules().tree().module_of_op[static_cast<std::size_t>(op)];
    return sim::LayerOf(stages_.modules().module(home).path);
  }

  void FindLayers() {
    counts_.assign(stages_.stages().size(), 0);
    std::map<int, std::size_t> stage_of;
    std::size_t stage = 0;
    for (std::size_t p = 0; p < stages_.forward().size(); ++p) {
      if (stage + 1 < stages_.stages().size() && stages_.stages()[stage + 1].begin == p) ++stage;
      const auto layer = Layer(stages_.forward()[p]);
      if (!layer) continue;
      if (stack_.empty()) stack_ = layer->stack;
      if (layer->stack != stack_) {
        throw InputError(
            fmt::format("{}: there are layers of {} and of {}, but its models have one stack of them.",
                        exporter_, stack_, layer->stack));
      }
      last_ = p;
      const auto [known, fresh] = stage_of.emplace(layer->number, stage);
      if (fresh) {
        begins_.emplace(p, layer->number);
        ++counts_[stage];
      } else if (known->second != stage) {
        throw InputError(fmt::format("{}: the layer {}{} is on {} and {}, but its stages have whole layers.",
                                     exporter_, stack_, layer->number,
                                     stages_.Device(stages_.stages()[known->second]),
                                     stages_.Device(stages_.stages()[stage])));
      }
    }
    if (begins_.empty()) {
      throw InputError(
          fmt::format("{}: the names of the ops spell no numbered layers (layers.3, layer3).", exporter_));
    }
  }

  void CheckBegins(bool ends_alone) const {
    for (std::size_t s = 1; s < stages_.stages().size(); ++s) {
      const std::size_t begin = stages_.stages()[s].begin;
      const bool at_layer = begins_.contains(begin) && (ends_alone || begin != begins_.begin()->first);
      if (at_layer || (ends_alone && begin == last_ + 1)) continue;
      throw InputError(fmt::format(
          "{}: the stage of {} begins at {}, but its stages begin where a layer does{}.", exporter_,
          stages_.Device(stages_.stages()[s]), stages_.modules().op(stages_.forward()[begin]).name,
          ends_alone ? " or the head" : ", the first with the table of tokens and the last with the head"));
    }
  }

  const ExportInput& input_;
  const char* exporter_;
  PlacedStages stages_;
  std::string stack_;
  std::map<std::size_t, int> begins_;  // where in the forward pass which layer begins
  std::size_t last_ = 0;               // op of a layer
  std::vector<int> counts_;
};

std::string LayoutOf(const std::vector<int>& counts) {
  std::string layout = "E";
  for (std::size_t s = 0; s < counts.size(); ++s) {
    if (s > 0) layout += '|';
    if (counts[s] > 0) layout += counts[s] == 1 ? "t" : fmt::format("t*{}", counts[s]);
  }
  return layout + "L";
}

}  // namespace

Exported ExportMegatron(const ExportInput& input) {
  const LayerStages stages(input, "megatron", true);
  return {.text = fmt::format("--pipeline-model-parallel-size {} --pipeline-model-parallel-layout '{}'\n",
                              stages.counts().size(), LayoutOf(stages.counts())),
          .notes = stages.Notes()};
}

Exported ExportVllm(const ExportInput& input) {
  RefuseTraining(input, "vllm");
  const LayerStages stages(input, "vllm", false);
  return {.text = fmt::format("VLLM_PP_LAYER_PARTITION={} vllm serve MODEL --pipeline-parallel-size {}\n",
                              fmt::join(stages.counts(), ","), stages.counts().size()),
          .notes = stages.Notes()};
}

}  // namespace stowplan::scenarios
