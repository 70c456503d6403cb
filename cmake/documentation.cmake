# SPDX-License-Identifier: Apache-2.0
# The API reference (target docs), manual pages and completions. The last two are made from what the programs print with
# --help, by the scripts in cmake/help.
include(GNUInstallDirs)

include("${PROJECT_SOURCE_DIR}/cmake/public_headers.cmake")

if(TRANSMUTE_IS_TOP_LEVEL)
  find_package(Doxygen QUIET)
endif()
if(TRANSMUTE_IS_TOP_LEVEL AND DOXYGEN_FOUND)
  set(TRANSMUTE_DOCS_FOLDER "${PROJECT_BINARY_DIR}/docs")
  set(_transmute_input ${TRANSMUTE_PUBLIC_HEADERS} docs/embedding_in_applications.md)
  list(TRANSFORM _transmute_input REPLACE "^.+$" "\"${PROJECT_SOURCE_DIR}/\\0\"")
  list(JOIN _transmute_input " " TRANSMUTE_DOCS_INPUT)
  configure_file("${PROJECT_SOURCE_DIR}/docs/Doxyfile.in" "${PROJECT_BINARY_DIR}/Doxyfile" @ONLY)
  add_custom_target(docs
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${TRANSMUTE_DOCS_FOLDER}"
    COMMAND Doxygen::doxygen "${PROJECT_BINARY_DIR}/Doxyfile"
    COMMENT "Making the API reference: ${TRANSMUTE_DOCS_FOLDER}/html/index.html" VERBATIM)
endif()

set(_transmute_programs_run ON)
if(CMAKE_CROSSCOMPILING OR TRANSMUTE_SANITIZE) # sanitizers also judge what LibTorch does when it starts
  set(_transmute_programs_run OFF)
endif()
option(TRANSMUTE_BUILD_HELP_FILES "Make manual pages and completions: the programs run while building"
  ${_transmute_programs_run})
if(NOT TRANSMUTE_BUILD_PROGRAMS OR NOT TRANSMUTE_BUILD_HELP_FILES)
  return()
endif()
find_program(TRANSMUTE_HELP2MAN help2man)
find_program(TRANSMUTE_AWK awk)
mark_as_advanced(TRANSMUTE_HELP2MAN TRANSMUTE_AWK)
if(NOT TRANSMUTE_AWK)
  return()
endif()

set(_transmute_help "${PROJECT_SOURCE_DIR}/cmake/help")
file(GLOB _transmute_help_scripts CONFIGURE_DEPENDS "${_transmute_help}/*")
set(_transmute_help_files "")

# _transmute_from_help(<target> <name> <file> <where it is installed> <command>...): a file made from a program's
# --help. The command gets the program, the name and the file.
function(_transmute_from_help program name file destination)
  set(output "${PROJECT_BINARY_DIR}/${file}")
  get_filename_component(folder "${output}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  add_custom_command(OUTPUT "${output}"
    COMMAND ${ARGN} "$<TARGET_FILE:${program}>" "${name}" "${output}"
    DEPENDS ${program} ${_transmute_help_scripts} COMMENT "" VERBATIM)
  set(component runtime)
  if("${program}" IN_LIST _transmute_torch_programs)
    set(component torch)
  endif()
  install(FILES "${output}" DESTINATION "${destination}" COMPONENT ${component})
  set(_transmute_help_files ${_transmute_help_files} "${output}" PARENT_SCOPE)
endfunction()

get_property(_transmute_programs GLOBAL PROPERTY TRANSMUTE_PROGRAMS)
get_property(_transmute_torch_programs GLOBAL PROPERTY TRANSMUTE_TORCH_PROGRAMS)
foreach(_transmute_program IN LISTS _transmute_programs _transmute_torch_programs ITEMS transmute_command)
  set(_transmute_name "${_transmute_program}")
  set(_transmute_installed "transmute-${_transmute_program}")
  if(_transmute_program STREQUAL "transmute_command")
    set(_transmute_name transmute)
    set(_transmute_installed transmute)
  endif()
  if(TRANSMUTE_HELP2MAN)
    _transmute_from_help(${_transmute_program} ${_transmute_installed} "man/${_transmute_installed}.1"
      "${CMAKE_INSTALL_MANDIR}/man1" "${_transmute_help}/make_man_page.sh" "${TRANSMUTE_HELP2MAN}" "${PROJECT_VERSION}")
  endif()
  _transmute_from_help(${_transmute_program} ${_transmute_name} "completions/bash/${_transmute_installed}"
    "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" "${_transmute_help}/make_completion.sh" bash)
  _transmute_from_help(${_transmute_program} ${_transmute_name} "completions/zsh/_${_transmute_installed}"
    "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" "${_transmute_help}/make_completion.sh" zsh)
endforeach()
add_custom_target(help_files ALL DEPENDS ${_transmute_help_files})
