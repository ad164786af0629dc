#include "problem/this_machine.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "output/console.h"
#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/formats/document/json_text.h"

namespace stowplan::problem {
namespace {

constexpr const char* kHere = "here";
constexpr double kNvlinkGigabytes =
    25;  // a second and direction of one link, second to fourth generation (data sheets)

// ---- reading ----------------------------------------------------------------------------------------------

// What nvidia-smi answers, whatever its status. Where it is not there nothing; where it was killed nothing, and why.
std::string AskNvidiaSmi(std::vector<std::string> words, const ProcessLimits& limits, std::string* failure) {
  words.insert(words.begin(), "nvidia-smi");
  ProcessResult told = RunProcess(words, limits, Process::Stream::kNull);
  if (told.end) return std::move(told.output);
  if (told.started) *failure = told.failure;
  return "";
}

std::string ContentOf(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string Trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(Trimmed(part));
  return parts;
}

// The value behind "key : value" in the first line that starts so; empty = there is none.
std::string ValueOf(const std::string& text, const std::string& key) {
  for (const std::string& line : Split(text, '\n')) {
    const auto colon = line.find(':');
    if (colon != std::string::npos && Trimmed(line.substr(0, colon)) == key)
      return Trimmed(line.substr(colon + 1));
  }
  return "";
}

// ---- GPUs -------------------------------------------------------------------------------------------------

struct Gpu {
  std::string name;         // as nvidia-smi says it
  std::int64_t memory = 0;  // MiB
  int generation = 0;       // of PCI Express; 0 = not told
  int width = 0;
  std::string uuid;       // "GPU-…"; empty = not told
  std::size_t index = 0;  // of nvidia-smi
  std::string kind;       // of the catalogue
};

std::int64_t Number(const std::string& text) {
  return text.empty() || !std::isdigit(static_cast<unsigned char>(text.front())) ? 0
                                                                                 : std::atoll(text.c_str());
}

std::vector<Gpu> ReadGpus(const std::string& csv) {
  std::vector<Gpu> gpus;
  for (const std::string& line : Split(csv, '\n')) {
    if (line.find(',') == std::string::npos) continue;  // "No devices were found"
    const std::vector<std::string> cells = Split(line, ',');
    if (cells.size() < 5 || cells.size() > 6 || Number(cells[2]) <= 0) {
      throw InputError(
          fmt::format("--cluster here: nvidia-smi says \"{}\", but index, name, MiB, PCIe generation, "
                      "width and UUID were asked for; "
                      "write the cluster as a file.",
                      line));
    }
    gpus.push_back({cells[1], Number(cells[2]), static_cast<int>(Number(cells[3])),
                    static_cast<int>(Number(cells[4])), cells.size() == 6 ? cells[5] : "", gpus.size(), ""});
  }
  return gpus;
}

// Those that CUDA shows a program, in its order: numbers, or UUIDs that may be cut short, up to the first that it cannot find.
std::vector<Gpu> VisibleGpus(const std::vector<Gpu>& gpus, const std::string& visible) {
  std::vector<Gpu> shown;
  for (const std::string& wanted : Split(visible, ',')) {
    if (wanted.starts_with("MIG-")) {
      throw InputError(
          fmt::format("--cluster here: CUDA_VISIBLE_DEVICES names {}, a part of a GPU, whose size nvidia-smi "
                      "does not tell; "
                      "write the cluster as a file.",
                      wanted));
    }
    const bool is_number = !wanted.empty() && wanted.find_first_not_of("0123456789") == std::string::npos;
    const auto matches = [&](const Gpu& gpu) {
      return is_number ? gpu.index == static_cast<std::size_t>(Number(wanted))
                       : wanted.starts_with("GPU-") && gpu.uuid.starts_with(wanted);
    };
    const auto found = std::find_if(gpus.begin(), gpus.end(), matches);
    if (found == gpus.end()) break;
    const bool is_twice =
        std::any_of(shown.begin(), shown.end(), [&](const Gpu& gpu) { return gpu.index == found->index; });
    if (is_twice) return {};  // as CUDA has it
    shown.push_back(*found);
  }
  return shown;
}

// "NVIDIA GeForce RTX 4090" as {"rtx4090"}, "NVIDIA A100-SXM4-40GB" as {"a100", "sxm4", "40gb"}.
std::vector<std::string> WordsOf(const std::string& name) {
  std::string plain;
  for (const char c : name)
    plain += std::isalnum(static_cast<unsigned char>(c)) ? static_cast<char>(std::tolower(c)) : ' ';
  std::vector<std::string> words;
  for (const std::string& word : Split(plain, ' ')) {
    if (word.empty() || word == "nvidia" || word == "tesla" || word == "geforce" || word == "quadro")
      continue;
    if (!words.empty() && (words.back() == "rtx" || words.back() == "gtx")) {
      words.back() += word;
    } else {
      words.push_back(word);
    }
  }
  return words;
}

struct KindMatch {
  std::string kind;
  bool known = false;  // the catalogue has the board, else it is the nearest
};

KindMatch FindKind(const Gpu& gpu, const cost_models::Catalogue& catalogue) {
  const std::vector<std::string> words = WordsOf(gpu.name);
  const std::string model = words.empty() ? "" : words.front();
  const bool pcie = std::find(words.begin(), words.end(), "pcie") != words.end();
  std::vector<std::string> models;
  std::vector<const cost_models::DeviceSheet*> sheets;
  for (const std::string& kind : catalogue.DeviceNames()) {
    const cost_models::DeviceSheet* sheet = catalogue.FindSheet(kind);
    if (sheet == nullptr || sheet->kind.device_class != sim::DeviceClass::kGpu || !sheet->HasRates())
      continue;
    sheets.push_back(sheet);
    models.push_back(kind.substr(0, kind.find('-')));
  }
  // Of one model: the bus that the name says, then the memory.
  const auto best = [&](const std::string& wanted) -> const cost_models::DeviceSheet* {
    const cost_models::DeviceSheet* found = nullptr;
    const auto distance = [&](const cost_models::DeviceSheet& sheet) {
      const bool other_bus = (sheet.kind.name.find("pcie") != std::string::npos) != pcie;
      const double mib = static_cast<double>(sheet.kind.memory.value_or(0)) / (1 << 20);
      return std::pair(std::abs(mib - static_cast<double>(gpu.memory)) > 0.15 * mib,
                       std::pair(other_bus, std::abs(mib - static_cast<double>(gpu.memory))));
    };
    for (std::size_t i = 0; i < sheets.size(); ++i) {
      if (!wanted.empty() && models[i] != wanted) continue;
      if (found == nullptr || distance(*sheets[i]) < distance(*found)) found = sheets[i];
    }
    return found;
  };
  if (const auto* sheet = best(model.empty() ? "?" : model)) {
    const double mib = static_cast<double>(sheet->kind.memory.value_or(0)) / (1 << 20);
    return {sheet->kind.name, std::abs(mib - static_cast<double>(gpu.memory)) <= 0.15 * mib};
  }
  const std::string near = NearestName(model, models);
  return {best(near)->kind.name, false};
}

// ---- links ------------------------------------------------------------------------------------------------

// By pair of GPUs: how many NVLinks the matrix of `nvidia-smi topo -m` has between them ("NV12"). Its first line names the
// columns, terminals colour it.
std::vector<std::vector<int>> NvlinksBetween(const std::string& topology, std::size_t gpus) {
  std::vector<std::vector<int>> links(gpus, std::vector<int>(gpus, 0));
  for (const std::string& line : Split(topology, '\n')) {
    std::vector<std::string> cells;
    for (const std::string& cell : Split(line, '\t')) {
      if (!cell.empty()) cells.push_back(cell);
    }
    if (cells.empty() || !cells[0].starts_with("GPU") || cells.size() <= gpus) continue;
    const auto row = static_cast<std::size_t>(Number(cells[0].substr(3)));
    if (row >= gpus) continue;
    if (cells[1].starts_with("GPU")) continue;  // the line of titles
    for (std::size_t column = 0; column < gpus; ++column) {
      if (cells[column + 1].starts_with("NV"))
        links[row][column] = static_cast<int>(Number(cells[column + 1].substr(2)));
    }
  }
  return links;
}

// Usable share of the lanes' rate, as the kinds pcie3-x16 to pcie5-x16 have it.
std::string PcieOf(const Gpu& gpu) {
  const int generation = std::clamp(gpu.generation, 3, 5);
  if (gpu.width == 16 || gpu.width == 0) return fmt::format("kind: pcie{}-x16", generation);
  const double gigabytes = 13.0 * (1 << (generation - 3)) * gpu.width / 16;
  return fmt::format("bandwidth: {:.4g}GB/s, latency: 5us", gigabytes);
}

class Writer {
 public:
  Writer(const MachineFacts& facts, const cost_models::Catalogue& catalogue)
      : facts_(facts), catalogue_(catalogue), gpus_(ReadGpus(facts.gpus)) {
    links_ = NvlinksBetween(facts.topology, gpus_.size());
    if (facts.visible) Hide();
  }

