// The tables of workloads, clusters and importers, and looking things up in them.
#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "scenarios/clusters/clusters.h"
#include "scenarios/importers/device_map.h"
#include "scenarios/importers/doppler.h"
#include "scenarios/importers/msr.h"
#include "scenarios/importers/onnx.h"
#include "scenarios/importers/saved.h"
#include "scenarios/importers/trace.h"
#include "scenarios/importers/trace/job.h"
#include "scenarios/parallel/layout.h"
#include "scenarios/scenarios.h"
#include "scenarios/settings.h"
#include "scenarios/workloads/workloads.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/base/rows.h"
#include "sim/formats/collectives.h"
#include "sim/formats/document/source.h"
#include "sim/formats/formats.h"

namespace stowplan::scenarios {
namespace {

// What all models can be told.
std::string Model(const char* batch, const char* optimizer, const char* framework_ops,
                  const std::string& own) {
  return std::string("batch=") + batch + ",mode=training,optimizer=" + optimizer +
         ",gradients=free,granularity=fused,framework_ops=" + framework_ops + "," + own;
}

SettingTable NmtFamily() {
  SettingTable table = TableOf(
      "index=0," + Model("64", "adam", "4", "layers=2,hidden=512,steps=25,vocabulary=30000"), {Layers(1)});
  for (Setting& row : table.rows) {
    if (row.name == "batch") row.relation = {"index", "that of the member", NmtFamilyBatch};
    if (row.name == "steps") row.relation = {"index", "that of the member", NmtFamilySteps};
  }
  return table;
}

SettingTable LayoutWorkloadSettings() {
  SettingTable table =
      TableOf("of=llama(batch=8),ranks=one",
              {{"ranks", "one of those that do the same, or all", OneOf({"one", "all"}), ""}});
  for (Setting& row : LayoutSettings().rows) table.rows.push_back(std::move(row));
  return table;
}

constexpr const char* kTree = "gpus=2,interconnect=fair,host=device,order=program,copies=overlap";
constexpr const char* kHost = "gpus=8,interconnect=fair,host=auto,order=program";
constexpr const char* kHosts =
    "gpus=8,interconnect=fair,host=auto,order=program,hosts=2,network=flat,pod=32,oversubscription=1";
constexpr const char* kPcs =
    "gpus=2,interconnect=fair,host=auto,order=program,hosts=1,network=flat,pod=32,oversubscription=1";

// "-" is standard input.
bool IsFile(const std::string& name) {
  std::error_code ignored;
  return name == "-" || std::filesystem::exists(name, ignored);
}

// The name before the parameters; a text that is no spec has none.
std::string NameOf(const std::string& text) {
  return text.substr(0, text.find('('));
}

[[noreturn]] void FailUnknown(const std::string& text, const std::string& what,
                              const std::vector<std::string>& known) {
  throw InputError("'" + text + "' is neither a file nor a " + what + DidYouMean(NameOf(text), known) +
                   "; known are " + JoinNames(known));
}

void RefuseOptions(const std::string& source, const ImportOptions& options) {
  if (options.empty()) return;
  throw InputError(source +
                   ": --dim, --training, --strict and --memory-stats are for ONNX models, --kineto and --gpu "
                   "for execution "
                   "traces; "
                   "a profiled graph is taken as it is");
}

struct Foreign {
  std::size_t at;  // where its mark stands
  std::string_view mark;
  const char* what;
};

constexpr Foreign kForeign[] = {
    {0, "GGUF", "a GGUF file, which holds the weights of a model for llama.cpp and no graph of its ops"},
    {8, "{\"", "a safetensors file, which holds the weights of a model and no graph of its ops"},
    {0, "PK\x03\x04", "a zip archive, as torch.save and numpy.savez write them"},
    {0, "\x80\x02", "a pickle of Python, as older versions of torch.save wrote them"},
    {0, "\x89HDF", "an HDF5 file, as Keras writes weights"},
    {4, "TFL3", "a TensorFlow Lite model"},
};

}  // namespace

void RefuseForeign(const std::string& content, const std::string& source) {
  if (source.ends_with(".py")) {
    throw InputError(
        fmt::format("{0}: is a program; capture the model that its function gives: python -m "
                    "stowplan.capture {0}:FUNCTION --out graph.json",
                    source));
  }
  for (const Foreign& row : kForeign) {
    // A header of safetensors begins with its length in 8 bytes, which text is not: the last ones are zeros.
    if (std::string_view(content).substr(std::min(row.at, content.size())).starts_with(row.mark) &&
        (row.at != 8 || content[7] == '\0')) {
      throw InputError(
          fmt::format("{}: is {}; give the model as ops: captured (python -m stowplan.capture), as ONNX, or "
                      "one of `stowplan list "
                      "workloads` with its sizes.",
                      source, row.what));
    }
  }
}

namespace {

sim::OpGraph ReadAnyGraph(const std::string& path, const sim::HardwareCatalogue* catalogue,
                          std::vector<std::string>* notes) {
  const std::string content = formats::ReadFile(path);
  RefuseForeign(content, formats::SourceOf(path));
  if (content.find("\"stowplan.graph\"") == std::string::npos) {
    for (const ImporterRow& importer : Importers()) {
      if (!importer.recognises(content)) continue;
      ImportedGraph imported = importer.import(content, formats::SourceOf(path), {});
      if (notes != nullptr) *notes = std::move(imported.notes);
      return std::ranges::any_of(imported.graph.ops, formats::IsWholeCollective)
                 ? formats::SplitCollectives(imported.graph)
                 : std::move(imported.graph);
    }
  }
  return formats::ParseGraph(content, formats::SourceOf(path), catalogue);
}

}  // namespace

const std::vector<WorkloadRow>& Workloads() {
  static const std::vector<WorkloadRow> rows = {
      {"chain", "ops in a row", TableOf("ops=16,us=100,bytes=1000000,cost=us"), BuildChain},
      {"diamond", "a source, parallel paths, a sink",
       TableOf("width=4,depth=1,us=100,bytes=1000000,cost=us", {Sized("depth", "ops of a path", 1, 10'000)}),
       BuildDiamond},
      {"random_dag", "a seeded random graph in layers",
       TableOf("ops=200,width=10,fan_in=3,us=100,bytes=1000000,seed=1,cost=us",
               {Sized("width", "ops of a layer", 1, 1e6),
                Sized("us", "microseconds of an op on average", 1, 1e9)}),
       BuildRandomDag},
      {"inception_v3", "Inception-V3 on 299 x 299 images (Szegedy et al. 2016)",
       TableOf(Model("32", "rmsprop", "22", "bn=yes,aux=no,classes=1000")), BuildInceptionV3},
      {"resnet_152", "ResNet-152 on 224 x 224 images (He et al. 2016)",
       TableOf(Model("32", "momentum", "10", "classes=1000")), BuildResNet152},
      {"nasnet_a", "NASNet-A for ImageNet, mobile or large, or for CIFAR-10 (Zoph et al. 2018)",
       TableOf(Model("64", "rmsprop", "10", "size=mobile,classes=1000")), BuildNasNetA},
      {"amoebanet_d", "AmoebaNet-D (Real et al. 2019; sizes assumed)",
       TableOf(Model("32", "rmsprop", "10", "image=224,cells=18,filters=208,classes=1001")), BuildAmoebaNetD},
      {"cifar10", "a family of 32 small networks for CIFAR-10, drawn by ENAS' rules (Pham et al. 2018)",
       TableOf(
           Model("160", "momentum", "10", "index=0,layers=6,filters=20"),
           {Sized("layers", "a multiple of 3", 3, 300), Sized("filters", "of the first cells", 2, 1 << 12)}),
       BuildCifar10},
      {"wavenet",
       "WaveNet: stacks of dilated convolutions over audio (van den Oord et al. 2016; sizes assumed)",
       TableOf(Model("1", "adam", "10",
                     "stacks=2,depth=9,residual=128,dilation=128,skip=256,samples=100000,input=scalar")),
       BuildWaveNet},
      {"rnnlm", "language model of stacked LSTM layers, unrolled (Jozefowicz et al. 2016; sizes assumed)",
       TableOf(Model("64", "sgd", "4", "layers=2,hidden=2048,steps=35,vocabulary=10000,softmax=once"),
               {Layers(1)}),
       BuildRnnlm},
      {"nmt",
       "translation: LSTM encoder and decoder with additive attention, unrolled (Bahdanau et al. 2015; sizes "
       "assumed)",
       TableOf(Model("64", "adam", "4", "layers=2,hidden=1024,steps=40,vocabulary=40000"), {Layers(1)}),
       BuildNmt},
      {"gnmt",
       "translation: deep LSTM stacks, attention from the first decoder layer (Wu et al. 2016; sizes "
       "assumed)",
       TableOf(Model("64", "sgd", "4", "layers=2,hidden=1024,steps=40,vocabulary=32000"), {Layers(2)}),
       BuildGnmt},
      {"bert", "BERT-Base with a head for SQuAD (Devlin et al. 2018)",
       TableOf(
           Model("24", "adam", "4",
                 "layers=12,hidden=768,heads=12,sequence=384,vocabulary=30522,head=squad,gelu=elementary"),
           {Sized("heads", kHeads, 1, 1 << 10), Sized("sequence", "tokens of an example", 1, 512)}),
       BuildBert},
      {"transformer_xl", "language model with a memory of the last segment (Dai et al. 2019; sizes assumed)",
       TableOf(
           Model("15", "adam", "4",
                 "layers=2,hidden=410,heads=10,feed_forward=2100,segment=150,memory=150,vocabulary=267735"),
           {Sized("heads", kHeads, 1, 1 << 10), Sized("feed_forward", kFeedForward, 1, 1 << 18)}),
       BuildTransformerXl},
      {"llama", "decoder of language with a KV cache (Touvron et al. 2023), sizes of TinyLlama",
       TableOf(Model("1", "adam", "1",
                     "layers=22,hidden=2048,heads=32,kv_heads=4,feed_forward=5632,sequence=2048,vocabulary="
                     "32000,pass=whole"),
               {Sized("hidden", kHidden, 1, 1 << 18)}),
       BuildLlama},
      {"moe", "the same decoder with a mixture of experts (Shazeer et al. 2017), small sizes of ours",
       TableOf(Model("8", "adam", "1",
                     "layers=8,hidden=1024,heads=16,kv_heads=8,feed_forward=3584,sequence=1024,vocabulary="
                     "32000,pass=whole,experts=8,top_k=2,capacity=1"),
               {Sized("hidden", kHidden, 1, 1 << 18)}),
       BuildMoe},
      {"ptb", "a family of 32 recurrent cells for Penn Treebank, drawn by ENAS' rules (Pham et al. 2018)",
       TableOf(Model("20", "sgd", "4", "index=0,nodes=12,hidden=720,steps=35,vocabulary=10000")), BuildPtb},
      {"nmt_family", "a family of 32 of nmt, by length and batch (sizes recalled)", NmtFamily(),
       BuildNmtFamily},
      {"pipeline",
       "a step of a workload or a graph file over micro-batches, in the order of GPipe or of 1F1B (Huang et "
       "al. 2019; Narayanan et al. 2021)",
       TableOf("of=rnnlm(batch=64),micro_batches=4,schedule=gpipe"), BuildPipeline},
      {"layout",
       "a step of a workload or a graph file over many accelerators: tensor, pipeline and data parallelism, "
       "ZeRO, recomputing "
       "(Shoeybi et al. 2019; Narayanan et al. 2021; Rajbhandari et al. 2020)",
       LayoutWorkloadSettings(), BuildLayout},
  };
  return rows;
}

const std::vector<ClusterRow>& Clusters() {
  static const std::vector<ClusterRow> rows = {
      {"k40", "Haswell CPU and K40 GPUs of the Hierarchical paper", TableOf(kTree), K40Cluster},
      {"k80", "p2.8xlarge of the Placeto paper: Broadwell CPU and K80 dies", TableOf(kTree), K80Cluster},
      {"p100", "Broadwell CPU and P100 GPUs of the SGDP (16GB) and Mars (12GB) papers",
       TableOf("gpus=2,interconnect=fair,host=device,order=program,memory=16GB,copies=overlap,prices=sheet",
               {{"memory", "of a GPU", OneOf({"16GB", "12GB"}), ""},
                {"prices", "by the sheet, or as measured on a P100 by others", OneOf({"sheet", "measured"}),
                 ""}}),
       P100Cluster},
      {"v100", "DGX-1 with V100 in a cube mesh of NVLinks", TableOf(kHost), V100Cluster},
      {"dgx2", "DGX-2: 16 V100 on NVSwitch",
       TableOf("gpus=16,interconnect=fair,host=auto,order=program",
               {Sized("gpus", "devices beside the CPUs", 1, 16)}),
       Dgx2Cluster},
      {"a100", "DGX A100 on NVSwitch", TableOf(kHost), A100Cluster},
      {"h100", "DGX H100 on NVSwitch", TableOf(kHost), H100Cluster},
      {"h200", "DGX H200 on NVSwitch", TableOf(kHost), H200Cluster},
      {"workstation", "unequal GPUs: an RTX 4090, all others T4, on PCI Express",
       TableOf("gpus=2,interconnect=fair,host=auto,order=program"), WorkstationCluster},
      {"pcie_tree", "two sockets with a PCI Express switch of P100 below each", TableOf(kHost),
       PcieTreeCluster},
      {"a100_hosts", "DGX A100s on InfiniBand", TableOf(kHosts), NetworkedHostsCluster},
      {"h100_hosts", "DGX H100s on InfiniBand",
       TableOf("gpus=8,interconnect=fair,host=auto,order=program,hosts=2,nics=gpu,network=flat,pod=32,"
               "oversubscription=1"),
       NetworkedHostsCluster},
      {"b200_hosts", "DGX B200s on InfiniBand", TableOf(kHosts), NetworkedHostsCluster},
      {"gb200_nvl72", "racks of GB200 NVL72, each one NVLink domain of 72 GPUs",
       TableOf(
           "gpus=72,interconnect=fair,host=auto,order=program,hosts=1,network=flat,pod=8,oversubscription=1",
           {Sized("gpus", "devices beside the CPUs, of a rack", 1, 72)}),
       NetworkedHostsCluster},
      {"aws_p4d", "Amazon EC2 p4d.24xlarge: 8 A100 of 40 GB, 400 Gbit/s", TableOf(kHosts),
       NetworkedHostsCluster},
      {"aws_p5", "Amazon EC2 p5.48xlarge: 8 H100, 3,200 Gbit/s", TableOf(kHosts), NetworkedHostsCluster},
      {"azure_nd_h100_v5", "Azure ND H100 v5: 8 H100, 3,200 Gbit/s", TableOf(kHosts), NetworkedHostsCluster},
      {"gcp_a3_highgpu", "Google Cloud a3-highgpu-8g: 8 H100, 800 Gbit/s", TableOf(kHosts),
       NetworkedHostsCluster},
      {"rtx4090", "PCs with RTX 4090 on PCI Express", TableOf(kPcs), NetworkedHostsCluster},
      {"rtx5090", "PCs with RTX 5090 on PCI Express", TableOf(kPcs), NetworkedHostsCluster},
      {"baechi", "cards of 8 GB as in the log of BaechiPyTorch, P100 in place of them", TableOf(kTree),
       BaechiCluster},
      {"doppler", "equal devices and copies that share nothing, as in the published simulator of DOPPLER",
       TableOf("gpus=4"), DopplerCluster},
      {"msr", "accelerators beside a CPU, as in the inputs of msr-fiddle/dnn-partitioning",
       TableOf("gpus=6,mebibytes=600", {Sized("gpus", "devices beside the CPUs", 1, 32)}), MsrCluster},
  };
  return rows;
}

const std::vector<ImporterRow>& Importers() {
  static const std::vector<ImporterRow> rows = {
      {"msr", "profiled graphs of msr-fiddle/dnn-partitioning", RecognisesMsrGraph,
       [](const std::string& content, const std::string& source, const ImportOptions& options) {
         RefuseOptions(source, options);
         return ImportedGraph{ImportMsrGraph(content, source)};
       }},
      {"doppler", "graphs of xinyuyao/Doppler, for cluster doppler", RecognisesDopplerGraph,
       [](const std::string& content, const std::string& source, const ImportOptions& options) {
         RefuseOptions(source, options);
         return ImportedGraph{ImportDopplerGraph(content, source)};
       }},
      {"onnx", "ONNX models: inference as exported, or with backward and update ops", RecognisesOnnx,
       [](const std::string& content, const std::string& source, const ImportOptions& options) {
         if (!options.kineto.empty() || !options.gpu.empty())
           throw InputError(source +
                            ": --kineto and --gpu are for execution traces; an ONNX model has no times");
         return ImportOnnx(content, source, options);
       }},
      {"trace",
       "steps of torch: a Kineto trace alone, or an execution trace, with or without one of the same run",
       RecognisesTrace,
       [](const std::string& content, const std::string& source, const ImportOptions& options) {
         if (!options.dims.empty() || !options.training.empty() || options.strict ||
             !options.memory.empty()) {
           throw InputError(
               source +
               ": --dim, --training, --strict and --memory-stats are for ONNX models; a trace is "
               "taken as it is");
         }
         return ImportTrace(content, source, options);
       }},
  };
  return rows;
}

Settings WorkloadSettings(const std::string& workload) {
  const WorkloadRow* row = FindRow(Workloads(), NameOf(workload));
  if (row == nullptr) FailUnknown(workload, "workload", NamesOf(Workloads()));
  return {Spec::Parse(workload), row->settings};
}

sim::OpGraph LoadGraph(const std::string& name_or_path, const sim::HardwareCatalogue* catalogue,
                       std::vector<std::string>* notes) {
  if (const WorkloadRow* row = FindRow(Workloads(), NameOf(name_or_path)))
    return row->build(WorkloadSettings(name_or_path));
  std::error_code ignored;
  if (std::filesystem::is_directory(name_or_path, ignored)) {
    ImportedGraph job = trace::ImportJob(name_or_path);
    if (notes != nullptr) notes->insert(notes->end(), job.notes.begin(), job.notes.end());
    return std::move(job.graph);
  }
  if (!IsFile(name_or_path)) FailUnknown(name_or_path, "workload", NamesOf(Workloads()));
  sim::OpGraph graph = ReadAnyGraph(name_or_path, catalogue, notes);
  std::vector<std::string> counted = CountAnew(graph);
  if (notes != nullptr) notes->insert(notes->end(), counted.begin(), counted.end());
  return graph;
}

sim::Cluster LoadCluster(const std::string& name_or_path, const sim::HardwareCatalogue& catalogue) {
  if (const ClusterRow* row = FindRow(Clusters(), NameOf(name_or_path))) {
    return formats::ParseOwnCluster(row->yaml({Spec::Parse(name_or_path), row->settings}), name_or_path,
                                    catalogue);
  }
  if (!IsFile(name_or_path)) FailUnknown(name_or_path, "cluster", NamesOf(Clusters()));
  return formats::ReadCluster(name_or_path, catalogue);
}

sim::Placement LoadPlacement(const std::string& path, const sim::OpGraph& graph,
                             const sim::Cluster& cluster) {
  const std::string content = formats::ReadFile(path);
  if (RecognisesMsrSplit(content)) return ImportMsrSplit(content, formats::SourceOf(path), graph, cluster);
  if (RecognisesDeviceMap(content)) return ImportDeviceMap(content, formats::SourceOf(path), graph, cluster);
  return formats::ParsePlacement(content, formats::SourceOf(path), graph, cluster);
}

}  // namespace stowplan::scenarios
