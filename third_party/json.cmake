# SPDX-License-Identifier: Apache-2.0
# transmute::json: writes metrics and metadata.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::json)
  return()
endif()

find_package(nlohmann_json 3.9 CONFIG QUIET)
if(nlohmann_json_FOUND)
  transmute_provide(json VERSION "${nlohmann_json_VERSION}" FROM system TARGETS nlohmann_json::nlohmann_json)
  return()
endif()

transmute_populate(nlohmann_json _transmute_source # 3.11.3: the release archive, as the repository is large
  URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
  URL_HASH SHA256=d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d)
if(_transmute_source)
  transmute_add_fetched("${_transmute_source}" SETTINGS JSON_BuildTests=OFF JSON_Install=OFF)
  transmute_provide(json VERSION 3.11.3 FROM fetched TARGETS nlohmann_json::nlohmann_json)
else()
  transmute_missing(json REASON "${_transmute_source_REASON}" NEEDS "nlohmann/json 3.9 or newer"
    DEBIAN nlohmann-json3-dev FEDORA json-devel BREW nlohmann-json)
endif()
