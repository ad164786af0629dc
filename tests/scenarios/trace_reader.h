// The importer of traces as the fuzz target and the test of damaged files call it.
#pragma once

#include <string>

#include "scenarios/importers/trace.h"
#include "sim/base/error.h"
#include "sim/formats/formats.h"

namespace stowplan::scenarios {

// Whether it was read: an InputError is fine, anything else that escapes is a finding, and so is a graph that is printed and
// not read again the same. `kineto` empty: the execution trace alone.
inline bool ReadDamagedTrace(const std::string& execution, const std::string& kineto) {
  try {
    const ImportedGraph imported =
        ImportTracePair(execution, "execution", kineto, {.kineto = kineto.empty() ? "" : "kineto"});
    const std::string text = formats::PrintGraph(imported.graph);
    STOWPLAN_CHECK_EQ(formats::PrintGraph(formats::ParseGraph(text, "printed")), text);
    return true;
  } catch (const InputError& error) {
    STOWPLAN_CHECK(*error.what() != '\0');
    return false;
  }
}

}  // namespace stowplan::scenarios
