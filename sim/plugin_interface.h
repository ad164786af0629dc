// Which build a plug-in belongs to. Program and plug-in share classes, so both must come from the same headers, compiler and
// options; a text in the plug-in's file says which (BERTH_INTERFACE of the generated berth_interface.h). It is read
// before the file is opened as a library: opening runs what the plug-in does at its start.
#pragma once

#include <string>

#define BERTH_INTERFACE_MARK "berth plug-in interface "

// Once in a plug-in, at file scope; `interface`: BERTH_INTERFACE.
#define BERTH_EXPORT_INTERFACE(interface)                                                       \
  extern "C" __attribute__((visibility("default"), used)) const char berth_plugin_interface[] = \
      BERTH_INTERFACE_MARK interface

namespace berth {

// `what` it is, for messages: "the learning agents". Throws RunError where the file cannot be read or is no plug-in of
// berth, InputError where it is one of another interface.
void CheckPlugin(const std::string& path, const std::string& what, const std::string& interface);

}  // namespace berth
