# SPDX-License-Identifier: Apache-2.0
# transmute::libdeflate: checksums, several times faster than zlib's, and packed documents. Releases before 1.15 have no
# CMake configuration, so pkg-config's is asked.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::libdeflate)
  return()
endif()

find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(TRANSMUTE_PC_LIBDEFLATE QUIET libdeflate)
endif()
find_path(LIBDEFLATE_INCLUDE_DIR libdeflate.h HINTS ${TRANSMUTE_PC_LIBDEFLATE_INCLUDE_DIRS})
find_library(LIBDEFLATE_LIBRARY deflate HINTS ${TRANSMUTE_PC_LIBDEFLATE_LIBRARY_DIRS})
mark_as_advanced(LIBDEFLATE_INCLUDE_DIR LIBDEFLATE_LIBRARY)
if(LIBDEFLATE_INCLUDE_DIR AND LIBDEFLATE_LIBRARY)
  file(STRINGS "${LIBDEFLATE_INCLUDE_DIR}/libdeflate.h" _transmute_version REGEX "LIBDEFLATE_VERSION_STRING")
  string(REGEX MATCH "[0-9.]+" _transmute_version "${_transmute_version}")
  transmute_provide(libdeflate VERSION "${_transmute_version}" FROM system TARGETS "${LIBDEFLATE_LIBRARY}")
  target_include_directories(transmute::libdeflate SYSTEM INTERFACE "${LIBDEFLATE_INCLUDE_DIR}")
  return()
endif()

transmute_populate(libdeflate _transmute_source GIT_REPOSITORY https://github.com/ebiggers/libdeflate.git
  GIT_TAG 96836d7d9d10e3e0d53e6edb54eb908514e336c4) # 1.24
if(_transmute_source)
  transmute_add_fetched("${_transmute_source}" SETTINGS LIBDEFLATE_BUILD_SHARED_LIB=OFF LIBDEFLATE_BUILD_GZIP=OFF)
  transmute_provide(libdeflate VERSION 1.24 FROM fetched TARGETS libdeflate_static)
else()
  transmute_missing(libdeflate REASON "${_transmute_source_REASON}" NEEDS "libdeflate 1.0 or newer"
    DEBIAN libdeflate-dev FEDORA libdeflate-devel BREW libdeflate)
endif()
