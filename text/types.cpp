// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/types.h>

#include <array>

namespace transmute {
inline namespace v0 {

const char* name_of(WarningKind kind) {
  static constexpr std::array<const char*, 10> kNames{"omission", "length",     "number", "address", "placeholder",
                                                      "emoji",    "repetition", "copy",   "script",  "bracket"};
  return kNames.at(static_cast<size_t>(kind));
}

}  // namespace v0
}  // namespace transmute
