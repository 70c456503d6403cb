# SPDX-License-Identifier: Apache-2.0
# transmute::spdlog: logging. Formatting comes with it: include <spdlog/fmt/fmt.h>, which is the system's fmt or the
# copy inside spdlog, as spdlog itself was built.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::spdlog)
  return()
endif()

find_package(spdlog 1.8 CONFIG QUIET)
if(spdlog_FOUND)
  transmute_provide(spdlog VERSION "${spdlog_VERSION}" FROM system TARGETS spdlog::spdlog)
  return()
endif()

transmute_populate(spdlog _transmute_source GIT_REPOSITORY https://github.com/gabime/spdlog.git
  GIT_TAG 6fa36017cfd5731d617e1a934f0e5ea9c4445b13) # 1.15.3
if(_transmute_source)
  transmute_add_fetched("${_transmute_source}" SETTINGS SPDLOG_BUILD_SHARED=OFF SPDLOG_BUILD_PIC=ON
    SPDLOG_FMT_EXTERNAL=OFF)
  transmute_provide(spdlog VERSION 1.15.3 FROM fetched TARGETS spdlog::spdlog)
else()
  transmute_missing(spdlog REASON "${_transmute_source_REASON}" NEEDS "spdlog 1.8 or newer"
    DEBIAN libspdlog-dev FEDORA spdlog-devel BREW spdlog)
endif()
