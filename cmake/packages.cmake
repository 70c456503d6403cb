# SPDX-License-Identifier: Apache-2.0
# Debian packages, made by `cpack -G DEB` in the build folder: transmute (the programs and the shared library that
# translate, manual pages, completions), transmute-torch (what needs LibTorch: training, export, GPUs) and transmute-dev
# (headers, static libraries, what CMake and pkg-config need).
set(CPACK_PACKAGE_NAME transmute)
set(CPACK_PACKAGE_CONTACT "The transmute authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Transformer of 'Attention Is All You Need' on LibTorch")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_COMPONENTS_ALL runtime dev)
if(TRANSMUTE_WITH_TORCH)
  list(APPEND CPACK_COMPONENTS_ALL torch)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# Debian's zsh looks for the completions of packages elsewhere.
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/cmake/prepare_packages.cmake")

# One archive of the programs that translate, with what they need, which runs where the C library is not older:
# `cpack -G TGZ` in the build folder of -DTRANSMUTE_WITH_TORCH=OFF -DTRANSMUTE_PORTABLE=ON.
if(TRANSMUTE_PORTABLE)
  set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
  set(CPACK_COMPONENTS_ALL runtime)
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  set(CPACK_PACKAGING_INSTALL_PREFIX /)
endif()

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME transmute)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
# transmute-get checks servers' certificates.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "ca-certificates")
# The copy of SentencePiece that is installed beside the library belongs to no package yet.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_BINARY_DIR}/third_party")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION
  "Programs that translate, serve, score and evaluate with Transformer models,\nand the shared library.")

set(CPACK_DEBIAN_TORCH_PACKAGE_NAME transmute-torch)
set(CPACK_DEBIAN_TORCH_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TORCH_PACKAGE_SHLIBDEPS ON)
# Without OpenBLAS, LibTorch multiplies with the reference BLAS, ten times as slowly.
set(CPACK_DEBIAN_TORCH_PACKAGE_DEPENDS "transmute (= ${PROJECT_VERSION}), libopenblas0")
set(CPACK_COMPONENT_TORCH_DESCRIPTION
  "What transmute needs LibTorch for: programs that train and export models,\nand the shared library that runs them on GPUs.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME transmute-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "transmute (= ${PROJECT_VERSION})")
# For the components modules (LibTorch) and static (all).
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "transmute-torch, libtorch-dev, libsentencepiece-dev, libyaml-cpp-dev, libspdlog-dev, \
nlohmann-json3-dev, zlib1g-dev, libdeflate-dev, libmd4c-dev, libicu-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Headers, static libraries, and the files by which CMake and pkg-config find\ntransmute.")

include(CPack)
