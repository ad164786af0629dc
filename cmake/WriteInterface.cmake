# Run at build time by stowplan_interface(): writes OUTPUT if its content changed.
file(GLOB headers ${SOURCE_DIR}/sim/*.h ${SOURCE_DIR}/sim/base/*.h ${SOURCE_DIR}/sim/analysis/*.h ${SOURCE_DIR}/sim/screen/screen.h
     ${SOURCE_DIR}/agents/*.h ${SOURCE_DIR}/agents/bounds/*.h ${SOURCE_DIR}/agents/classical/*.h ${SOURCE_DIR}/agents/groupers/*.h
     ${SOURCE_DIR}/agents/search/*.h ${SOURCE_DIR}/profiler/*.h ${SOURCE_DIR}/profiler/traces/*.h ${SOURCE_DIR}/profiler/executor/*.h)
list(SORT headers)
set(text "${COMPILER}")
foreach(header ${headers})
  file(SHA256 ${header} hash)
  string(APPEND text "\n${hash}")
endforeach()
string(SHA256 all "${text}")
string(SUBSTRING ${all} 0 12 interface)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT
"#pragma once
#define STOWPLAN_INTERFACE \"${interface}\"
")
