# SPDX-License-Identifier: Apache-2.0
# transmute::torch: LibTorch 1.13 or newer, the one that CMAKE_PREFIX_PATH names, else the system's.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::torch)
  return()
endif()

# This file is included, not called, at the top folder's scope: LibTorch's configuration of a CUDA build enables a
# language. Its running commentary is silenced, its warnings and errors are not.
set(_transmute_log_level "${CMAKE_MESSAGE_LOG_LEVEL}")
set(CMAKE_MESSAGE_LOG_LEVEL WARNING)
# A wheel's configuration looks for its libraries and for Caffe2 by their names, in the system's folders first. Where
# these have a LibTorch, too, programs would be linked with both: the wheel's own folder comes first.
set(_transmute_library_path "${CMAKE_LIBRARY_PATH}")
foreach(_transmute_folder IN LISTS Torch_DIR CMAKE_PREFIX_PATH) # …/torch/share/cmake/Torch, …/torch/share/cmake
  foreach(_transmute_up IN ITEMS ../../.. ../..)
    get_filename_component(_transmute_prefix "${_transmute_folder}/${_transmute_up}" ABSOLUTE)
    if(EXISTS "${_transmute_prefix}/lib/libc10.so" AND EXISTS "${_transmute_prefix}/share/cmake/Torch")
      list(PREPEND CMAKE_LIBRARY_PATH "${_transmute_prefix}/lib")
      set(Caffe2_DIR "${_transmute_prefix}/share/cmake/Caffe2")
    endif()
  endforeach()
endforeach()
find_package(Torch 1.13 CONFIG QUIET)
set(CMAKE_LIBRARY_PATH "${_transmute_library_path}")
set(CMAKE_MESSAGE_LOG_LEVEL "${_transmute_log_level}")

set(_transmute_torch_REASON "")
if(NOT Torch_FOUND AND CMAKE_SYSTEM_NAME STREQUAL "Linux" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  transmute_populate(libtorch _transmute_torch # 2.5.1, CPU, C++11 ABI
    URL "https://download.pytorch.org/libtorch/cpu/libtorch-cxx11-abi-shared-with-deps-2.5.1%2Bcpu.zip"
    URL_HASH SHA256=618ca54eef82a1dca46ff1993d5807d9c0deb0bae147da4974166a147cb562fa)
  if(_transmute_torch)
    set(CMAKE_MESSAGE_LOG_LEVEL WARNING)
    find_package(Torch 1.13 CONFIG QUIET PATHS "${_transmute_torch}" NO_DEFAULT_PATH)
    set(CMAKE_MESSAGE_LOG_LEVEL "${_transmute_log_level}")
  endif()
endif()

if(NOT Torch_FOUND)
  transmute_missing(torch REASON "${_transmute_torch_REASON}" NEEDS "LibTorch 1.13 or newer"
    DEBIAN libtorch-dev FEDORA python3-torch-devel BREW pytorch
    HINT "A LibTorch that Python's torch brought along is named by\n\
  -DCMAKE_PREFIX_PATH=\"$(python3 -c 'import torch; print(torch.utils.cmake_prefix_path)')\"")
  return()
endif()

# The old string ABI cannot be mixed with SentencePiece, yaml-cpp and the others, which are built with the new one.
if(TORCH_CXX_FLAGS MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
  message(FATAL_ERROR "The LibTorch at ${TORCH_INSTALL_PREFIX} was built with the old C++ string ABI \
(${TORCH_CXX_FLAGS}), which transmute's other dependencies do not use. Name a build with the C++11 ABI: LibTorch's \
cxx11-abi download, Debian's libtorch-dev, or a Python torch of 2.7 or newer.")
endif()

set(_transmute_torch_from "system, CPU")
if(TARGET torch_cuda)
  set(_transmute_torch_from "system, CUDA")
endif()
if(FETCHCONTENT_BASE_DIR)
  string(FIND "${Torch_DIR}" "${FETCHCONTENT_BASE_DIR}/" _transmute_at)
  if(_transmute_at EQUAL 0)
    set(_transmute_torch_from "fetched, CPU")
  endif()
endif()
transmute_provide(torch VERSION "${Torch_VERSION}" FROM "${_transmute_torch_from} (${Torch_DIR})"
  TARGETS ${TORCH_LIBRARIES})
target_include_directories(transmute::torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
if(TORCH_CXX_FLAGS)
  separate_arguments(_transmute_torch_flags NATIVE_COMMAND "${TORCH_CXX_FLAGS}")
  target_compile_options(transmute::torch INTERFACE ${_transmute_torch_flags})
endif()

# Python's wheels also bring along a part of libstdc++ that they were linked with, std::filesystem::remove_all among it,
# which calls address 0 outside of them. The system's libstdc++ must be asked first.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT CMAKE_CXX_FLAGS MATCHES "-stdlib=libc\\+\\+")
  target_link_options(transmute::torch INTERFACE "LINKER:--push-state,--no-as-needed,-lstdc++,--pop-state")
endif()

# A wheel's libraries need those of the wheels beside it. The linker must be told where they are, or it takes those of
# the CUDA toolkit, whose NCCL can be older.
file(GLOB TRANSMUTE_TORCH_LINK_OPTIONS "${TORCH_INSTALL_PREFIX}/../nvidia/*/lib")
list(TRANSFORM TRANSMUTE_TORCH_LINK_OPTIONS PREPEND "-Wl,-rpath-link,")
target_link_options(transmute::torch INTERFACE ${TRANSMUTE_TORCH_LINK_OPTIONS})

# Wheels also bring along the headers of an fmt, which come before the system's; what spdlog is linked with must come
# first. -I comes before every -isystem.
foreach(_transmute_folder IN LISTS TORCH_INCLUDE_DIRS)
  if(NOT _transmute_folder MATCHES "^/usr/include(/|$)" AND EXISTS "${_transmute_folder}/fmt/core.h")
    find_package(fmt CONFIG QUIET)
    if(TARGET fmt::fmt)
      get_target_property(_transmute_fmt fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
      file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/fmt_of_spdlog")
      file(CREATE_LINK "${_transmute_fmt}/fmt" "${CMAKE_BINARY_DIR}/fmt_of_spdlog/fmt" SYMBOLIC)
      target_compile_options(transmute::torch INTERFACE "-I${CMAKE_BINARY_DIR}/fmt_of_spdlog")
    endif()
  endif()
endforeach()

# What a check of check_cxx_source_compiles needs to use LibTorch: its files and its C++. Its targets do not do: those of
# a CUDA build name an alias (protobuf::libprotobuf), which CMake does not carry over into the project of a check.
set(TRANSMUTE_TORCH_CHECK_INCLUDES ${TORCH_INCLUDE_DIRS} ${CUDA_INCLUDE_DIRS} ${CUDAToolkit_INCLUDE_DIRS})
set(TRANSMUTE_TORCH_CHECK_LIBRARIES "")
set(TRANSMUTE_TORCH_CHECK_FLAGS "-std=c++17 -O0")
get_target_property(_transmute_features torch INTERFACE_COMPILE_FEATURES)
if("cxx_std_20" IN_LIST _transmute_features)
  set(TRANSMUTE_TORCH_CHECK_FLAGS "-std=c++20 -O0")
endif()
foreach(_transmute_library IN ITEMS torch torch_cpu torch_cuda c10 c10_cuda)
  if(TARGET ${_transmute_library})
    get_target_property(_transmute_file ${_transmute_library} LOCATION)
    list(APPEND TRANSMUTE_TORCH_CHECK_LIBRARIES "${_transmute_file}")
  endif()
endforeach()
