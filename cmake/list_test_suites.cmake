# SPDX-License-Identifier: Apache-2.0
# Writes the CTest tests of a binary of GoogleTests, one for each of its suites. Run after the binary is linked, with
# -DBINARY=, -DPREFIX= (of the tests' names), -DLABEL=, -DTIMEOUT= (seconds) and -DOUTPUT=.
cmake_minimum_required(VERSION 3.20...3.31)

execute_process(COMMAND "${BINARY}" --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE status ERROR_VARIABLE errors)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${BINARY} --gtest_list_tests failed: ${errors}")
endif()
string(REGEX MATCHALL "\n[A-Za-z0-9_/]+\\.[ \t\n]" suites "\n${listed}")
set(tests "")
foreach(suite IN LISTS suites)
  string(REGEX MATCH "[A-Za-z0-9_/]+" suite "${suite}")
  set(name "${PREFIX}.${suite}")
  string(APPEND tests "add_test([==[${name}]==] [==[${BINARY}]==] [==[--gtest_filter=${suite}.*]==])\n"
    "set_tests_properties([==[${name}]==] PROPERTIES LABELS ${LABEL} TIMEOUT ${TIMEOUT})\n")
endforeach()
if(NOT tests)
  message(FATAL_ERROR "${BINARY} has no tests")
endif()
file(WRITE "${OUTPUT}" "${tests}")
