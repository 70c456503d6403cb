# SPDX-License-Identifier: Apache-2.0
# transmute::curl: downloads of `get`. Optional: without it there is no `get`.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::curl)
  return()
endif()

find_package(CURL 7.66 QUIET)
if(TARGET CURL::libcurl)
  transmute_provide(curl VERSION "${CURL_VERSION_STRING}" FROM system TARGETS CURL::libcurl)
else()
  transmute_missing(curl OPTIONAL NEEDS "libcurl 7.66 or newer for the program get"
    DEBIAN libcurl4-openssl-dev FEDORA libcurl-devel BREW curl)
endif()
