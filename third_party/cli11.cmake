# SPDX-License-Identifier: Apache-2.0
# transmute::cli11: parses the programs' command lines.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::cli11)
  return()
endif()

find_package(CLI11 2.1 CONFIG QUIET)
if(CLI11_FOUND)
  transmute_provide(cli11 VERSION "${CLI11_VERSION}" FROM system TARGETS CLI11::CLI11)
  return()
endif()

transmute_populate(cli11 _transmute_source GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git
  GIT_TAG 4160d259d961cd393fd8d67590a8c7d210207348) # 2.5.0
if(_transmute_source)
  transmute_add_fetched("${_transmute_source}" SETTINGS CLI11_PRECOMPILED=OFF)
  transmute_provide(cli11 VERSION 2.5.0 FROM fetched TARGETS CLI11::CLI11)
else()
  transmute_missing(cli11 REASON "${_transmute_source_REASON}" NEEDS "CLI11 2.1 or newer"
    DEBIAN libcli11-dev FEDORA cli11-devel BREW cli11)
endif()
