// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tests/support/temporary_folder.h>

#include <cstdint>
#include <string>

namespace transmute::testing {

/// A model folder of an untrained network of a few thousand parameters, which translates anything into nonsense, the
/// same at every time.
class TinyModelFolder {
 public:
  explicit TinyModelFolder(uint64_t seed = 5);
  const std::string& path() const { return folder_.path(); }
  /// Puts another network into the folder.
  void replace(uint64_t seed);

 private:
  TemporaryFolder folder_;
};

}  // namespace transmute::testing
