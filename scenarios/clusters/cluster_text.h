// Writing the file of a cluster of the table.
#pragma once

#include <string>
#include <string_view>

#include "sim/base/settings.h"

namespace stowplan::scenarios {

class ClusterText {
 public:
  // Up to the key `devices`, with what all clusters can be told. `what` is the comment at the top.
  ClusterText(const std::string& name, const std::string& what, const Settings& read,
              std::string_view why_order = "");

  // `why` becomes a comment behind the line.
  void Line(std::string_view line, std::string_view why = "");
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace stowplan::scenarios
