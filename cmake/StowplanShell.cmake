# Manual pages and completions, printed by the program itself: share/man/man1, and where bash, zsh and fish look for theirs.
include(GNUInstallDirs)
set(shell_files ${CMAKE_BINARY_DIR}/share)
set(bash ${shell_files}/bash-completion/completions)
set(zsh ${shell_files}/zsh/site-functions)
set(fish ${shell_files}/fish/vendor_completions.d)
add_custom_command(OUTPUT ${shell_files}/stamp
  COMMAND ${CMAKE_COMMAND} -E make_directory ${bash} ${zsh} ${fish}
  COMMAND $<TARGET_FILE:stowplan_program> man --out ${shell_files}/man/man1
  COMMAND $<TARGET_FILE:stowplan_program> completion bash > ${bash}/stowplan
  COMMAND $<TARGET_FILE:stowplan_program> completion zsh > ${zsh}/_stowplan
  COMMAND $<TARGET_FILE:stowplan_program> completion fish > ${fish}/stowplan.fish
  COMMAND ${CMAKE_COMMAND} -E touch ${shell_files}/stamp
  DEPENDS stowplan_program
  COMMENT "Manual pages and completions")
add_custom_target(stowplan_shell_files ALL DEPENDS ${shell_files}/stamp)
install(DIRECTORY ${shell_files}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
install(DIRECTORY ${shell_files}/bash-completion ${shell_files}/zsh ${shell_files}/fish
        DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT program)
