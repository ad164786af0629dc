// Files that hold the state of a learner: named sections of bytes behind one line of JSON,
//   {"format": "stowplan.checkpoint", "version": 1, "agent": …, "checksum": …, "sections": [{"name", "bytes"},
//   …]}
// A checkpoint of a run and a saved policy are the same kind of file; the policy has fewer sections.
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace stowplan::agents::rl {

struct Checkpoint {
  std::string agent;  // canonical spec of the agent that wrote it
  std::map<std::string, std::string> sections;

  // Throws InputError if absent; `path` is for the message.
  const std::string& section(const std::string& name, const std::string& path) const;
};

// Whole or not at all: written beside, flushed to the disk, renamed. Throws RunError if the disk refuses.
void WriteCheckpoint(const std::string& path, const Checkpoint& checkpoint);

// Throws InputError for a missing, foreign, truncated or changed file.
Checkpoint ReadCheckpoint(const std::string& path);

bool CheckpointExists(const std::string& path);

// When a running learner saves. The clock decides this and nothing else: a run is the same whenever it was
// saved.
class CheckpointClock {
 public:
  bool Due() const { return std::chrono::steady_clock::now() - last_ > kPeriod; }
  void Restart() { last_ = std::chrono::steady_clock::now(); }

 private:
  // At most 60 s apart (docs/protocol_rules.md#resume); one sample of a large graph and one update may lie between
  // two looks.
  static constexpr std::chrono::seconds kPeriod{30};
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace stowplan::agents::rl
