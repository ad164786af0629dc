#include "cost_models/calibration/machine.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/base/nearest_name.h"
#include "sim/formats/document/json_text.h"

namespace stowplan::cost_models {
namespace {

using profiler::Recording;

std::string TextOf(const sim::Attribute& value) {
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  std::string json;
  formats::AppendJsonAttribute(json, value);
  return json;
}

// The text of a fact, also one level down: pytorch's "gpu" is an object with a name.
std::string Find(const sim::Attributes& facts, const std::string& key, const std::string& inner) {
  const sim::Attribute* found = sim::FindAttribute(facts, key);
  if (found != nullptr) {
    if (const auto* object = std::get_if<sim::Attributes>(&found->value))
      found = FindAttribute(*object, inner);
  }
  return found != nullptr && *found != sim::Attribute{} ? TextOf(*found) : "";
}

std::string Told(const sim::Attribute* value) {
  if (value == nullptr) return "not told";
  std::string text = TextOf(*value);
  constexpr std::size_t kLongest = 80;
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
  return "'" + text + "'";
}

[[noreturn]] void Differ(const NamedRecording& a, const NamedRecording& b, const std::string& fact,
                         const std::string& left, const std::string& right) {
  throw InputError(
      fmt::format("{} and {} differ in {} ({} and {}); recordings of different machines, drivers or "
                  "libraries are not mixed: calibrate each alone",
                  a.source, b.source, fact, left, right));
}

void CompareFacts(const NamedRecording& a, const NamedRecording& b, const char* what,
                  const sim::Attributes& left, const sim::Attributes& right, bool same_device) {
  std::set<std::string> keys;
  for (const auto& [key, value] : left) keys.insert(key);
  for (const auto& [key, value] : right) keys.insert(key);
  for (const std::string& key : keys) {
    const sim::Attribute* const one = sim::FindAttribute(left, key);
    const sim::Attribute* const other = sim::FindAttribute(right, key);
    if (one == nullptr || other == nullptr ? !same_device : *one == *other) continue;
    // One recorder tells the GPU's name alone, another more of it.
    if (!same_device && key == "gpu" && Find(left, key, "name") == Find(right, key, "name")) continue;
    Differ(a, b, fmt::format("{}.{}", what, key), Told(one), Told(other));
  }
}

std::string RecorderOf(const Recording& recording) {
  return recording.kind.substr(0, recording.kind.find('.'));
}

std::string GpuName(const Recording& recording) {
  return recording.device == "cpu" ? "" : Find(recording.machine, "gpu", "name");
}

bool IsDriverFact(const std::string& key) {
  return key == "cuda_driver";
}

// As "cublas 130100, cudnn 91300": what two recordings say in the same words stands once.
std::string LibraryText(const std::vector<NamedRecording>& recordings) {
  std::set<std::string> facts;
  for (const NamedRecording& one : recordings) {
    for (const auto& [key, value] : one.recording.software) {
      if (!IsDriverFact(key) && value != sim::Attribute{} && !TextOf(value).empty())
        facts.insert(key + " " + TextOf(value));
    }
  }
  return facts.empty() ? "not told" : fmt::format("{}", fmt::join(facts, ", "));
}

std::string DriverText(const std::vector<NamedRecording>& recordings) {
  bool accelerator = false;
  for (const NamedRecording& one : recordings) {
    if (one.recording.device == "cpu") continue;
    accelerator = true;
    for (const char* key : {"gpu_settings", "gpu"}) {
      const std::string version = Find(one.recording.machine, key, "driver_version");
      if (!version.empty() && !GpuName(one.recording).empty() && version != GpuName(one.recording))
        return version;
    }
    const std::string version = Find(one.recording.software, "cuda_driver", "");
    if (!version.empty()) return "CUDA " + version;
  }
  return accelerator ? "not told" : "none";
}

// "NVIDIA A100-SXM4-40GB": nvidia, a100, sxm4, 40gb, and sxm without its number, and neighbours in one (rtx 4090).
std::set<std::string> WordsOf(const std::string& gpu) {
  std::vector<std::string> words(1);
  for (const char c : gpu) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  std::set<std::string> all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    all.insert({words[i], words[i].substr(0, words[i].find_last_not_of("0123456789") + 1)});
    if (i > 0) all.insert(words[i - 1] + words[i]);
  }
  all.erase("");
  return all;
}

// The kind all of whose words are the GPU's; that with most of them, none where two have as many.
std::string KindNamed(const std::string& gpu, const Catalogue& catalogue) {
  const std::set<std::string> words = WordsOf(gpu);
  std::string best;
  std::size_t most = 0;
  for (const std::string& name : catalogue.DeviceNames()) {
    std::size_t count = 0;
    bool all = true;
    for (std::size_t at = 0; at <= name.size(); ++count) {
      const std::size_t dash = std::min(name.find('-', at), name.size());
      all = all && words.contains(name.substr(at, dash - at));
      at = dash + 1;
    }
    if (!all || count < most) continue;
    best = count == most ? "" : name;
    most = count;
  }
  return best;
}

}  // namespace

