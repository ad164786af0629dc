# Run at build time by stowplan_revision(): writes OUTPUT if its content changed.
find_program(GIT git)
set(revision unknown)
set(dirty false)
if(GIT)
  execute_process(COMMAND ${GIT} rev-parse --short=12 HEAD WORKING_DIRECTORY ${SOURCE_DIR}
                  OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(revision ${head})
    # results/ is what the program writes: a table that was just made does not make its own revision dirty.
    execute_process(COMMAND ${GIT} status --porcelain -- . :!results WORKING_DIRECTORY ${SOURCE_DIR}
                    OUTPUT_VARIABLE changes ERROR_QUIET)
    if(NOT changes STREQUAL "")
      set(dirty true)
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT
"#pragma once
#define STOWPLAN_VERSION \"${VERSION}\"
#define STOWPLAN_REVISION \"${revision}\"
#define STOWPLAN_DIRTY ${dirty}
")
