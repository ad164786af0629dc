#include "agents/rl/checkpoint.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/fnv.h"

namespace stowplan::agents::rl {
namespace {

// Weights and the state of their optimiser; a header names a handful of sections.
constexpr std::uintmax_t kMaxBytes = std::uintmax_t{8} << 30;
constexpr std::size_t kMaxHeader = std::size_t{64} << 10;

// Finds torn and edited files.
std::string Checksum(std::string_view bytes) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(Fnv1a(bytes)));
  return text;
}

[[noreturn]] void FailDisk(const std::string& path, const std::string& doing) {
  throw RunError(path + ": cannot " + doing + " the checkpoint: " + std::strerror(errno));
}

// A file beside the path that no other program or thread writes; gives its descriptor.
int OpenBeside(const std::string& path, std::string& name) {
  static std::atomic<std::uint64_t> counter = 0;
  int file = -1;
  do {
    name = path + "." + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".new";
    file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  } while (file < 0 && errno == EEXIST);  // left by a killed program
  if (file < 0) FailDisk(path, "create");
  return file;
}

// Gives the name of the file.
std::string WriteBeside(const std::string& path, const std::string& bytes) {
  std::string name;
  const int file = OpenBeside(path, name);
  std::size_t done = 0;
  bool good = true;
  while (good && done < bytes.size()) {
    const ssize_t wrote = ::write(file, bytes.data() + done, bytes.size() - done);
    if (wrote > 0) {
      done += static_cast<std::size_t>(wrote);
    } else {
      good = wrote < 0 && errno == EINTR;
    }
  }
  good = good && ::fsync(file) == 0;
  const int why = errno;
  ::close(file);
  if (!good) {
    std::remove(name.c_str());
    errno = why;
    FailDisk(path, "write");
  }
  return name;
}

[[noreturn]] void FailFile(const std::string& path, const std::string& why) {
  throw InputError(path + ": " + why + "; expected a whole file of format stowplan.checkpoint, version 1");
}

Checkpoint Split(const std::string& path, const nlohmann::json& header, std::string_view data) {
  if (header.value("format", "") != "stowplan.checkpoint") FailFile(path, "it is no checkpoint");
  if (header.value("version", 0) != 1) FailFile(path, "its version is not known");
  if (header.at("checksum").get<std::string>() != Checksum(data))
    FailFile(path, "it is truncated or was changed");
  Checkpoint checkpoint;
  checkpoint.agent = header.at("agent").get<std::string>();
  for (const auto& section : header.at("sections")) {
    const auto& length = section.at("bytes");
    const auto bytes = length.is_number_unsigned() ? length.get<std::size_t>() : std::string::npos;
    if (bytes > data.size()) FailFile(path, "its sections are longer than the file");
    checkpoint.sections[section.at("name").get<std::string>()] = std::string(data.substr(0, bytes));
    data.remove_prefix(bytes);
  }
  if (!data.empty()) FailFile(path, "its sections are shorter than the file");
  return checkpoint;
}

}  // namespace

const std::string& Checkpoint::section(const std::string& name, const std::string& path) const {
  const auto found = sections.find(name);
  if (found == sections.end()) {
    throw InputError(path + ": section '" + name +
                     "' is missing; expected the state of a run, not a policy alone");
  }
  return found->second;
}

void WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint) {
  std::string data;
  nlohmann::ordered_json header = {
      {"format", "stowplan.checkpoint"}, {"version", 1}, {"agent", checkpoint.agent}};
  auto sections = nlohmann::ordered_json::array();
  for (const auto& [name, bytes] : checkpoint.sections) {
    sections.push_back({{"name", name}, {"bytes", bytes.size()}});
    data += bytes;
  }
  header["checksum"] = Checksum(data);
  header["sections"] = std::move(sections);
  const std::string beside = WriteBeside(path, header.dump() + '\n' + data);
  if (std::rename(beside.c_str(), path.c_str()) == 0) return;
  const int why = errno;
  std::remove(beside.c_str());
  errno = why;
  FailDisk(path, "rename");
}

Checkpoint ReadCheckpoint(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored) &&
      std::filesystem::file_size(path, ignored) > kMaxBytes)
    FailFile(path, "it is larger than 8 GiB");
  std::ifstream in(path, std::ios::binary);
  if (!in || !std::filesystem::is_regular_file(path, ignored))
    throw InputError(path + ": cannot be opened; expected a checkpoint of a learner");
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::size_t line = bytes.find('\n');
  if (line == std::string::npos || line > kMaxHeader) FailFile(path, "it has no header");
  try {
    const auto header = nlohmann::json::parse(std::string_view(bytes).substr(0, line));
    return Split(path, header, std::string_view(bytes).substr(line + 1));
  } catch (const nlohmann::json::exception&) {
    FailFile(path, "its header cannot be read");
  }
}

bool CheckpointExists(const std::string& path) {
  return std::filesystem::exists(path);
}

}  // namespace stowplan::agents::rl
