# SPDX-License-Identifier: Apache-2.0
# transmute::crypto: SHA-256 of the API keys of `serve` and of what `get` downloads. Optional: without it there is
# neither.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::crypto)
  return()
endif()

find_package(OpenSSL 1.1.1 QUIET)
if(TARGET OpenSSL::Crypto)
  transmute_provide(crypto VERSION "${OPENSSL_VERSION}" FROM system TARGETS OpenSSL::Crypto)
else()
  transmute_missing(crypto OPTIONAL NEEDS "OpenSSL 1.1.1 or newer (libcrypto) for the programs serve and get"
    DEBIAN libssl-dev FEDORA openssl-devel BREW openssl)
endif()
