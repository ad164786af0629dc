// What an agent is (docs/protocol.md). Every other source of this folder is one, or serves one.
//
// An agent is shown a Task (units, features, devices), proposes placements of units to the Evaluator, gets
// outcomes, and goes on until the budget is spent. It implements Search() and nothing else; abilities beyond
// that are second interfaces (Transferable).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agents/evaluator.h"
#include "agents/task.h"
#include "sim/base/settings.h"

namespace stowplan::agents {

struct SearchOptions {
  std::uint64_t seed = 1;
  int threads = 1;            // of the agent itself; results do not depend on it
  std::string checkpoint;     // path where a learner keeps its state; empty = none
  bool resume = false;        // go on from the checkpoint if it is there
  bool learn = true;          // false: apply what was loaded, change no weight
  std::string init;           // weights to start from; empty = fresh
  Ranks* ranks = &OneRank();  // who shares the work of learning; the evaluator must have the same
};

// Contract of Search():
//  - every placement it stands for went through `evaluator`; it returns nothing, the evaluator keeps the
//  best;
//  - it stops when evaluator.remaining() is 0 or evaluator.stop_requested(), deterministic agents may stop
//  earlier;
//  - same task, options and budget: same calls with the same placements, for any number of threads;
//  - it never reads a clock to decide anything.
class Agent {
 public:
  explicit Agent(std::string name) : name_(std::move(name)) {}
  virtual ~Agent() = default;
  const std::string& name() const { return name_; }  // canonical: with the settings in force
  // Opens what it needs of this machine. Throws RunError where that is not there, and InputError for a task that it does not
  // take: before others spend hours. Search() throws the same.
  virtual void Require(const Task& /*task*/) {}
  virtual void Search(const Task& task, Evaluator& evaluator, const SearchOptions& options) = 0;

 private:
  std::string name_;
};

// An agent whose policy can be trained on some graphs and applied to others.
class Transferable {
 public:
  virtual ~Transferable() = default;
  // Round robin over the tasks until each evaluator's budget is spent.
  virtual void Train(const std::vector<const Task*>& tasks, const std::vector<Evaluator*>& evaluators,
                     const SearchOptions& options) = 0;
  virtual void Save(const std::string& path) const = 0;
  virtual void Load(
      const std::string& path) = 0;  // throws InputError for a file of another agent or other sizes
};

// An agent that asks others, one after the other, and does without those who cannot be asked here.
class Composed {
 public:
  virtual ~Composed() = default;
  // Both from any thread. The name of the one whose sample that was, 1-based.
  virtual std::string AuthorOf(std::int64_t sample) const = 0;
  // How many simulations take about as long as a sample with all that is done beside it.
  virtual double SimulationsOfSample() const = 0;
  // Those it did without: "m_sct: why", of each once.
  virtual std::vector<std::string> LeftOut() const = 0;
};

enum class AgentKind : std::uint8_t { kBaseline, kConstructive, kSearch, kLearner };

// What it brings into the process or starts beside it. Who starts a program that its settings name is asked for on the command
// line alone, never by a file (SECURITY.md).
enum class AgentOpens : std::uint8_t { kNothing, kLibrary, kProgram };

struct AgentRow {
  const char* name;
  const char* what;    // one line
  const char* source;  // paper or library
  SettingTable settings;
  AgentKind kind;
  std::unique_ptr<Agent> (*make)(const Settings& read);
  AgentOpens opens = AgentOpens::kNothing;
};
const std::vector<AgentRow>& Agents();
const AgentRow* FindAgent(const std::string& name);  // nullptr = there is none
// Whether it draws placements until the budget is spent; the others make one or a few, the same for every seed.
bool Samples(const AgentRow& row);

// The settings in force of an agent with parameters. Throws InputError for unknown names, listing the known ones, and as
// Settings does.
Settings AgentSettings(const std::string& spec);
// Throws as AgentSettings() does, and for a learner that this build lacks, saying why.
std::unique_ptr<Agent> MakeAgent(const std::string& spec);

}  // namespace stowplan::agents
