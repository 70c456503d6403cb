// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/bad_text.h>

#include <transmute/text/types.h>

namespace transmute {

std::string do_before_bad_text(size_t count, const std::function<void(size_t count)>& work) {
  std::string reason;
  while (true) {
    try {
      if (count > 0) work(count);
      return reason;
    } catch (const BadText& error) {
      if (error.text() >= count) throw;  // otherwise this would never end
      reason = error.reason();
      count = error.text();
    }
  }
}

}  // namespace transmute
