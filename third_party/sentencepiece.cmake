# SPDX-License-Identifier: Apache-2.0
# transmute::sentencepiece: the processor and the trainer. SentencePiece installs no CMake configuration, only
# pkg-config's, which tells the version and where to look.
include("${CMAKE_CURRENT_LIST_DIR}/helpers.cmake")
if(TARGET transmute::sentencepiece)
  return()
endif()

find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(TRANSMUTE_PC_SENTENCEPIECE QUIET sentencepiece)
endif()
find_path(SENTENCEPIECE_INCLUDE_DIR sentencepiece_trainer.h HINTS ${TRANSMUTE_PC_SENTENCEPIECE_INCLUDE_DIRS})
find_library(SENTENCEPIECE_LIBRARY sentencepiece HINTS ${TRANSMUTE_PC_SENTENCEPIECE_LIBRARY_DIRS})
find_library(SENTENCEPIECE_TRAIN_LIBRARY sentencepiece_train HINTS ${TRANSMUTE_PC_SENTENCEPIECE_LIBRARY_DIRS})
mark_as_advanced(SENTENCEPIECE_INCLUDE_DIR SENTENCEPIECE_LIBRARY SENTENCEPIECE_TRAIN_LIBRARY)

option(TRANSMUTE_PLAIN_SENTENCEPIECE "Link the installed SentencePiece as it is: where it shares no symbols with LibTorch"
  OFF)

# transmute_private_copy(<library> <result>)
# Debian's SentencePiece 0.1.97 carries Protocol Buffers 3.14 inside and shows its symbols to the whole program.
# Debian's LibTorch loads libprotobuf 3.21. In one program each takes some of the other's functions, and it crashes
# before main or at the first model. So the program links a copy, made here, in which the C++ namespace google is
# called hNogle. The names keep their length and their hash in the symbol table (33 'g' + 'o' = 33 'h' + 'N'), so
# nothing else in the file changes.
# Every SentencePiece has an object FLAGS_minloglevel, and LibTorch 2.x without glog an int of that name: where the
# int's place is taken for the object's, the object overwrites what lies behind it. The copy's is FLAGS_minmNglevel.
# <result> becomes an imported target, or <library> itself where no copy is needed. Within find_package the target is
# the copy that was installed with transmute, if there is one.
function(transmute_private_copy library result)
  set(${result} "${library}" PARENT_SCOPE)
  if(TRANSMUTE_PLAIN_SENTENCEPIECE OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT library MATCHES "\\.so")
    return()
  endif()
  file(REAL_PATH "${library}" original)
  file(STRINGS "${original}" carries_protobuf REGEX "6google8protobuf" LIMIT_COUNT 1)
  file(STRINGS "${original}" links_protobuf REGEX "^libprotobuf" LIMIT_COUNT 1)
  file(STRINGS "${original}" carries_flag REGEX "FLAGS_minloglevel" LIMIT_COUNT 1)
  set(changes "")
  if(carries_protobuf AND NOT links_protobuf)
    list(APPEND changes -e "s/6google8protobuf/6hNogle8protobuf/g")
  endif()
  if(carries_flag)
    list(APPEND changes -e "s/FLAGS_minloglevel/FLAGS_minmNglevel/g")
  endif()
  if(NOT changes)
    return()
  endif()

  get_filename_component(name "${library}" NAME_WE) # libsentencepiece or libsentencepiece_train
  file(STRINGS "${original}" soname REGEX "^${name}\\.so[.0-9]*$" LIMIT_COUNT 1)
  string(REPLACE libsentencepiece libtransmute_spm soname "${soname}")
  set(folder "${CMAKE_BINARY_DIR}/third_party")
  set(copy "${folder}/${soname}")
  get_filename_component(installed "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../${soname}" ABSOLUTE)
  if(CMAKE_FIND_PACKAGE_NAME AND soname AND EXISTS "${installed}")
    set(copy "${installed}")
  elseif("${original}" IS_NEWER_THAN "${copy}" OR "${CMAKE_CURRENT_FUNCTION_LIST_FILE}" IS_NEWER_THAN "${copy}")
    file(MAKE_DIRECTORY "${folder}")
    execute_process(
      COMMAND "${CMAKE_COMMAND}" -E env LC_ALL=C sed ${changes}
        -e "s/libsentencepiece[.]so/libtransmute_spm.so/g"
        -e "s/libsentencepiece_train[.]so/libtransmute_spm_train.so/g"
      INPUT_FILE "${original}" OUTPUT_FILE "${copy}" RESULT_VARIABLE status)
    file(SIZE "${original}" original_bytes)
    file(SIZE "${copy}" copied_bytes)
    if(NOT status EQUAL 0 OR NOT soname OR NOT original_bytes EQUAL copied_bytes)
      file(REMOVE "${copy}")
      message(FATAL_ERROR "Could not make a private copy of ${original}, which cannot share a program with LibTorch. \
Is sed installed? Otherwise -DCMAKE_DISABLE_FIND_PACKAGE_SentencePiece=ON fetches SentencePiece instead.")
    endif()
  endif()

  string(REPLACE libsentencepiece transmute::spm target "${name}")
  transmute_imported(${target} SHARED)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${copy}" IMPORTED_SONAME "${soname}")
  if(NOT CMAKE_FIND_PACKAGE_NAME)
    include(GNUInstallDirs)
    install(FILES "${copy}" DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime)
  endif()
  set(${result} ${target} PARENT_SCOPE)
