// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace transmute {
inline namespace v0 {

/// Whether a SentencePiece model has none of what SentencePiece believes unseen and then reads or recurs out of bounds
/// for: rules of normalization whose tries lead out of their memory, and pieces of thousands of bytes.
/// @throws std::runtime_error where the bytes are no Protocol Buffers message
bool is_safe_to_open(std::string_view serialized);

}  // namespace v0
}  // namespace transmute
