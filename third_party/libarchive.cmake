# SPDX-License-Identifier: Apache-2.0
# transmute::archive: archives that `get` downloads. Optional: without it there is no `get`.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::archive)
  return()
endif()

find_package(LibArchive 3.4 QUIET)
if(TARGET LibArchive::LibArchive)
  transmute_provide(archive VERSION "${LibArchive_VERSION}" FROM system TARGETS LibArchive::LibArchive)
else()
  transmute_missing(archive OPTIONAL NEEDS "libarchive 3.4 or newer for the program get"
    DEBIAN libarchive-dev FEDORA libarchive-devel BREW libarchive)
endif()
