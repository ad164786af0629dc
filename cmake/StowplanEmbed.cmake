# stowplan_embed(target function file…): compiles text files into a target. Declares in generated/<function>.h
#   std::string_view <function>(std::string_view name);   // the file's text by its name without folder; empty if absent
function(stowplan_embed target function)
  set(rows "")
  foreach(path ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${path})
    file(READ ${CMAKE_SOURCE_DIR}/${path} text)
    cmake_path(GET path FILENAME name)
    string(APPEND rows "    {\"${name}\", R\"~~~(${text})~~~\"},\n")
  endforeach()
  set(directory ${CMAKE_BINARY_DIR}/generated)
  file(CONFIGURE OUTPUT ${directory}/${function}.h @ONLY CONTENT
"#pragma once
#include <string_view>
std::string_view @function@(std::string_view name);
")
  file(CONFIGURE OUTPUT ${directory}/${function}.cpp @ONLY CONTENT
"#include \"@function@.h\"
#include <utility>
std::string_view @function@(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> kFiles[] = {
@rows@  };
  for (const auto& [file, text] : kFiles) {
    if (file == name) return text;
  }
  return {};
}
")
  target_sources(${target} PRIVATE ${directory}/${function}.cpp)
  target_include_directories(${target} PRIVATE ${directory})
endfunction()
