# SPDX-License-Identifier: Apache-2.0
# transmute::icu: spells out numbers and dates for the demo corpus. The system's only: its data is what the demo is
# made of, and it does not build with CMake.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::icu)
  return()
endif()

find_package(ICU 60 QUIET COMPONENTS i18n uc)
if(ICU_FOUND)
  transmute_provide(icu VERSION "${ICU_VERSION}" FROM system TARGETS ICU::i18n ICU::uc)
else()
  transmute_missing(icu NEEDS "ICU 60 or newer" DEBIAN libicu-dev FEDORA libicu-devel BREW icu4c
    HINT "Homebrew keeps it apart: -DICU_ROOT=\"$(brew --prefix icu4c)\".")
endif()
