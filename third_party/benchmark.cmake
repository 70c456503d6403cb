# SPDX-License-Identifier: Apache-2.0
# transmute::benchmark: Google Benchmark, for the micro-benchmarks. Without it they are left out.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::benchmark)
  return()
endif()

find_package(benchmark 1.6 CONFIG QUIET)
if(benchmark_FOUND)
  transmute_provide(benchmark VERSION "${benchmark_VERSION}" FROM system TARGETS benchmark::benchmark)
  return()
endif()

transmute_populate(benchmark _transmute_source GIT_REPOSITORY https://github.com/google/benchmark.git
  GIT_TAG eddb0241389718a23a42db6af5f0164b6e0139af) # 1.9.4
if(_transmute_source)
  transmute_add_fetched("${_transmute_source}" SETTINGS BENCHMARK_ENABLE_TESTING=OFF BENCHMARK_ENABLE_GTEST_TESTS=OFF
    BENCHMARK_ENABLE_INSTALL=OFF BENCHMARK_INSTALL_DOCS=OFF BENCHMARK_ENABLE_WERROR=OFF)
  transmute_provide(benchmark VERSION 1.9.4 FROM fetched TARGETS benchmark::benchmark)
else()
  transmute_missing(benchmark OPTIONAL REASON "${_transmute_source_REASON}" NEEDS "Google Benchmark 1.6 or newer"
    DEBIAN libbenchmark-dev FEDORA google-benchmark-devel BREW google-benchmark
    HINT "The benchmarks are left out.")
endif()
