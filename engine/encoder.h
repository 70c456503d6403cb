// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/engine/network.h>
#include <transmute/engine/workspace.h>
#include <transmute/tokenizer/special_ids.h>

#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace inference {

/// The place of a sentence's source among those that were encoded together.
struct SourceSpan {
  int64_t first_row = 0;  ///< the first of its tokens' rows
  int64_t length = 0;     ///< tokens, begin and end included where they are read
  int64_t first_key = 0;  ///< place of its transposed keys in each layer's cross_keys
};

/// Runs the encoder over the sources, which gives the keys and values that the decoder attends to.
/// @param cache gets them, layer by layer: keys transposed by sentence and head, values row by row
/// @throws std::invalid_argument if a source is longer than a learned table of positions.
template <class Number>
std::vector<SourceSpan> encode_sources(const Network& network, Workspace& workspace, CacheMemory<Number>& cache,
                                       const std::vector<Ids>& sources);

/// The encoder's output for each source, [L,D] with a row for each token, the end included where it is read, but not
/// the beginning.
/// @throws std::invalid_argument as encode_sources() does
std::vector<std::vector<float>> encode_states(const Network& network, Workspace& workspace,
                                              const std::vector<Ids>& sources);

/// @throws std::out_of_range if `id` is not in the vocabulary.
const float* embedding_row(const Array& table, int64_t id);

}  // namespace inference
}  // namespace v0
}  // namespace transmute
