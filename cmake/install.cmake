# SPDX-License-Identifier: Apache-2.0
# What an application gets: the library that translates (transmute) and, where this is built with LibTorch, the one that
# has everything (transmute_torch), shared and static, with the headers, the programs, and the files by which CMake and
# pkg-config find them. Three components, each a Debian package (cmake/packages.cmake): runtime, torch and dev.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(_transmute_parts common tokenizer metrics network simd cpu_kernels text checks documents formats foreign search engine
  translation)
list(TRANSFORM _transmute_parts PREPEND transmute_)
set(_transmute_dependencies transmute::sentencepiece transmute::yaml_cpp transmute::spdlog transmute::json
  transmute::zlib transmute::libdeflate transmute::md4c transmute::icu)

# transmute_installed_library(<name> <type> OUTPUT <name of the file> PARTS <target>... LINKS <target>...): a library of
# the parts' objects.
function(transmute_installed_library name type)
  cmake_parse_arguments(arg "" "OUTPUT" "PARTS;LINKS" ${ARGN})
  add_library(${name} ${type})
  foreach(part IN LISTS arg_PARTS)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${part}>)
  endforeach()
  target_link_libraries(${name} PRIVATE ${arg_LINKS} ${_transmute_dependencies} ${CMAKE_DL_LIBS})
  target_compile_features(${name} INTERFACE cxx_std_17)
  target_include_directories(${name} INTERFACE "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
    "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include/public>")
  if(TRANSMUTE_SANITIZE)
    target_link_options(${name} PUBLIC -fsanitize=${TRANSMUTE_SANITIZE})
  endif()
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${arg_OUTPUT} LINKER_LANGUAGE CXX
    # While the version is 0.x, each minor one may break the binary interface.
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON)
endfunction()

transmute_installed_library(transmute SHARED OUTPUT transmute PARTS ${_transmute_parts})
transmute_installed_library(transmute_static STATIC OUTPUT transmute PARTS ${_transmute_parts})
set_target_properties(transmute_static PROPERTIES EXPORT_NAME static)
add_library(transmute::transmute ALIAS transmute)
install(TARGETS transmute EXPORT transmuteSharedTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT dev)
install(TARGETS transmute_static EXPORT transmuteStaticTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev)

if(TRANSMUTE_WITH_TORCH)
  set(_transmute_torch_parts libtorch autograd model device export parallel_text training_data training_distributed
    training_optimization training_reporting training)
  if(TARGET torch_cuda)
    list(APPEND _transmute_torch_parts cuda_kernels)
  endif()
  list(TRANSFORM _transmute_torch_parts PREPEND transmute_)
  # It has the parts of the other library too, and calls its own: programs load it beside theirs.
  transmute_installed_library(transmute_torch SHARED OUTPUT transmute_torch
    PARTS ${_transmute_parts} ${_transmute_torch_parts} LINKS transmute::torch)
  target_link_options(transmute_torch PRIVATE "LINKER:-Bsymbolic")
  transmute_installed_library(transmute_torch_static STATIC OUTPUT transmute_torch
    PARTS ${_transmute_torch_parts} LINKS transmute_static transmute::torch)
  target_link_options(transmute_torch_static INTERFACE "LINKER:-u,transmute_device_backend")
  set_target_properties(transmute_torch PROPERTIES EXPORT_NAME torch_shared)
  set_target_properties(transmute_torch_static PROPERTIES EXPORT_NAME torch_static)
  install(TARGETS transmute_torch EXPORT transmuteTorchTargets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT torch NAMELINK_COMPONENT dev)
  install(TARGETS transmute_torch_static EXPORT transmuteTorchStaticTargets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT dev)
endif()

# For an application that adds this project to its own with add_subdirectory.
function(transmute_link_public_header header name)
  set(link "${PROJECT_BINARY_DIR}/include/public/${name}")
  get_filename_component(folder "${link}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${header}" "${link}" SYMBOLIC)
