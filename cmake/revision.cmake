# SPDX-License-Identifier: Apache-2.0
# cmake -DOUTPUT=<file.h> -DFOLDER=<source tree> -P revision.cmake
# Writes what git says of the source tree, and only where it is not what the file says already.
cmake_minimum_required(VERSION 3.20)
set(revision "")
find_program(git git)
if(git AND EXISTS "${FOLDER}/.git")
  execute_process(COMMAND "${git}" -C "${FOLDER}" describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "#define TRANSMUTE_REVISION \"@revision@\"\n" @ONLY)
