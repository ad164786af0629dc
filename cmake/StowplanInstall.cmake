# `cmake --install`, the package that find_package(stowplan) finds, and `cpack -G DEB`.
#
#   bin/stowplan, bin/stowplan-profile
#   lib/stowplan/                     the plug-ins, where the programs look for them: ../lib/stowplan
#   lib/libstowplan_*.a, include/stowplan/, lib/cmake/stowplan/      for programs of one's own (component development)
#   share/doc/stowplan/               licences, changes, the pages of docs/
#
# Nothing in it names the place where it was built or installed, so the tree can be moved.
include(CMakePackageConfigHelpers)
set(plugins lib/stowplan)  # not CMAKE_INSTALL_LIBDIR: the way from the program to its plug-ins is fixed
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/stowplan)

# The contracts. What they include comes along, and no other header.
set(contracts
  sim/simulator.h sim/analysis/explain.h sim/hardware.h sim/base/spec.h sim/base/error.h sim/formats/formats.h
  scenarios/scenarios.h scenarios/clusters/framework.h scenarios/builder/graph_builder.h
  cost_models/cost_models.h cost_models/parameters/parameters.h cost_models/calibration/calibration.h profiler/traces/recording_stream.h
  agents/agent.h agents/bounds/bounds.h agents/plugin.h agents/groupers/groupers.h)
set(libraries sim formats profiler cost_models scenarios agents)

# stowplan_with_includes(out header…): the headers and all headers of stowplan that they include.
function(stowplan_with_includes out)
  set(found ${ARGN})
  set(open ${ARGN})
  while(open)
    list(POP_FRONT open header)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${header})
    file(STRINGS ${CMAKE_SOURCE_DIR}/${header} lines REGEX "^#include \"")
    foreach(line ${lines})
      string(REGEX REPLACE "^#include \"(.*)\".*" "\\1" included ${line})
      if(NOT included IN_LIST found)
        list(APPEND found ${included})
        list(APPEND open ${included})
      endif()
    endforeach()
  endwhile()
  set(${out} ${found} PARENT_SCOPE)
endfunction()
stowplan_with_includes(headers ${contracts})

install(TARGETS stowplan_program stowplan_profile RUNTIME COMPONENT program)
foreach(plugin stowplan_cpu_plugin stowplan_rl stowplan_mpi stowplan_cuda stowplan_injection)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION ${plugins} COMPONENT program)
  endif()
endforeach()

foreach(library ${libraries})
  set_target_properties(stowplan_${library} PROPERTIES EXPORT_NAME ${library})
  install(TARGETS stowplan_${library} EXPORT stowplan ARCHIVE COMPONENT development)
endforeach()
target_compile_definitions(stowplan_agents INTERFACE "$<INSTALL_INTERFACE:STOWPLAN_PLUGIN_FOLDER=\"$<INSTALL_PREFIX>/${plugins}\">")
foreach(header ${headers})
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stowplan/${folder} COMPONENT development)
endforeach()
configure_package_config_file(cmake/stowplanConfig.cmake.in ${CMAKE_BINARY_DIR}/stowplanConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/stowplanConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT stowplan NAMESPACE stowplan:: FILE stowplanTargets.cmake DESTINATION ${package} COMPONENT development)
install(FILES ${CMAKE_BINARY_DIR}/stowplanConfig.cmake ${CMAKE_BINARY_DIR}/stowplanConfigVersion.cmake cmake/StowplanThirdParty.cmake
        DESTINATION ${package} COMPONENT development)

install(FILES LICENSE NOTICE THIRD_PARTY_NOTICES.md CITATION.cff CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
file(GLOB licences RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/output/data/vendor/*.LICENSE)
foreach(licence ${licences})
  cmake_path(GET licence PARENT_PATH folder)
  install(FILES ${licence} DESTINATION ${CMAKE_INSTALL_DOCDIR}/${folder} COMPONENT program)
endforeach()

# ---- Debian packages: stowplan and stowplan-dev -------------------------------------------------------------------------------
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "The stowplan authors")
set(CPACK_PACKAGE_CONTACT "The stowplan authors <maintainers@stowplan.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME stowplan)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION
"An event-driven simulator of heterogeneous machines, the published reinforcement-learning agents for device placement,
classical searches, and the tables of their papers.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
# Opened at run time, so that no tool sees them: the solver of m_sct, and the BLAS without which learners are 4 to 15 times slower.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "coinor-libclp1, libopenblas0-openmp")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS openmpi-bin)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME stowplan-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
"For programs of one's own on the simulator and the agents: static libraries, headers and CMake's package.")
set(development_depends "stowplan (= ${PROJECT_VERSION})" libfmt-dev libyaml-cpp-dev libzstd-dev zlib1g-dev libscotch-dev libmetis-dev)
if(STOWPLAN_WITH_TBB)
  list(APPEND development_depends libtbb-dev)
endif()
if(STOWPLAN_WITH_ONNX)
  list(APPEND development_depends libonnx-dev libprotobuf-dev)
endif()
list(JOIN development_depends ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
include(CPack)