void CheckOneMachine(const std::vector<NamedRecording>& recordings) {
  STOWPLAN_CHECK(!recordings.empty());
  for (std::size_t i = 1; i < recordings.size(); ++i) {
    const NamedRecording &a = recordings.front(), &b = recordings[i];
    if (RecorderOf(a.recording) != RecorderOf(b.recording))
      Differ(a, b, "their recorders", "'" + RecorderOf(a.recording) + "'",
             "'" + RecorderOf(b.recording) + "'");
    // Each with the first of its own device, and with the very first: agreement goes from one to the next.
    const auto peer = std::ranges::find(recordings, b.recording.device,
                                        [](const NamedRecording& one) { return one.recording.device; });
    for (const NamedRecording* other : {&a, &*peer}) {
      const bool same_device = other->recording.device == b.recording.device;
      CompareFacts(*other, b, "machine", other->recording.machine, b.recording.machine, same_device);
      CompareFacts(*other, b, "software", other->recording.software, b.recording.software, same_device);
    }
  }
}

bool TellsGpu(const Recording& recording) {
  return !GpuName(recording).empty();
}

void CheckSameHost(const std::vector<NamedRecording>& probes, const NamedRecording& steps) {
  for (const NamedRecording& one : probes) {
    CompareFacts(one, steps, "machine", one.recording.machine, steps.recording.machine, false);
    CompareFacts(one, steps, "software", one.recording.software, steps.recording.software, false);
  }
}

Provenance ProvenanceOf(const std::vector<NamedRecording>& recordings, const std::string& command) {
  Provenance made{.driver = DriverText(recordings), .library = LibraryText(recordings), .command = command};
  std::set<std::string> names, commits;
  for (const NamedRecording& one : recordings) {
    const Recording& recording = one.recording;
    if (const std::string gpu = GpuName(recording); !gpu.empty()) made.machine = gpu;
    for (const auto& [name, part] : recording.parts) {
      made.date = std::max(made.date, part.date.substr(0, 10));
      if (!part.revision.empty()) commits.insert(part.revision);
    }
  }
  const sim::Attributes& host = recordings.front().recording.machine;
  const std::string cpu = Find(host, "cpu", ""), cores = Find(host, "cores", "");
  const std::string text = cpu.empty()     ? "a host that was not told"
                           : cores.empty() ? cpu
                                           : cpu + ", " + cores + " cores";
  made.machine += (made.machine.empty() ? "" : ", ") + text;
  made.commit = commits.empty() ? "unknown" : fmt::format("{}", fmt::join(commits, ", "));
  return made;
}

std::string ClocksText(const std::vector<NamedRecording>& recordings) {
  std::map<std::string, std::set<std::string>> found;
  for (const NamedRecording& one : recordings) {
    for (const auto& [name, part] : one.recording.parts) {
      const auto* clocks = std::get_if<sim::Attributes>(&part.clocks.value);
      if (clocks == nullptr) continue;
      for (const auto& [key, value] : *clocks) {
        if (key.starts_with("clocks.")) found[key].insert(TextOf(value));
      }
    }
  }
  std::vector<std::string> texts;
  for (const auto& [key, values] : found)
    texts.push_back(fmt::format("{} {}", key, fmt::join(values, " / ")));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::map<sim::DeviceClass, std::string> KindsOf(const std::vector<NamedRecording>& recordings,
                                                const std::map<std::string, std::string>& given,
                                                const Catalogue& catalogue) {
  std::string gpu;
  for (const NamedRecording& one : recordings) gpu = std::max(gpu, GpuName(one.recording));
  std::map<sim::DeviceClass, std::string> kinds = {{sim::DeviceClass::kCpu, "cpu"}};
  if (const std::string kind = KindNamed(gpu, catalogue); !kind.empty()) kinds[sim::DeviceClass::kGpu] = kind;
  for (const auto& [device_class, kind] : given) {
    const DeviceSheet* const sheet = catalogue.FindSheet(kind);
    if (device_class != "cpu" && device_class != "gpu")
      throw InputError(fmt::format("--kind {}={}: '{}' is no class of devices; there are gpu and cpu",
                                   device_class, kind, device_class));
    if (sheet == nullptr || sim::ToString(sheet->kind.device_class) != device_class) {
      throw InputError(
          fmt::format("--kind {}={}: '{}' is no {} of the catalogue{}; `stowplan list devices` shows them",
                      device_class, kind, kind, device_class, DidYouMean(kind, catalogue.DeviceNames())));
    }
    kinds[sheet->kind.device_class] = kind;
  }
  const auto accelerator = std::ranges::find_if(
      recordings, [](const NamedRecording& one) { return one.recording.device != "cpu"; });
  if (accelerator != recordings.end() && !kinds.contains(sim::DeviceClass::kGpu)) {
    throw InputError(
        fmt::format("{}: '{}' is no device that the catalogue knows by name; say with --kind gpu=KIND "
                    "what it is (`stowplan list devices`; gpu where there is none like it)",
                    accelerator->source, gpu));
  }
  return kinds;
}

}  // namespace stowplan::cost_models