  ThisMachine Run() {
    for (std::size_t g = 0; g < gpus_.size(); ++g) FindKindOf(g);
    if (!facts_.gpus_failure.empty())
      machine_.notes.push_back("nvidia-smi " + facts_.gpus_failure + ", so the machine is its CPU alone");
    else if (gpus_.empty() && !facts_.visible)
      machine_.notes.emplace_back(
          "nvidia-smi tells of no GPU (or is not there), so the machine is its CPU alone");
    if (!facts_.topology_failure.empty())
      machine_.notes.push_back("nvidia-smi topo " + facts_.topology_failure + ", so no NVLink is known");
    std::string& yaml = machine_.yaml;
    yaml =
        "# This machine, by /proc and nvidia-smi.\nformat: stowplan.cluster\nversion: 1\nname: here\nrules: "
        "native\n";
    WriteCpuKind();
    yaml += "devices:\n";
    yaml += fmt::format("  - {{name: cpu0, kind: this-cpu, memory: {}MiB}}  # {}\n", Memory(),
                        IsMemoryLimited() ? "limit of the control group" : "/proc/meminfo: MemTotal");
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      yaml += fmt::format("  - {{name: gpu{}, kind: {}, memory: {}MiB, reserve: auto}}  # {}\n", g,
                          gpus_[g].kind, gpus_[g].memory, gpus_[g].name);
    }
    if (!gpus_.empty()) WriteLinks();
    yaml += "interconnect: fair\ndispatch: {per: auto, order: program, cost: auto}\n";
    return std::move(machine_);
  }

