// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

namespace transmute::testing {

/// True if this build has AddressSanitizer or ThreadSanitizer: their heaps keep what is freed, and they reserve more
/// address space than `ulimit -v` may leave.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
inline constexpr bool kHasSanitizer = true;
#else
inline constexpr bool kHasSanitizer = false;
#endif

}  // namespace transmute::testing
