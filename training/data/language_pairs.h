// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The target of a pair of languages: "de" of "en-de"; empty for an empty pair.
std::string target_of(const std::string& languages);

/// Checks the languages of files: none at all, or a pair such as "en-de" for each.
/// @param key of the configuration, for messages
/// @param files number of the pairs of files
/// @throws std::invalid_argument naming the key, with what it may be
void check_language_pairs(const char* key, const std::vector<std::string>& languages, size_t files);

/// Factors on how often an epoch reads each pair of files, so that language pairs of n sentence pairs are drawn in
/// proportion to n^(1/temperature). The largest language pair keeps its amount; the others are repeated. All factors
/// are 1 for one language pair.
/// @param languages of each pair of files
/// @param amounts sentence pairs that an epoch would read of each pair of files
std::vector<double> language_weights(const std::vector<std::string>& languages, const std::vector<double>& amounts,
                                     double temperature);

}  // namespace v0
}  // namespace transmute
