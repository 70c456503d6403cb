// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/build_info.h>
#include <transmute_revision.h>

namespace transmute {
inline namespace v0 {

std::string build_version() {
  const std::string version = TRANSMUTE_VERSION;
  const std::string revision = TRANSMUTE_REVISION;
  return revision.empty() ? version : version + " (" + revision + ")";
}

}  // namespace v0
}  // namespace transmute
