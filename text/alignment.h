// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace transmute {
inline namespace v0 {

/// The share of each source token in each token of a translation, from what it attended to: articles and other small
/// words attend to the noun that they go with, which then seems to be translated several times, and their own originals
/// by nothing. Each source token's attention is divided by about what it has in all, and each row made to sum to 1
/// again, three times over (Sinkhorn and Knopp, 1967, but for source tokens that have next to none).
/// @param attention T rows of S weights, what a row lacks to 1 being the source's end's; so is the result
std::vector<std::vector<float>> balanced_alignment(const std::vector<std::vector<float>>& attention);

}  // namespace v0
}  // namespace transmute
