// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace transmute {
inline namespace v0 {

/// True if SentencePiece can open and use a model without reading out of bounds, exhausting stack or memory, or writing
/// line ends: whether the tries of its normalization rules stay within their memory and SentencePiece's, its pieces are
/// at most kMostPieces and neither thousands of bytes long nor nested dozens of times, and its self-test and its
/// trainer's settings are short.
/// @throws std::runtime_error if the bytes are no Protocol Buffers message
bool is_safe_to_open(std::string_view serialized);

}  // namespace v0
}  // namespace transmute