 private:
  void FindKindOf(std::size_t g) {
    Gpu& gpu = gpus_[g];
    const KindMatch match = FindKind(gpu, catalogue_);
    gpu.kind = match.kind;
    if (match.known || !told_.insert(gpu.name).second) return;
    const std::string name = WordsOf(gpu.name).empty() ? "my-gpu" : WordsOf(gpu.name).front();
    machine_.notes.push_back(
        fmt::format("gpu{} is a \"{}\" with {} MiB, which the catalogue lacks: it is priced as the nearest, "
                    "{}, with its own memory. "
                    "For prices of its own write its data sheet to a file and give --sheet FILE: {{format: "
                    "stowplan.devices, version: 1, "
                    "devices: [{{name: {}, class: gpu, description: {}, memory: {{value: {}MiB, source: "
                    "nvidia-smi}}, peak_f32: {{value: "
                    "…TFLOP/s, source: …}}, memory_bandwidth: {{value: …GB/s, source: …}}, …}}]}} "
                    "(docs/calibration.md, A sheet of "
                    "your own)",
                    g, gpu.name, gpu.memory, gpu.kind, name, formats::JsonString(gpu.name), gpu.memory));
  }

  void Hide() {
    const std::size_t all = gpus_.size();
    gpus_ = VisibleGpus(gpus_, *facts_.visible);
    machine_.notes.push_back(
        fmt::format("CUDA_VISIBLE_DEVICES is \"{}\": {} of {} GPUs, by the numbers of nvidia-smi",
                    *facts_.visible, gpus_.size(), all));
    const auto differs = [&](const Gpu& gpu) { return gpu.name != gpus_.front().name; };
    if (std::any_of(gpus_.begin(), gpus_.end(), differs))
      machine_.notes.emplace_back(
          "the GPUs differ: CUDA numbers them so where CUDA_DEVICE_ORDER is PCI_BUS_ID");
  }

