# SPDX-License-Identifier: Apache-2.0
# transmute::zlib: reads gzipped corpora.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::zlib)
  return()
endif()

find_package(ZLIB 1.2.8 QUIET)
if(ZLIB_FOUND)
  set(_transmute_version "${ZLIB_VERSION}")
  if(NOT _transmute_version)
    set(_transmute_version "${ZLIB_VERSION_STRING}") # before CMake 3.26
  endif()
  transmute_provide(zlib VERSION "${_transmute_version}" FROM system TARGETS ZLIB::ZLIB)
  return()
endif()

transmute_populate(zlib _transmute_source GIT_REPOSITORY https://github.com/madler/zlib.git
  GIT_TAG 51b7f2abdade71cd9bb0e7a373ef2610ec6f9daf) # 1.3.1
if(_transmute_source)
  transmute_add_fetched("${_transmute_source}" SETTINGS ZLIB_BUILD_EXAMPLES=OFF SKIP_INSTALL_ALL=ON)
  transmute_provide(zlib VERSION 1.3.1 FROM fetched TARGETS zlibstatic)
else()
  transmute_missing(zlib REASON "${_transmute_source_REASON}" NEEDS "zlib 1.2.8 or newer"
    DEBIAN zlib1g-dev FEDORA zlib-devel BREW zlib)
endif()
