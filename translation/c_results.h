// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/types.h>
#include <transmute/translation/transmute.h>

#include <vector>

/// The results of a call of transmute.h.
struct transmute_result {
  std::vector<transmute::Translation> translations;  ///< one per text, in order
};