  std::int64_t TotalMemory() const { return Number(ValueOf(facts_.meminfo, "MemTotal")) / 1024; }
  bool IsMemoryLimited() const {
    return facts_.limits.memory > 0 && (TotalMemory() == 0 || facts_.limits.memory >> 20 < TotalMemory());
  }
  std::int64_t Memory() const {
    return std::max<std::int64_t>(IsMemoryLimited() ? facts_.limits.memory >> 20 : TotalMemory(), 1);
  }

  // "0-3,8": the hardware threads that this process may run on. Empty = not told.
  std::set<std::int64_t> AllowedThreads() const {
    std::set<std::int64_t> allowed;
    constexpr std::int64_t kMost = 1 << 16;
    for (const std::string& range : Split(ValueOf(facts_.status, "Cpus_allowed_list"), ',')) {
      const auto dash = range.find('-');
      const std::int64_t first = Number(range);
      const std::int64_t last = dash == std::string::npos ? first : Number(range.substr(dash + 1));
      for (std::int64_t thread = first; thread <= std::min(last, first + kMost); ++thread)
        allowed.insert(thread);
    }
    return allowed;
  }

  // Cores are told, rates are not: those of a core of today.
  void WriteCpuKind() {
    const std::set<std::int64_t> allowed = AllowedThreads();
    std::set<std::pair<std::string, std::string>> cores;
    std::string package;
    std::int64_t threads = 0;
    bool is_allowed = true;
    for (const std::string& line : Split(facts_.cpuinfo, '\n')) {
      const auto colon = line.find(':');
      if (colon == std::string::npos) continue;
      const std::string key = Trimmed(line.substr(0, colon)), value = Trimmed(line.substr(colon + 1));
      if (key == "processor") {
        is_allowed = allowed.empty() || allowed.contains(Number(value));
        threads += is_allowed ? 1 : 0;
      }
      if (key == "physical id") package = value;
      if (key == "core id" && is_allowed) cores.emplace(package, value);
    }
    auto count = std::max<std::int64_t>(cores.empty() ? threads : static_cast<std::int64_t>(cores.size()), 1);
    std::string source = "measured: /proc/cpuinfo";
    if (facts_.limits.cpus > 0 && facts_.limits.cpus < static_cast<double>(count)) {
      count = std::max<std::int64_t>(std::llround(facts_.limits.cpus), 1);
      source = fmt::format("measured: the control group's limit of {:g}", facts_.limits.cpus);
    }
    const std::string flags = ValueOf(facts_.cpuinfo, "flags");
    const bool wide = flags.find("avx512f") != std::string::npos;
    const double flop = wide ? 64 : flags.find("fma") != std::string::npos ? 32 : 16;
    std::string model = ValueOf(facts_.cpuinfo, "model name");
    if (model.empty()) model = "an unknown CPU";
    constexpr double kGigahertz = 2.5;
    const double bandwidth = std::min(10.0 * static_cast<double>(count), 200.0);
    machine_.yaml += fmt::format(
        "kinds:\n"
        "  - name: this-cpu\n"
        "    class: cpu\n"
        "    description: {0}\n"
        "    cores: {{value: {1}, source: \"{6}\"}}\n"
        "    peak_f32: {{value: {2:.6g}GFLOP/s, source: \"assumption: {1} cores x {3} GHz x {4:.0f} FLOP a "
        "cycle\"}}\n"
        "    memory_bandwidth: {{value: {5:.6g}GB/s, source: \"assumption: 10 GB/s for each core, 200 at "
        "most\"}}\n"
        "    core_bandwidth: {{value: 10GB/s, source: \"assumption: what one core can keep in flight\"}}\n"
        "    kernel_time: {{value: 1us, source: \"assumption: entering and leaving a library call\"}}\n"
        "    ramp: {{value: 5us, source: \"assumption: waking and joining a thread pool\"}}\n"
        "    launch_cost: {{value: 2us, source: \"assumption: an executor's bookkeeping for one op\"}}\n",
        formats::JsonString(model), count, static_cast<double>(count) * kGigahertz * flop, kGigahertz, flop,
        bandwidth, source);
    machine_.notes.push_back(
        fmt::format("the rates of the CPU ({}, {} cores) are assumed; stowplan-profile and stowplan "
                    "calibrate measure them",
                    model, count));
  }

