# Libraries that stowplan's own link, as imported targets stowplan::<name>: the build makes them here, a program that uses an
# installed stowplan from its copy of this file.

# stowplan_find(name HEADER header [LIBRARIES library…] [STATIC]): of a library that ships neither a CMake config nor a pkg-config file.
# STATIC: the static one where there is one.
function(stowplan_find name)
  cmake_parse_arguments(ARG "STATIC" "HEADER" "LIBRARIES" ${ARGN})
  if(TARGET stowplan::${name})
    return()
  endif()
  find_path(STOWPLAN_${name}_INCLUDE ${ARG_HEADER} PATH_SUFFIXES ${name} REQUIRED)
  add_library(stowplan::${name} INTERFACE IMPORTED)
  target_include_directories(stowplan::${name} SYSTEM INTERFACE ${STOWPLAN_${name}_INCLUDE})
  foreach(library ${ARG_LIBRARIES})
    set(names ${library})
    if(ARG_STATIC)
      list(PREPEND names lib${library}.a)
    endif()
    find_library(STOWPLAN_${name}_${library} NAMES ${names} REQUIRED)
    target_link_libraries(stowplan::${name} INTERFACE ${STOWPLAN_${name}_${library}})
  endforeach()
endfunction()

# After find_package(Protobuf) and find_package(ONNX), in this order: the targets of ONNX name Protobuf's but do not look for it.
macro(stowplan_make_onnx)
  stowplan_find(onnx HEADER onnx/onnx_pb.h)  # ONNX_INCLUDE_DIRS of Debian names a folder that is not there
  target_include_directories(stowplan::onnx SYSTEM INTERFACE ${Protobuf_INCLUDE_DIRS})
  target_link_libraries(stowplan::onnx INTERFACE onnx)
endmacro()

# Into the programs themselves where it can be: stowplan-profile must run where nobody installed them.
# Not yaml-cpp where sanitizers are: unoptimised code of a plug-in needs parts of it that were not compiled with -fPIC.
if(STOWPLAN_SANITIZE)
  stowplan_find(yaml HEADER yaml-cpp/yaml.h LIBRARIES yaml-cpp)
else()
  stowplan_find(yaml HEADER yaml-cpp/yaml.h LIBRARIES yaml-cpp STATIC)
endif()
stowplan_find(zstd HEADER zstd.h LIBRARIES zstd STATIC)
stowplan_find(zlib HEADER zlib.h LIBRARIES z)  # the static one is no code for plug-ins; every system has the other
stowplan_find(scotch HEADER scotch.h LIBRARIES scotch scotcherr)  # not scotcherrexit: that one ends the process on an error
stowplan_find(metis HEADER metis.h LIBRARIES metis)
