// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/types.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {

const char* name_of(WarningKind kind) {
  switch (kind) {
    case WarningKind::omission:
      return "omission";
    case WarningKind::length:
      return "length";
    case WarningKind::number:
      return "number";
    case WarningKind::address:
      return "address";
    case WarningKind::placeholder:
      return "placeholder";
    case WarningKind::emoji:
      return "emoji";
    case WarningKind::repetition:
      return "repetition";
    case WarningKind::copy:
      return "copy";
    case WarningKind::script:
      return "script";
  }
  throw std::logic_error("a WarningKind without a name");
}

}  // namespace v0
}  // namespace transmute