  void WriteLinks() {
    std::string& yaml = machine_.yaml;
    const auto links = [&](std::size_t a, std::size_t b) { return links_[gpus_[a].index][gpus_[b].index]; };
    int least = 1 << 20, most = 0;
    for (std::size_t a = 0; a < gpus_.size(); ++a) {
      for (std::size_t b = 0; b < gpus_.size(); ++b) {
        if (a == b) continue;
        least = std::min(least, links(a, b));
        most = std::max(most, links(a, b));
      }
    }
    // All pairs alike and more links than a GPU could give each: a switch.
    const bool switched = gpus_.size() > 2 && least == most && most > 6;
    if (switched) yaml += "switches: [nvswitch]\n";
    yaml += "links:\n";
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      yaml += fmt::format(
          "  - {{name: pcie-gpu{0}, ends: [gpu{0}, cpu0], {1}}}  # nvidia-smi: generation {2}, {3} lanes\n",
          g, PcieOf(gpus_[g]), gpus_[g].generation, gpus_[g].width);
      if (switched) {
        const std::string kind = "nvswitch-" + gpus_[g].kind.substr(0, gpus_[g].kind.find('-'));
        yaml += fmt::format(
            "  - {{name: nvlink-gpu{0}, ends: [gpu{0}, nvswitch], {1}}}  # nvidia-smi topo: NV{2} between "
            "all\n",
            g,
            catalogue_.FindLink(kind) != nullptr
                ? "kind: " + kind
                : fmt::format("bandwidth: {:.4g}GB/s, latency: 4us", 0.8 * kNvlinkGigabytes * most),
            most);
      }
    }
    for (std::size_t a = 0; a < gpus_.size() && !switched; ++a) {
      for (std::size_t b = a + 1; b < gpus_.size(); ++b) {
        if (links(a, b) == 0) continue;
        yaml += fmt::format(
            "  - {{name: nvlink-gpu{0}-gpu{1}, ends: [gpu{0}, gpu{1}], bandwidth: {2:.4g}GB/s, latency: "
            "8us}}  # nvidia-smi "
            "topo: NV{3}; four fifths of 25 GB/s a link assumed\n",
            a, b, 0.8 * kNvlinkGigabytes * links(a, b), links(a, b));
      }
    }
  }

  const MachineFacts& facts_;
  const cost_models::Catalogue& catalogue_;
  std::vector<Gpu> gpus_;                // those in use
  std::vector<std::vector<int>> links_;  // between all, by the numbers of nvidia-smi
  std::set<std::string> told_;
  ThisMachine machine_;
};

}  // namespace

MachineFacts LookAtMachine(const std::string& root, const ProcessLimits& limits) {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  MachineFacts facts{.visible = visible != nullptr ? std::optional<std::string>(visible) : std::nullopt,
                     .cpuinfo = ContentOf(root + "/proc/cpuinfo"),
                     .meminfo = ContentOf(root + "/proc/meminfo"),
                     .status = ContentOf(root + "/proc/self/status"),
                     .limits = ReadCgroupLimits(root)};
  facts.gpus = AskNvidiaSmi({"--query-gpu=index,name,memory.total,pcie.link.gen.max,pcie.link.width.max,uuid",
                             "--format=csv,noheader,nounits"},
                            limits, &facts.gpus_failure);
  if (!facts.gpus.empty()) facts.topology = AskNvidiaSmi({"topo", "-m"}, limits, &facts.topology_failure);
  return facts;
}

ThisMachine DescribeMachine(const MachineFacts& facts, const cost_models::Catalogue& catalogue) {
  return Writer(facts, catalogue).Run();
}

void ResolveHere(ProblemSource& source) {
  if (source.cluster != kHere || !source.cluster_text.empty() || std::filesystem::exists(kHere)) return;
  ThisMachine machine = DescribeMachine(LookAtMachine(), cost_models::BuiltinCatalogue());
  for (const std::string& note : machine.notes)
    output::TellSentence(fmt::format("--cluster here: {}\n", note));
  source.cluster_text = std::move(machine.yaml);
}

}  // namespace stowplan::problem
