// What the clusters of the table share: the choices every one offers, and writing the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/spec.h"

namespace stowplan::scenarios {

// ---- what the user chooses on every cluster ---------------------------------------------------------------

enum class IssueOrder : std::uint8_t { kReady, kProgram };

struct ClusterChoices {
  int gpus;
  std::string interconnect;
  std::string host;   // a thread of its own for each device, or one for the process
  std::string order;  // of issue
};

struct GpuCount {
  int if_not_given;
  int most = 8;
};

ClusterChoices ReadChoices(ParameterReader& read, GpuCount gpus, IssueOrder order);
void FinishReading(const Spec& spec, ParameterReader& read);

// ---- the file ---------------------------------------------------------------------------------------------

class ClusterText {
 public:
  // Up to the key `devices`. `what` is the comment at the top.
  ClusterText(const std::string& name, const std::string& what, const ClusterChoices& choices,
              std::string_view why_order = "");

  // `why` becomes a comment behind the line.
  void Line(std::string_view line, std::string_view why = "");
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace stowplan::scenarios
