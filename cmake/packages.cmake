# SPDX-License-Identifier: Apache-2.0
# Debian packages, made by `cpack -G DEB` in the build folder: transmute (programs, shared library, manual pages,
# completions) and transmute-dev (headers, static library, what CMake and pkg-config need).
set(CPACK_PACKAGE_NAME transmute)
set(CPACK_PACKAGE_CONTACT "The transmute authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Transformer of 'Attention Is All You Need' on LibTorch")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_COMPONENTS_ALL runtime dev)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Debian's zsh looks for the completions of packages elsewhere.
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/prepare_packages.cmake")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME transmute)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
# Without OpenBLAS, LibTorch multiplies with the reference BLAS, ten times as slowly.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS libopenblas0)
# The copy of SentencePiece that is installed beside the library belongs to no package yet.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_BINARY_DIR}/third_party")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
  "Programs that train, translate, score, evaluate and export Transformer models,\nand the shared library.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME transmute-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "transmute (= ${PROJECT_VERSION})")
# For the components modules (LibTorch) and static (all).
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "libtorch-dev, libsentencepiece-dev, libyaml-cpp-dev, libspdlog-dev, \
nlohmann-json3-dev, zlib1g-dev, libdeflate-dev, libicu-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Headers, the static library, and the files by which CMake and pkg-config find\ntransmute.")

include(CPack)