endfunction()

if(SENTENCEPIECE_INCLUDE_DIR AND SENTENCEPIECE_LIBRARY AND SENTENCEPIECE_TRAIN_LIBRARY
   AND NOT CMAKE_DISABLE_FIND_PACKAGE_SentencePiece)
  set(_transmute_version "${TRANSMUTE_PC_SENTENCEPIECE_VERSION}")
  if(NOT _transmute_version)
    set(_transmute_version "unknown")
  endif()
  transmute_private_copy("${SENTENCEPIECE_LIBRARY}" _transmute_processor)
  transmute_private_copy("${SENTENCEPIECE_TRAIN_LIBRARY}" _transmute_trainer)
  set(_transmute_from system)
  if(TARGET "${_transmute_processor}")
    set(_transmute_from "system (a private copy, some of whose names LibTorch has too)")
  endif()
  transmute_provide(sentencepiece VERSION "${_transmute_version}" FROM "${_transmute_from}"
    TARGETS "${_transmute_trainer}" "${_transmute_processor}")
  target_include_directories(transmute::sentencepiece SYSTEM INTERFACE "${SENTENCEPIECE_INCLUDE_DIR}")
  return()
endif()

transmute_populate(sentencepiece _transmute_source GIT_REPOSITORY https://github.com/google/sentencepiece.git
  GIT_TAG 17d7580d6407802f85855d2cc9190634e2c95624) # 0.2.0
if(_transmute_source)
  # Hidden symbols: it carries its own Protocol Buffers, which must not stand in for LibTorch's.
  transmute_add_fetched("${_transmute_source}" SETTINGS SPM_ENABLE_SHARED=OFF SPM_ENABLE_TCMALLOC=OFF
    SPM_BUILD_TEST=OFF CMAKE_CXX_VISIBILITY_PRESET=hidden CMAKE_VISIBILITY_INLINES_HIDDEN=ON)
  set(_transmute_headers "${FETCHCONTENT_BASE_DIR}/sentencepiece-include")
  file(COPY "${_transmute_source}/src/sentencepiece_processor.h" "${_transmute_source}/src/sentencepiece_trainer.h"
    DESTINATION "${_transmute_headers}")
  transmute_provide(sentencepiece VERSION 0.2.0 FROM fetched TARGETS sentencepiece_train-static sentencepiece-static)
  target_include_directories(transmute::sentencepiece SYSTEM INTERFACE "${_transmute_headers}")
else()
  transmute_missing(sentencepiece REASON "${_transmute_source_REASON}" NEEDS "SentencePiece 0.1.96 or newer"
    DEBIAN libsentencepiece-dev FEDORA sentencepiece-devel BREW sentencepiece)
endif()
