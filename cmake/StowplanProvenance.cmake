# stowplan_revision(target): stowplan_revision.h with version, commit and dirty flag for the one source that includes it.
# Looked up at every build; rewritten, and that source rebuilt, only when it changed.
function(stowplan_revision target)
  set(directory ${CMAKE_BINARY_DIR}/generated)
  if(NOT TARGET stowplan_revision_header)
    add_custom_target(stowplan_revision_header
      COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${CMAKE_SOURCE_DIR} -D OUTPUT=${directory}/stowplan_revision.h
              -D VERSION=${PROJECT_VERSION} -P ${CMAKE_SOURCE_DIR}/cmake/WriteRevision.cmake
      BYPRODUCTS ${directory}/stowplan_revision.h
      COMMENT "" VERBATIM)
  endif()
  add_dependencies(${target} stowplan_revision_header)
  target_include_directories(${target} PRIVATE ${directory})
endfunction()

# stowplan_interface(target): stowplan_interface.h with a digest of the headers, the compiler and its options that the program
# and its plug-ins must have in common. Looked up at every build; rewritten only when it changed.
function(stowplan_interface target)
  set(directory ${CMAKE_BINARY_DIR}/generated)
  if(NOT TARGET stowplan_interface_header)
    get_directory_property(options DIRECTORY ${CMAKE_SOURCE_DIR} COMPILE_OPTIONS)
    string(SHA256 compiler "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${CMAKE_CXX_FLAGS} ${options}")
    add_custom_target(stowplan_interface_header
      COMMAND ${CMAKE_COMMAND} -D SOURCE_DIR=${CMAKE_SOURCE_DIR} -D OUTPUT=${directory}/stowplan_interface.h
              -D COMPILER=${compiler} -P ${CMAKE_SOURCE_DIR}/cmake/WriteInterface.cmake
      BYPRODUCTS ${directory}/stowplan_interface.h
      COMMENT "" VERBATIM)
  endif()
  add_dependencies(${target} stowplan_interface_header)
  target_include_directories(${target} PRIVATE ${directory})
endfunction()
