// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {
inline namespace v0 {
namespace explorer {

/// A file of web/, compiled in.
const std::string& source(const std::string& name);

}  // namespace explorer
}  // namespace v0
}  // namespace transmute
