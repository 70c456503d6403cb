# SPDX-License-Identifier: Apache-2.0
# transmute::gtest_main: GoogleTest with GoogleMock and a main, for the tests.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::gtest_main)
  return()
endif()

find_package(GTest 1.11 CONFIG QUIET)
if(GTest_FOUND AND TARGET GTest::gmock) # a GoogleTest may be installed without GoogleMock
  transmute_provide(gtest_main VERSION "${GTest_VERSION}" FROM system
    TARGETS GTest::gmock GTest::gtest_main GTest::gtest)
  return()
endif()

transmute_populate(googletest _transmute_source GIT_REPOSITORY https://github.com/google/googletest.git
  GIT_TAG 52eb8108c5bdec04579160ae17225d66034bd723) # 1.17.0
if(_transmute_source)
  transmute_add_fetched("${_transmute_source}" SETTINGS BUILD_GMOCK=ON INSTALL_GTEST=OFF)
  transmute_provide(gtest_main VERSION 1.17.0 FROM fetched TARGETS gmock gtest_main gtest)
else()
  transmute_missing(gtest_main REASON "${_transmute_source_REASON}" NEEDS "GoogleTest 1.11 or newer, with GoogleMock"
    DEBIAN "libgtest-dev libgmock-dev" FEDORA "gtest-devel gmock-devel" BREW googletest
    HINT "Or build without the tests: -DTRANSMUTE_BUILD_TESTS=OFF.")
endif()
