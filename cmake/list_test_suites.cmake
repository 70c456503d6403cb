# SPDX-License-Identifier: Apache-2.0
# Writes the CTest tests of a binary of GoogleTests, each of -DSUITES= suites. Run after the binary is linked, with
# -DBINARY=, -DPREFIX= (of the tests' names), -DLABEL=, -DTIMEOUT= (seconds) and -DOUTPUT=.
cmake_minimum_required(VERSION 3.20...3.31)

execute_process(COMMAND "${BINARY}" --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE status ERROR_VARIABLE errors)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${BINARY} --gtest_list_tests failed: ${errors}")
endif()
string(REGEX MATCHALL "\n[A-Za-z0-9_/]+\\.[ \t\n]" suites "\n${listed}")
list(TRANSFORM suites REPLACE "[^A-Za-z0-9_/]" "")
set(tests "")
while(suites)
  set(group "")
  foreach(member RANGE 1 ${SUITES})
    list(POP_FRONT suites suite)
    list(APPEND group ${suite}) # nothing where none is left
  endforeach()
  list(JOIN group "," names)
  set(name "${PREFIX}.${names}")
  list(JOIN group ".*:" filter)
  string(APPEND tests "add_test([==[${name}]==] [==[${BINARY}]==] [==[--gtest_filter=${filter}.*]==])\n"
    "set_tests_properties([==[${name}]==] PROPERTIES LABELS ${LABEL} TIMEOUT ${TIMEOUT})\n")
endwhile()
if(NOT tests)
  message(FATAL_ERROR "${BINARY} has no tests")
endif()
file(WRITE "${OUTPUT}" "${tests}")
