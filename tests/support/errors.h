// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace transmute::testing {

/// The message of the exception that `act` throws. No exception, or one of another kind, fails the test.
template <class Exception, class Act>
std::string message_of(const Act& act) {
  try {
    act();
  } catch (const Exception& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "an exception of another kind: " << error.what();
    return "";
  }
  ADD_FAILURE() << "no exception was thrown";
  return "";
}

}  // namespace transmute::testing
