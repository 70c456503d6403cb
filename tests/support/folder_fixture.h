// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <transmute/tests/support/temporary_folder.h>

namespace transmute::testing {

/// A test that has a temporary folder for its files.
class InFolder : public ::testing::Test {
 protected:
  const TemporaryFolder folder_;
};

}  // namespace transmute::testing
