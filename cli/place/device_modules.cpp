#include "cli/place/device_modules.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "output/console.h"
#include "sim/analysis/modules.h"

namespace stowplan::cli {
namespace {

struct Entry {
  std::string path;
  std::string stem;  // without the closing number
  int number = -1;   // -1 = it closes with none
  bool part = false;
};

Entry MakeEntry(const std::string& path, bool part) {
  Entry entry = {path, path, -1, part};
  const std::size_t last = path.find_last_not_of("0123456789");
  const std::size_t digits = last == std::string::npos ? 0 : last + 1;
  if (digits < path.size() && path.size() - digits < 7) {
    entry.stem = path.substr(0, digits);
    entry.number = std::stoi(path.substr(digits));
  }
  return entry;
}

// "layer0 to layer15" of neighbours.
std::vector<std::string> Drawn(const std::vector<Entry>& entries) {
  std::vector<std::string> words;
  for (std::size_t first = 0; first < entries.size();) {
    std::size_t end = first + 1;
    while (end < entries.size() && entries[end].number >= 0 && entries[end].stem == entries[first].stem &&
           entries[end].part == entries[first].part && entries[end].number == entries[end - 1].number + 1) {
      ++end;
    }
    const char* star = entries[first].part ? "*" : "";
    words.push_back(end - first == 1 ? entries[first].path + star
                                     : fmt::format("{}{} to {}{}", entries[first].path, star,
                                                   entries[end - 1].path, star));
    first = end;
  }
  return words;
}

class Lister {
 public:
  Lister(const sim::Problem& problem, const sim::Placement& placement)
      : tree_(sim::MakeModuleTree(problem.graph())),
        placement_(placement),
        entries_(problem.cluster().devices.size()) {
    for (const std::int32_t module : sim::CoarsestModules(tree_)) List(module);
  }

  std::vector<std::string> Words(std::size_t most_words) const {
    std::vector<std::string> by_device;
    for (const std::vector<Entry>& entries : entries_) {
      std::vector<std::string> words = Drawn(entries);
      const std::size_t more = words.size() > most_words ? words.size() - most_words : 0;
      words.resize(words.size() - more);
      std::string text = fmt::format("{}", fmt::join(words, ", "));
      if (more > 0) text += fmt::format(" and {} more", output::CountText(static_cast<std::int64_t>(more)));
      by_device.push_back(std::move(text));
    }
    return by_device;
  }

 private:
  void List(std::int32_t module) {
    std::set<sim::DeviceIndex> devices;
    sim::ForEachOp(tree_, module,
                   [&](sim::OpIndex op) { devices.insert(placement_.device[static_cast<std::size_t>(op)]); });
    for (const sim::DeviceIndex device : devices) {
      entries_[static_cast<std::size_t>(device)].push_back(
          MakeEntry(tree_.modules[static_cast<std::size_t>(module)].path, devices.size() > 1));
    }
  }

  sim::ModuleTree tree_;
  const sim::Placement& placement_;
  std::vector<std::vector<Entry>> entries_;  // by device
};

}  // namespace

std::vector<std::string> ModulesByDevice(const sim::Problem& problem, const sim::Placement& placement,
                                         std::size_t most_words) {
  return Lister(problem, placement).Words(most_words);
}

}  // namespace stowplan::cli
