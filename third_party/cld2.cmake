# SPDX-License-Identifier: Apache-2.0
# transmute::cld2: the Compact Language Detector 2, which tells `serve` what language a text is in. It has no version and
# no CMake configuration. Optional: without it there is no `serve`.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::cld2)
  return()
endif()

find_path(CLD2_INCLUDE_DIR cld2/public/compact_lang_det.h)
find_library(CLD2_LIBRARY cld2)
mark_as_advanced(CLD2_INCLUDE_DIR CLD2_LIBRARY)
if(CLD2_INCLUDE_DIR AND CLD2_LIBRARY)
  transmute_provide(cld2 VERSION 2 FROM system TARGETS "${CLD2_LIBRARY}")
  target_include_directories(transmute::cld2 SYSTEM INTERFACE "${CLD2_INCLUDE_DIR}")
else()
  transmute_missing(cld2 OPTIONAL NEEDS "the Compact Language Detector 2 for the program serve"
    DEBIAN libcld2-dev FEDORA cld2-devel)
endif()
