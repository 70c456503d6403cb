# SPDX-License-Identifier: Apache-2.0
# transmute::boost: Beast and Asio, HTTP for `serve`. Headers only. Optional: without it there is no `serve`.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::boost)
  return()
endif()

find_package(Boost 1.74 QUIET)
if(Boost_FOUND)
  transmute_provide(boost VERSION "${Boost_VERSION_STRING}" FROM system TARGETS Boost::headers)
else()
  transmute_missing(boost OPTIONAL NEEDS "Boost 1.74 or newer (Beast and Asio) for the program serve"
    DEBIAN libboost-dev FEDORA boost-devel BREW boost)
endif()
