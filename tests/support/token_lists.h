// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/data/parallel_text.h>

namespace transmute::testing {

inline Ids ids_at(const TokenLists& lists, size_t i) {
  return Ids(lists.data(i), lists.data(i) + lists.length(i));
}

}  // namespace transmute::testing
