# stowplan_portable(program): the target `portable`, part of every build of that preset. It collects the program and the
# shared libraries it needs in one folder, stowplan-portable/, that runs wherever it is copied to, given the
# machine's own C library (REQUIRES.txt in the folder says from which version on). stowplan-profile, its CPU plug-in and, where it is built, its
# CUDA plug-in come along; CUDA's own libraries do not, they belong to the machine's driver and toolkit.
function(stowplan_portable program)
  set(extra $<TARGET_FILE:stowplan_profile> $<TARGET_FILE:stowplan_cpu_plugin>)
  set_target_properties(stowplan_profile stowplan_cpu_plugin PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/lib")
  target_link_options(stowplan_cpu_plugin PRIVATE -Wl,--disable-new-dtags)
  if(TARGET stowplan_cuda)
    list(APPEND extra $<TARGET_FILE:stowplan_cuda> $<TARGET_FILE:stowplan_injection>)
  endif()
  # DT_RPATH, not DT_RUNPATH: the libraries in the folder look for each other through the program's path.
  set_target_properties(${program} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/lib")
  target_link_options(${program} PRIVATE -Wl,--disable-new-dtags)
  set(folder ${CMAKE_BINARY_DIR}/stowplan-portable)
  add_custom_command(OUTPUT ${folder}/REQUIRES.txt
    COMMAND ${CMAKE_COMMAND} -D PROGRAM=$<TARGET_FILE:${program}> -D FOLDER=${folder} "-D EXTRA=${extra}"
            -D STRIP=${CMAKE_STRIP} -D OBJDUMP=${CMAKE_OBJDUMP} -P ${CMAKE_SOURCE_DIR}/cmake/CollectPortable.cmake
    DEPENDS ${program} stowplan_profile ${extra} ${CMAKE_SOURCE_DIR}/cmake/CollectPortable.cmake
    COMMENT "Collecting ${folder}" VERBATIM)
  add_custom_target(portable ALL DEPENDS ${folder}/REQUIRES.txt)
  add_test(NAME portable/moved
           COMMAND ${CMAKE_SOURCE_DIR}/tests/portable/moved_folder.sh ${folder})
endfunction()
