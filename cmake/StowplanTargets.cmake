include(GNUInstallDirs)  # the libraries' include folder, before the first of them is declared

# stowplan_library(name SOURCES glob… LINK target…): the library of one folder, as stowplan::name.
function(stowplan_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_SOURCE_DIR}/)
  file(GLOB sources CONFIGURE_DEPENDS ${ARG_SOURCES})
  if(sources)
    add_library(stowplan_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(stowplan_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(stowplan_${name} ${scope} $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>
                             $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/stowplan>)
  target_compile_features(stowplan_${name} ${scope} cxx_std_20)
  target_link_libraries(stowplan_${name} ${scope} ${ARG_LINK})
  add_library(stowplan::${name} ALIAS stowplan_${name})
endfunction()

# stowplan_tests(folder LINK target…): one test program from tests/<folder>/*_test.cpp and its helpers.
function(stowplan_tests folder)
  cmake_parse_arguments(ARG "ONE_ENTRY" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${folder}/*.cpp)
  if(NOT sources)
    return()
  endif()
  string(REPLACE "/" "_" program test_${folder})
  add_executable(${program} ${sources})
  target_link_libraries(${program} PRIVATE ${ARG_LINK} rapidcheck rapidcheck_gtest GTest::gmock GTest::gtest_main)
  # What is tested is optimised in full; optimising the tests too would double the time to build them.
  target_compile_options(${program} PRIVATE $<$<CONFIG:Release>:-O1>)
  target_compile_definitions(${program} PRIVATE STOWPLAN_SOURCE_DIR="${CMAKE_SOURCE_DIR}" STOWPLAN_BINARY_DIR="${CMAKE_BINARY_DIR}")
  if(ARG_ONE_ENTRY)
    # Starting torch costs a third of a second, so its tests run in one process, the longest: it starts first.
    add_test(NAME ${folder} COMMAND ${program})
    set_tests_properties(${folder} PROPERTIES COST 200)
  else()
    gtest_discover_tests(${program} TEST_PREFIX ${folder}/ DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 600)
  endif()
endfunction()
