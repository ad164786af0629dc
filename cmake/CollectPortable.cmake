# Run at build time by stowplan_portable(): PROGRAM, the libraries it needs and EXTRA, which needs no other
# libraries than these and the machine's own, into FOLDER, made anew.
#
# The C library and its parts stay out: they fit the running machine's kernel and its loader, whose path is fixed in the
# program. Everything else comes along, libstdc++ and libgcc_s too.
set(core "^(ld-linux[^/]*|libc|libm|libpthread|libdl|librt|libresolv|libutil)\\.so")

file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${PROGRAM} RESOLVED_DEPENDENCIES_VAR libraries
     UNRESOLVED_DEPENDENCIES_VAR unresolved PRE_EXCLUDE_REGEXES ${core})
if(unresolved)
  message(FATAL_ERROR "these libraries of ${PROGRAM} are not on this machine: ${unresolved}")
endif()

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER}/lib)
file(COPY ${PROGRAM} ${EXTRA} DESTINATION ${FOLDER})
set(files "")
foreach(library ${libraries})
  file(REAL_PATH ${library} real)
  cmake_path(GET library FILENAME name)
  file(COPY_FILE ${real} ${FOLDER}/lib/${name})
  list(APPEND files lib/${name})
endforeach()
list(SORT files)
cmake_path(GET PROGRAM FILENAME program)
set(programs ${program})
foreach(path ${EXTRA})
  cmake_path(GET path FILENAME name)
  list(APPEND programs ${name})
endforeach()
foreach(name ${programs})
  execute_process(COMMAND ${STRIP} ${FOLDER}/${name} COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# The newest versioned symbol of the C library that any of the files asks for.
set(needed 0)
foreach(file ${programs} ${files})
  execute_process(COMMAND ${OBJDUMP} -T ${FOLDER}/${file} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "GLIBC_[0-9.]+" versions "${symbols}")
  list(REMOVE_DUPLICATES versions)
  foreach(version ${versions})
    string(REPLACE "GLIBC_" "" version ${version})
    if(version VERSION_GREATER needed)
      set(needed ${version})
    endif()
  endforeach()
endforeach()

string(REPLACE ";" "\n  " listing "${programs};${files}")
cmake_host_system_information(RESULT platform QUERY OS_PLATFORM)
file(WRITE ${FOLDER}/REQUIRES.txt
"stowplan and the libraries it needs. Copy the whole folder anywhere and run ./${program}; nothing is installed.

Requires: Linux on ${platform} with the GNU C library ${needed} or newer (ldd --version says).
Left out: the learning agents (libtorch) and the import of ONNX models; they are refused with that reason.
Of CUDA nothing comes along: stowplan-profile finds the machine's driver, cuBLAS, cuDNN and CUPTI, or says what is missing.

  ${listing}
")
message(STATUS "${FOLDER}: needs glibc ${needed}")
