// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace transmute {
inline namespace v0 {

/// Computes the share of each source token in each token of a translation from the attention weights. Raw weights
/// mislead: articles and other small words attend to their noun, which then seems to be translated several times, while
/// their own sources seem to be untranslated. Therefore each source token's weights are divided by about their sum, and
/// each row is scaled to sum to 1 again, three times over (Sinkhorn and Knopp, 1967, except for source tokens with next
/// to no attention).
/// @param rows the attention: T rows of S weights, what a row lacks to 1 being the source's end's; so is the result
std::vector<std::vector<float>> balanced_alignment(std::vector<std::vector<float>> rows);

}  // namespace v0
}  // namespace transmute
