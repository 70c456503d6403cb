// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace transmute {
inline namespace v0 {

/// Whether SentencePiece can open a model without reading out of bounds or exhausting the stack: whether the tries of
/// its normalization rules stay within their memory, and its pieces are not thousands of bytes long.
/// @throws std::runtime_error where the bytes are no Protocol Buffers message
bool is_safe_to_open(std::string_view serialized);

}  // namespace v0
}  // namespace transmute
