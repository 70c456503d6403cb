// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace transmute {

/// Runs `work` on the first `count` texts of a block; where it throws BadText, again on those before the bad one.
/// @returns BadText::reason of the text that follows those that `work` ended with; empty where these are all of them
std::string do_before_bad_text(size_t count, const std::function<void(size_t count)>& work);

}  // namespace transmute
