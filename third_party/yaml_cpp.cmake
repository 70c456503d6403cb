# SPDX-License-Identifier: Apache-2.0
# transmute::yaml_cpp: reads the configuration files. Up to 0.7 its target is yaml-cpp, later yaml-cpp::yaml-cpp.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::yaml_cpp)
  return()
endif()

find_package(yaml-cpp 0.6 CONFIG QUIET)
if(yaml-cpp_FOUND)
  set(_transmute_target yaml-cpp::yaml-cpp)
  if(NOT TARGET yaml-cpp::yaml-cpp)
    set(_transmute_target yaml-cpp)
  endif()
  transmute_provide(yaml_cpp VERSION "${yaml-cpp_VERSION}" FROM system TARGETS ${_transmute_target})
  return()
endif()

transmute_populate(yaml-cpp _transmute_source GIT_REPOSITORY https://github.com/jbeder/yaml-cpp.git
  GIT_TAG 56e3bb550c91fd7005566f19c079cb7a503223cf) # 0.9.0
if(_transmute_source)
  transmute_add_fetched("${_transmute_source}" SETTINGS YAML_CPP_BUILD_TOOLS=OFF YAML_CPP_BUILD_TESTS=OFF
    YAML_CPP_INSTALL=OFF YAML_CPP_FORMAT_SOURCE=OFF YAML_BUILD_SHARED_LIBS=OFF)
  transmute_provide(yaml_cpp VERSION 0.9.0 FROM fetched TARGETS yaml-cpp::yaml-cpp)
else()
  transmute_missing(yaml_cpp REASON "${_transmute_source_REASON}" NEEDS "yaml-cpp 0.6 or newer"
    DEBIAN libyaml-cpp-dev FEDORA yaml-cpp-devel BREW yaml-cpp)
endif()
