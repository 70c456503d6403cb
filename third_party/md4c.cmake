# SPDX-License-Identifier: Apache-2.0
# transmute::md4c: finds the words of Markdown. The CMake configuration of Debian's package wants the library that renders
# HTML too, so pkg-config's is asked.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::md4c)
  return()
endif()

find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(TRANSMUTE_PC_MD4C QUIET md4c)
endif()
find_path(MD4C_INCLUDE_DIR md4c.h HINTS ${TRANSMUTE_PC_MD4C_INCLUDE_DIRS})
find_library(MD4C_LIBRARY md4c HINTS ${TRANSMUTE_PC_MD4C_LIBRARY_DIRS})
mark_as_advanced(MD4C_INCLUDE_DIR MD4C_LIBRARY)
if(MD4C_INCLUDE_DIR AND MD4C_LIBRARY)
  transmute_provide(md4c VERSION "${TRANSMUTE_PC_MD4C_VERSION}" FROM system TARGETS "${MD4C_LIBRARY}")
  target_include_directories(transmute::md4c SYSTEM INTERFACE "${MD4C_INCLUDE_DIR}")
  return()
endif()

transmute_populate(md4c _transmute_source GIT_REPOSITORY https://github.com/mity/md4c.git
  GIT_TAG 729e6b8b320caa96328968ab27d7db2235e4fb47) # 0.5.2
if(_transmute_source)
  transmute_add_fetched("${_transmute_source}" SETTINGS BUILD_MD2HTML_EXECUTABLE=OFF)
  transmute_provide(md4c VERSION 0.5.2 FROM fetched TARGETS md4c)
  target_include_directories(transmute::md4c SYSTEM INTERFACE "${_transmute_source}/src")
else()
  transmute_missing(md4c REASON "${_transmute_source_REASON}" NEEDS "MD4C 0.4.4 or newer"
    DEBIAN libmd4c-dev FEDORA md4c-devel BREW md4c)
endif()