endfunction()
include("${PROJECT_SOURCE_DIR}/cmake/public_headers.cmake")
foreach(header IN LISTS TRANSMUTE_PUBLIC_HEADERS TRANSMUTE_INCLUDED_HEADERS)
  get_filename_component(folder "${header}" DIRECTORY)
  if(NOT header STREQUAL translation/transmute.h) # C's is <transmute.h>
    transmute_link_public_header("${header}" "transmute/${header}")
    install(FILES "${PROJECT_SOURCE_DIR}/${header}"
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/transmute/${folder}" COMPONENT dev)
  endif()
endforeach()
transmute_link_public_header(translation/transmute.h transmute.h)
install(FILES "${PROJECT_SOURCE_DIR}/translation/transmute.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)

if(TRANSMUTE_BUILD_PROGRAMS)
  get_property(_transmute_programs GLOBAL PROPERTY TRANSMUTE_PROGRAMS)
  get_property(_transmute_torch_programs GLOBAL PROPERTY TRANSMUTE_TORCH_PROGRAMS)
  list(APPEND _transmute_programs transmute_command)
  file(RELATIVE_PATH _transmute_libraries "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
  # They find transmute_torch here, or where they are installed, when they need it.
  set_target_properties(${_transmute_programs} ${_transmute_torch_programs} PROPERTIES
    BUILD_RPATH "${PROJECT_BINARY_DIR}"
    INSTALL_RPATH "$ORIGIN/${_transmute_libraries}" INSTALL_RPATH_USE_LINK_PATH ON)
  set(_transmute_dependency_set "")
  if(TRANSMUTE_PORTABLE)
    set(_transmute_dependency_set RUNTIME_DEPENDENCY_SET transmute_needs)
  endif()
  install(TARGETS ${_transmute_programs} ${_transmute_dependency_set}
    RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
  if(TRANSMUTE_PORTABLE)
    # Libraries that other libraries need are found by the programs' RPATH, and not by their RUNPATH.
    foreach(program IN LISTS _transmute_programs)
      target_link_options(${program} PRIVATE "LINKER:--disable-new-dtags")
    endforeach()
    set_target_properties(${_transmute_programs} PROPERTIES INSTALL_RPATH_USE_LINK_PATH OFF)
    # The C library's own, which fit no other version of it. libgssapi, a need of libcurl's, links libresolv.
    install(RUNTIME_DEPENDENCY_SET transmute_needs
      PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv)\\.so"
      LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime)
  endif()
  if(_transmute_torch_programs)
    install(TARGETS ${_transmute_torch_programs} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT torch)
  endif()
endif()

set(_transmute_package "${CMAKE_INSTALL_LIBDIR}/cmake/transmute")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/transmuteConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/transmuteConfig.cmake" INSTALL_DESTINATION "${_transmute_package}"
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/transmuteConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/transmuteConfig.cmake" "${PROJECT_BINARY_DIR}/transmuteConfigVersion.cmake"
  DESTINATION "${_transmute_package}" COMPONENT dev)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/third_party" DESTINATION "${_transmute_package}" COMPONENT dev
  FILES_MATCHING PATTERN "*.cmake")
install(EXPORT transmuteSharedTargets NAMESPACE transmute:: DESTINATION "${_transmute_package}" COMPONENT dev)
install(EXPORT transmuteStaticTargets NAMESPACE transmute:: DESTINATION "${_transmute_package}" COMPONENT dev)
if(TRANSMUTE_WITH_TORCH)
  install(EXPORT transmuteTorchTargets NAMESPACE transmute:: DESTINATION "${_transmute_package}" COMPONENT dev)
  install(EXPORT transmuteTorchStaticTargets NAMESPACE transmute:: DESTINATION "${_transmute_package}" COMPONENT dev)
endif()

file(RELATIVE_PATH TRANSMUTE_PREFIX_FROM_PC "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
file(RELATIVE_PATH TRANSMUTE_INCLUDES_FROM_PC "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
configure_file("${PROJECT_SOURCE_DIR}/cmake/transmute.pc.in" "${PROJECT_BINARY_DIR}/transmute.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/transmute.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT dev)

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/transmute" COMPONENT runtime
  RENAME copyright)
# In the repository's layout, so that links between the pages work.
install(FILES "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${PROJECT_SOURCE_DIR}/SECURITY.md"
  "${PROJECT_SOURCE_DIR}/CONTRIBUTING.md" "${PROJECT_SOURCE_DIR}/CITATION.cff" "${PROJECT_SOURCE_DIR}/LICENSE"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/transmute" COMPONENT runtime)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" "${PROJECT_SOURCE_DIR}/configs" "${PROJECT_SOURCE_DIR}/deploy"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/transmute" COMPONENT runtime PATTERN "Doxyfile.in" EXCLUDE)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/tests/consumer"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/transmute/tests" COMPONENT runtime)
foreach(linked IN ITEMS third_party/README.md translation/transmute.h search/next_token_constraint.h
    examples/parsing/tree_constraint.cpp)
  get_filename_component(folder "${linked}" DIRECTORY)
  install(FILES "${PROJECT_SOURCE_DIR}/${linked}"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/transmute/${folder}" COMPONENT runtime)
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/export" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/transmute" COMPONENT runtime FILES_MATCHING PATTERN "*.py")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/transmute-dev" COMPONENT dev
  RENAME copyright)
