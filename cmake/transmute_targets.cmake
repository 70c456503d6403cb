# SPDX-License-Identifier: Apache-2.0
# How this project's own targets are made.
include_guard(GLOBAL)

# Compilers run through ccache where it is installed; it needs the two allowances to work with precompiled headers.
find_program(TRANSMUTE_CCACHE ccache)
mark_as_advanced(TRANSMUTE_CCACHE)

# Each file that includes LibTorch costs the compiler two seconds before its first line, precompiled header or not.
option(TRANSMUTE_UNITY_BUILD "Compile source files eight at a time, which makes a full build much faster" ON)

# Position-independent programs are CMake's and Debian's default.
option(TRANSMUTE_HARDEN "Check buffers and containers at run time, and make relocations read-only" ON)

# Clang 19 and 22 warn of a deprecated function that libstdc++ 12 itself uses in std::stable_sort; Clang 14 does not.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS "-std=c++17 -Werror=deprecated-declarations")
  check_cxx_source_compiles("#include <algorithm>
    int main() { int numbers[] = {2, 1}; std::stable_sort(numbers, numbers + 2); return numbers[0] - 1; }"
    TRANSMUTE_STABLE_SORT_WARNS_OF_NOTHING)
  unset(CMAKE_REQUIRED_FLAGS)
endif()

# transmute_include_folder(<target> <access> [<folder>]): lets a target include the headers of a folder, the one that it
# is made in where none is named, and gives that to those who link it: a target sees its own folder, with what lies in
# it, and those of the libraries that it links. <transmute/model/attention.h> names the same file here, in an
# installation and in an application.
function(transmute_include_folder target access)
  set(folder ${ARGN})
  if(NOT folder)
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  endif()
  string(REPLACE "/" "_" root "${folder}")
  set(root "${PROJECT_BINARY_DIR}/include/${root}")
  get_filename_component(parent "${root}/transmute/${folder}" DIRECTORY)
  file(MAKE_DIRECTORY "${parent}")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${folder}" "${root}/transmute/${folder}" SYMBOLIC)
  target_include_directories(${target} ${access} "$<BUILD_INTERFACE:${root}>")
endfunction()

function(transmute_common_settings target)
  target_compile_features(${target} PUBLIC cxx_std_17)
  # Of the shared library, only what is marked TRANSMUTE_API can be linked.
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  set(gcc_or_clang "$<CXX_COMPILER_ID:GNU,Clang,AppleClang>")
  target_compile_options(${target} PRIVATE
    $<${gcc_or_clang}:-Wall> $<${gcc_or_clang}:-Wextra>
    $<$<AND:${gcc_or_clang},$<BOOL:${TRANSMUTE_WERROR}>>:-Werror>
    # Square roots and comparisons in loops are only vectorized where they need to set neither errno nor traps.
    $<${gcc_or_clang}:-fno-math-errno> $<${gcc_or_clang}:-fno-trapping-math>
    # GCC 12 warns of LibTorch's optional tensors without a reason.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND NOT TRANSMUTE_STABLE_SORT_WARNS_OF_NOTHING)
    target_compile_options(${target} PRIVATE -Wno-deprecated-declarations)
  endif()
  if(TRANSMUTE_HARDEN)
    target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
  endif()
  if(TRANSMUTE_HARDEN AND NOT TRANSMUTE_SANITIZE)
    target_compile_options(${target} PRIVATE $<${gcc_or_clang}:-fstack-protector-strong>)
    # Some systems' compilers define it themselves; without optimization it does nothing but warn.
    target_compile_options(${target} PRIVATE
      $<$<AND:${gcc_or_clang},$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>)
    if(UNIX AND NOT APPLE)
      target_link_options(${target} PRIVATE -Wl,-z,relro -Wl,-z,now)
    endif()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources files)
  if(files GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${TRANSMUTE_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE 8)
  endif()
  if(TRANSMUTE_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${TRANSMUTE_SANITIZE} -fno-omit-frame-pointer)
    if(TRANSMUTE_SANITIZE MATCHES undefined) # vptr wants type information that LibTorch keeps to itself
      target_compile_options(${target} PUBLIC -fno-sanitize=vptr -fno-sanitize-recover=undefined)
    endif()
    target_link_options(${target} PUBLIC -fsanitize=${TRANSMUTE_SANITIZE})
  endif()
  if(TRANSMUTE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${TRANSMUTE_CCACHE}")
    # Clang's would otherwise contain the times of its headers, of which CMake writes one anew in each build folder.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
      "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endfunction()

# transmute_library(<name> SOURCES <file>... LINKS <target>...): the library transmute_<name>.
function(transmute_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(transmute_${name} STATIC ${arg_SOURCES})
  transmute_include_folder(transmute_${name} PUBLIC)
  target_link_libraries(transmute_${name} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS})
  transmute_common_settings(transmute_${name})
endfunction()

# transmute_program(<name> SOURCES <file>... LINKS <target>...): a program that is installed as transmute-<name>: others
# are called convert or train too. In the build folder it also has the short name.
function(transmute_program name)
  transmute_executable(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME transmute-${name})
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND "${CMAKE_COMMAND}" -E create_symlink transmute-${name} "${PROJECT_BINARY_DIR}/bin/${name}" VERBATIM)
  set_property(GLOBAL APPEND PROPERTY TRANSMUTE_PROGRAMS ${name})
endfunction()

# transmute_torch_program(<name> …): the same for one that links LibTorch, which another package has.
function(transmute_torch_program name)
  transmute_program(${name} TORCH ${ARGN})
  get_property(programs GLOBAL PROPERTY TRANSMUTE_PROGRAMS)
  list(REMOVE_ITEM programs ${name})
  set_property(GLOBAL PROPERTY TRANSMUTE_PROGRAMS ${programs})
  set_property(GLOBAL APPEND PROPERTY TRANSMUTE_TORCH_PROGRAMS ${name})
endfunction()

# transmute_executable(<name> [TORCH] SOURCES <file>... LINKS <target>...): a program, or a binary of tests. TORCH: its
# sources include LibTorch.
function(transmute_executable name)
  cmake_parse_arguments(arg "TORCH" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  transmute_include_folder(${name} PRIVATE)
  target_link_libraries(${name} PRIVATE ${arg_LINKS})
  transmute_common_settings(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  if(arg_TORCH)
    transmute_precompile_torch(${name})
  else()
    transmute_compile_quickly(${name})
  endif()
endfunction()

# What takes time at run time is in the libraries; in programs and tests it is compiling.
function(transmute_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CXX_COMPILER_ID:GNU,Clang,AppleClang>,$<CONFIG:Release>>:-O1>)
endfunction()

# Parsing LibTorch's headers costs ten seconds a file: targets that include them share a precompiled copy, which has its
# level of optimization with it: GCC 12 keeps that one, GCC 14 refuses to mix them. Tests have copies of their own.
function(transmute_precompile_torch target)
  transmute_share_precompiled(${target} transmute_libtorch)
endfunction()

# transmute_share_precompiled(<target> <owner>): the target uses the precompiled header of the owner, a library.
function(transmute_share_precompiled target owner)
  target_precompile_headers(${target} REUSE_FROM ${owner})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE") # the copy was made with -fPIC, which an executable's -fPIE would not fit
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()
