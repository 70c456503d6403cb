# SPDX-License-Identifier: Apache-2.0
# The target `installation` builds what cmake --install installs, and no tests. From a build that lacks some of it,
# cmake --install fails before it writes anything: half an installation would be worse than none.
set(_transmute_built transmute transmute_static)
set(_transmute_runtime_files "$<TARGET_FILE:transmute>")
if(TRANSMUTE_BUILD_PROGRAMS)
  get_property(_transmute_programs GLOBAL PROPERTY TRANSMUTE_PROGRAMS)
  foreach(_transmute_program IN LISTS _transmute_programs ITEMS transmute_command)
    list(APPEND _transmute_runtime_files "$<TARGET_FILE:${_transmute_program}>")
  endforeach()
  list(APPEND _transmute_built programs)
endif()
if(TARGET help_files)
  list(APPEND _transmute_built help_files)
  list(APPEND _transmute_runtime_files ${_transmute_help_files})
endif()
add_custom_target(installation)
add_dependencies(installation ${_transmute_built})

file(GENERATE OUTPUT "${TRANSMUTE_INSTALLATION_CHECK}" CONTENT
"set(files \"${_transmute_runtime_files}\")
if(NOT CMAKE_INSTALL_COMPONENT STREQUAL \"runtime\")
  list(APPEND files \"$<TARGET_FILE:transmute_static>\")
endif()
foreach(file IN LISTS files)
  if(NOT EXISTS \"\${file}\")
    message(FATAL_ERROR \"\${file} has not been built, so nothing was installed. First run:
  cmake --build \\\"${PROJECT_BINARY_DIR}\\\" --target installation\")
  endif()
endforeach()
")
