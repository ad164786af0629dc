// Which build a plug-in belongs to. Program and plug-in share classes, so both must come from the same headers, compiler and
// options; a text in the plug-in's file says which (STOWPLAN_INTERFACE of the generated stowplan_interface.h). It is read
// before the file is opened as a library: opening runs what the plug-in does at its start.
#pragma once

#include <string>

#define STOWPLAN_INTERFACE_MARK "stowplan plug-in interface "

// Once in a plug-in, at file scope; `interface`: STOWPLAN_INTERFACE.
#define STOWPLAN_EXPORT_INTERFACE(interface)                                                       \
  extern "C" __attribute__((visibility("default"), used)) const char stowplan_plugin_interface[] = \
      STOWPLAN_INTERFACE_MARK interface

namespace stowplan {

// `what` it is, for messages: "the learning agents". Throws RunError where the file cannot be read or is no plug-in of
// stowplan, InputError where it is one of another interface.
void CheckPlugin(const std::string& path, const std::string& what, const std::string& interface);

}  // namespace stowplan
