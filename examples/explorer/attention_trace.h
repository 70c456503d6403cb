// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/model/transformer.h>
#include <transmute/tokenizer/special_ids.h>

#include <vector>

namespace transmute {
inline namespace v0 {

/// The attention of every head of a model, for one sentence and its translation.
struct AttentionTrace {
  Ids source;                          ///< S ids, the end included, and the beginning where the model reads it
  Ids target_in;                       ///< T ids that the decoder reads, begin first
  Ids target_out;                      ///< T ids that it should write, end last
  std::vector<double> probabilities;   ///< T, of each of target_out after what is before it
  std::vector<torch::Tensor> encoder;  ///< each layer's self-attention, float32 [H,S,S] on the CPU
  std::vector<torch::Tensor> decoder;  ///< masked self-attention, [H,T,T]; empty if the decoder has SSRUs
  std::vector<torch::Tensor> cross;    ///< encoder-decoder attention, [H,T,S]
};

/// One pass with teacher forcing. source, target: ids without reserved ones at the ends; the transformer is in eval
/// mode.
AttentionTrace trace_attention(Transformer transformer, const Ids& source, const Ids& target);

/// The behavior of a head on a sentence, in numbers: means over its queries.
struct HeadStatistics {
  double entropy = 0;   ///< bits of a query's weights: 0 looks at one token, log2(S) at all alike
  double distance = 0;  ///< |t - s| between positions, in tokens, by weight
  double diagonal = 0;  ///< share of the weight on the position of the same number, s = t
};

/// weights: one head's, float32 [T,S] on the CPU.
HeadStatistics head_statistics(const torch::Tensor& weights);

/// The difference between two heads' attention to the same sentence: the Jensen-Shannon divergence of their weights in
/// bits, from 0 (alike) to 1, averaged over the queries (Clark et al., 2019, "What Does BERT Look At?", section 6). a,
/// b: [T,S].
double head_divergence(const torch::Tensor& a, const torch::Tensor& b);

}  // namespace v0
}  // namespace transmute
